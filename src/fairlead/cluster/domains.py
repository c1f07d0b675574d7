"""Domains: nodes with the same value of a label, and how many pods of a kind are in each.

Reads: labels, taints and change logs of nodes. Writes: its arrays.

    Tally      one number per row: how many pods of one kind are on that node
      with Domains    one id per row: which domain the node is in, 0 for none
      is   Totals     one number per domain, repaired by each change of a pod or a node

Totals always agree with the ids that `Domains` has *stored*, not with what the label columns say
now: a change of labels moves a row's count from domain to domain when the domains are next asked.
"""

from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.columns import Columns, Int32, Int64
from fairlead.cluster.labels import LabelColumn, LabelColumns
from fairlead.cluster.nodeinfo import NodeInfo

MOST_DOMAINS = 512
FIRST_IDS = 8


class Inclusion(Hashable, Protocol):
    """Which nodes count, by their labels, name and taints: equal ones say the same."""

    def includes(self, node: NodeInfo) -> bool: ...


class Topology(Struct, frozen=True, cache_hash=True):
    """The label whose values are the domains; nodes that lack one of `keys` are in none."""

    key: str
    keys: tuple[str, ...] = ()
    inclusion: Inclusion | None = None


class Nodes(Protocol):
    """What domains read of the node table."""

    @property
    def infos(self) -> list[NodeInfo | None]: ...
    @property
    def columns(self) -> Columns: ...
    @property
    def labels(self) -> LabelColumns: ...
    @property
    def changes(self) -> Changes: ...
    def label(self, key: str) -> LabelColumn: ...


class Domains:
    """The domains of one topology. `nodes` counts the nodes in each, `count` those that have any.

    Ids are those of the label's column; 0 stands for nodes that are in none.
    """

    __slots__ = (
        "_logs", "_nodes", "_positions", "column", "count", "ids", "ids_at", "nodes", "topology",
        "totals",
    )  # fmt: skip

    ids_at: Any

    def __init__(self, topology: Topology, nodes: Nodes, column: LabelColumn) -> None:
        self.topology = topology
        self.column = column
        self.totals: dict[Tally, Totals] = {}
        self._nodes = nodes
        logs = nodes.changes.logs
        aspects = (Aspect.LABELS,) if topology.inclusion is None else (Aspect.LABELS, Aspect.TAINTS)
        self._logs = tuple(logs[aspect] for aspect in aspects)
        self._make()

    @property
    def size(self) -> int:
        """The room for ids: every array by domain has this length."""
        return len(self.nodes)

    def domain_of(self, node: NodeInfo | None) -> int:
        """The id of the node's domain."""
        if node is None:
            return 0
        topology, labels = self.topology, node.labels
        value = labels.get(topology.key)
        if value is None or any(key not in labels for key in topology.keys):
            return 0
        if topology.inclusion is not None and not topology.inclusion.includes(node):
            return 0
        return self.column.values[value]

    def catch_up(self) -> None:
        """Look again at the nodes whose labels or taints have changed."""
        rows: dict[int, None] = {}
        for at, log in enumerate(self._logs):
            if log.end != self._positions[at]:
                changed = log.since(self._positions[at])
                if changed is None:
                    self._make()
                    return
                self._positions[at] = log.end
                rows.update(dict.fromkeys(changed))
        if rows:
            self._enlarge()
            infos = self._nodes.infos
            for row in rows:
                self._move(row, self.domain_of(infos[row]))

    def _make(self) -> None:
        self._positions = [log.end for log in self._logs]
        ids: Int32 = np.zeros(self._nodes.columns.room, np.int32)
        if self.topology.keys or self.topology.inclusion is not None:
            for row, info in enumerate(self._nodes.infos):
                ids[row] = self.domain_of(info)
        else:
            ids[:] = self.column.ids
        self.ids = ids
        self.ids_at = ids.data
        size = max(FIRST_IDS, 2 * (len(self.column.values) + 1))
        self.nodes: Int64 = np.bincount(ids, minlength=size).astype(np.int64)
        self.nodes[0] = 0
        self.count = int(np.count_nonzero(self.nodes))
        for totals in self.totals.values():
            totals.make()

    def _enlarge(self) -> None:
        needed = len(self.column.values) + 1
        if needed > self.size:
            more = max(FIRST_IDS, 2 * needed) - self.size
            self.nodes = np.append(self.nodes, np.zeros(more, np.int64))
            for totals in self.totals.values():
                totals.enlarge(more)

    def _move(self, row: int, to: int) -> None:
        source = self.ids_at[row]
        if source == to:
            return
        self.ids_at[row] = to
        if source:
            self.nodes[source] -= 1
            self.count -= not self.nodes[source]
        if to:
            self.count += not self.nodes[to]
            self.nodes[to] += 1
        for totals in self.totals.values():
            totals.move(row, source, to)


