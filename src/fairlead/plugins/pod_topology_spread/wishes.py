"""What a pod would like of the spread: the fewer of its kind are near, the better."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairlead.cluster.columns import Int32, Int64, Mask
from fairlead.cluster.domains import Domains, Tally, Topology
from fairlead.cluster.labels import LabelColumn
from fairlead.cluster.nodes import NodeInfo, NodeTable
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Rows
from fairlead.framework.stages import MAX_NODE_SCORE
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.pod_topology_spread.constraints import HOSTNAME, Constraint
from fairlead.plugins.pod_topology_spread.demands import other_keys, query

Float64 = NDArray[np.float64]


class Wish:
    """One soft constraint, counted: what it adds to the score of a node.

    `values` is by domain, with 0 for nodes that lack the key; None for the hostname, whose counts
    are by row.
    """

    __slots__ = ("base", "column", "key", "tally", "values", "weight")

    def __init__(
        self,
        constraint: Constraint,
        column: LabelColumn,
        weight: float,
        counts: Int64 | None,
        tally: Tally | None,
    ) -> None:
        self.key = constraint.topology_key
        self.column = column
        self.weight = weight
        self.base = float(constraint.max_skew - 1)
        self.tally = tally
        self.values: Float64 | None = None
        if counts is not None:
            values = counts.astype(np.float64) * weight + self.base
            values[0] = 0.0
            self.values = values

    def value(self, node: NodeInfo) -> float:
        name = node.labels.get(self.key)
        if name is None:
            return 0.0
        if self.values is not None:
            return self.values.item(self.column.values[name])
        count = 0 if self.tally is None else self.tally.rows_at[node.row]
        return count * self.weight + self.base

    def column_of(self, ids: Int32, rows: Rows) -> Float64:
        if self.values is not None:
            return self.values[ids]
        here = ids != 0
        if self.tally is None:
            return here.astype(np.float64) * self.base
        values = self.tally.rows[rows].astype(np.float64) * self.weight + self.base
        return values if here.all() else np.where(here, values, 0.0)


class Wishes:
    """All soft constraints of a pod, counted for the nodes that are left.

    Where every key is required, nodes that lack one are `ignored`: they score 0 after all.
    """

    __slots__ = ("_ids", "_rows", "ignored", "keys", "wishes")

    def __init__(
        self,
        handle: Handle,
        pod: PodInfo,
        nodes: NodeSet,
        constraints: Sequence[Constraint],
        *,
        every_key: bool,
    ) -> None:
        rows = nodes.found()
        topologies = [
            Topology(
                each.topology_key,
                other_keys(constraints, each.topology_key) if every_key else (),
                each.inclusion(pod),
            )
            for each in constraints
        ]
        found = [handle.domains(topology) for topology in topologies]
        self._rows = rows
        self._ids = [domains.column.ids[rows] for domains in found]
        self.keys = [each.topology_key for each in constraints] if every_key else []
        self.ignored: Mask | None = None
        if every_key:
            ignored = np.zeros(len(rows), np.bool_)
            for ids in self._ids:
                ignored |= ids == 0
            self.ignored = ignored if ignored.any() else None
        self.wishes = [
            self._wish(handle, pod, each, domains, ids, nodes.table)
            for each, domains, ids in zip(constraints, found, self._ids, strict=True)
        ]

    def _wish(
        self,
        handle: Handle,
        pod: PodInfo,
        constraint: Constraint,
        domains: Domains,
        ids: Int32,
        table: NodeTable,
    ) -> Wish:
        left = ids if self.ignored is None else ids[~self.ignored]
        tally = None
        if not constraint.counts_nothing:
            tally = handle.tally(query(pod, constraint))
        column = domains.column
        if constraint.topology_key == HOSTNAME:
            return Wish(constraint, column, math.log(len(left) + 2), None, tally)
        seen = np.zeros(domains.size, np.bool_)
        seen[left] = True
        size = int(np.count_nonzero(seen))
        counts = np.zeros(domains.size, np.int64) if tally is None else tally.by(domains).counts
        unnamed = column.values.get("")
        if unnamed is not None and not self.keys:
            # A node without the key is in one domain with those whose value is empty.
            size -= bool(seen[0] and seen[unnamed])
            if tally is not None:
                counts = counts.copy()
                counts[unnamed] += keyless(table, tally, domains.topology)
        return Wish(constraint, column, math.log(size + 2), counts, tally)

    def score(self, node: NodeInfo) -> int:
        if any(key not in node.labels for key in self.keys):
            return 0
        score = 0.0
        for wish in self.wishes:
            score += wish.value(node)
        whole = math.floor(score)
        return whole + (score - whole >= 0.5)

    def scores(self, nodes: NodeSet) -> Int64:
        rows = nodes.found()
        known = rows is self._rows
        scores = np.zeros(len(rows), np.float64)
        missing = np.zeros(len(rows), np.bool_)
        for wish, seen in zip(self.wishes, self._ids, strict=True):
            ids = seen if known else wish.column.ids[rows]
            scores += wish.column_of(ids, rows)
            if self.keys and not (known and self.ignored is None):
                missing |= ids == 0
        # Halves go up, as in Go; adding a half before rounding down would err just below it.
        whole = np.floor(scores)
        whole += scores - whole >= 0.5
        whole[missing] = 0.0
        return whole.astype(np.int64)

    def normalized(self, scores: Int64) -> Int64:
        """The lowest score becomes the best; nodes that are ignored have no part in it."""
        counted = scores if self.ignored is None else scores[~self.ignored]
        if not counted.size:
            return np.zeros_like(scores)
        highest, lowest = int(counted.max()), int(counted.min())
        if highest == 0:
            normal = np.full_like(scores, MAX_NODE_SCORE)
        else:
            normal = scaled(scores, lowest, highest)
        if self.ignored is not None:
            normal[self.ignored] = 0
        return normal


def scaled(scores: Int64, lowest: int, highest: int) -> Int64:
    """Divided only once for each score that there can be, as they are small and nodes many."""
    if highest < len(scores):
        each = np.arange(highest + 1)
        return (MAX_NODE_SCORE * (highest + lowest - each) // highest)[scores]
    return MAX_NODE_SCORE * (highest + lowest - scores) // highest


def keyless(table: NodeTable, tally: Tally, topology: Topology) -> int:
    """How many pods are on nodes that lack the key and count all the same."""
    rows = table.domains.get(topology).column.ids == 0
    rows &= table.columns.exists
    rows &= tally.rows != 0
    inclusion = topology.inclusion
    return sum(
        int(tally.rows[row])
        for row in np.flatnonzero(rows).tolist()
        if inclusion is None or inclusion.includes(table.info(row))
    )