class Tally:
    """How many pods of one kind are on each row, and in each domain that somebody asks about."""

    __slots__ = ("rows", "rows_at", "totals")

    rows_at: Any

    def __init__(self, room: int) -> None:
        self.rows: Int32 = np.zeros(room, np.int32)
        self.rows_at = self.rows.data
        self.totals: dict[Domains, Totals] = {}

    def add(self, row: int, count: int) -> None:
        self.rows_at[row] += count
        for totals in self.totals.values():
            totals.add(row, count)

    def by(self, domains: Domains) -> "Totals":
        """The totals by domain; kept in step from now on."""
        totals = self.totals.get(domains)
        if totals is None:
            totals = self.totals[domains] = domains.totals[self] = Totals(self, domains)
        return totals

    def drop(self) -> None:
        for domains in self.totals:
            del domains.totals[self]
        self.totals.clear()


class Totals:
    """How many pods of one kind are in each domain, and in all of them together."""

    __slots__ = ("counts", "counts_at", "domains", "tally", "total")

    counts_at: Any

    def __init__(self, tally: Tally, domains: Domains) -> None:
        self.tally = tally
        self.domains = domains
        self.make()

    def make(self) -> None:
        counts = np.bincount(self.domains.ids, weights=self.tally.rows, minlength=self.domains.size)
        self._hold(counts.astype(np.int64))
        self.counts[0] = 0
        self.total = int(self.counts.sum())

    def enlarge(self, more: int) -> None:
        self._hold(np.append(self.counts, np.zeros(more, np.int64)))

    def add(self, row: int, count: int) -> None:
        domain = self.domains.ids_at[row]
        if domain:
            self.counts_at[domain] += count
            self.total += count

    def move(self, row: int, source: int, to: int) -> None:
        count = self.tally.rows_at[row]
        if source:
            self.counts_at[source] -= count
            self.total -= count
        if to:
            self.counts_at[to] += count
            self.total += count

    def _hold(self, counts: Int64) -> None:
        self.counts = counts
        self.counts_at = counts.data


class DomainStore:
    """The domains in use, the least recently asked dropped first."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._by_topology: dict[Topology, Domains] = {}

    def get(self, topology: Topology) -> Domains:
        """The domains as they are now."""
        column = self._nodes.label(topology.key)
        domains = self._by_topology.pop(topology, None)
        if domains is not None and domains.column is not column:
            self._drop(domains)  # the ids of its label were given anew
            domains = None
        if domains is None:
            domains = Domains(topology, self._nodes, column)
            if len(self._by_topology) >= MOST_DOMAINS:
                oldest = next(iter(self._by_topology))
                self._drop(self._by_topology.pop(oldest))
        else:
            domains.catch_up()
        self._by_topology[topology] = domains
        return domains

    def all(self) -> list[Domains]:
        return list(self._by_topology.values())

    def clear(self) -> None:
        for domains in self._by_topology.values():
            self._drop(domains)
        self._by_topology.clear()

    def _drop(self, domains: Domains) -> None:
        for tally in domains.totals:
            del tally.totals[domains]
        domains.totals.clear()
