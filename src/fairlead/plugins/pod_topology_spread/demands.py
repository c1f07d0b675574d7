"""What a pod demands of the spread: on each node, would it go too far?"""

from collections.abc import Sequence

import numpy as np

from fairlead.cluster.columns import Int64
from fairlead.cluster.domains import Topology
from fairlead.cluster.groups import Part, PodQuery
from fairlead.cluster.labels import LabelColumn
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.status import Code, Status, unresolvable, unschedulable
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.pod_topology_spread.constraints import Constraint

REASON = "node(s) didn't match pod topology spread constraints"
REASON_MISSING = f"{REASON} (missing required label)"
REFUSAL = unschedulable(REASON)
REFUSAL_MISSING = unresolvable(REASON_MISSING)


class Demand:
    """One hard constraint, counted: a domain with more than `most` pods takes no other."""

    __slots__ = ("column", "counts", "key", "most")

    def __init__(self, key: str, column: LabelColumn, counts: Int64 | None, most: int) -> None:
        self.key = key
        self.column = column
        self.counts = counts
        self.most = most

    def refuses(self, node: NodeInfo) -> Status | None:
        value = node.labels.get(self.key)
        if value is None:
            return REFUSAL_MISSING
        count = 0 if self.counts is None else self.counts.item(self.column.values[value])
        return REFUSAL if count > self.most else None

    def refused(self, nodes: NodeSet) -> Verdicts | None:
        ids = self.column.ids if nodes.rows is None else self.column.ids[nodes.rows]
        missing = ids == 0
        verdict = nodes.reject(missing, REASON_MISSING, code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        if self.counts is None:
            full = np.full(nodes.size, self.most < 0)
        else:
            full = (self.counts > self.most)[ids]
        return above(verdict, nodes.reject(full, REASON))


def above(first: Verdicts | None, second: Verdicts | None) -> Verdicts | None:
    """The first verdict where it refuses, else the second."""
    return first.over(second) if first and second else first or second


def query(pod: PodInfo, constraint: Constraint) -> PodQuery:
    """The pods that count: of the pod's namespace, and not about to go."""
    part = Part(frozenset([pod.namespace]), constraint.selector)
    return PodQuery((part,), terminating=False)


def other_keys(constraints: Sequence[Constraint], key: str) -> tuple[str, ...]:
    """What a node must also have to count: the keys of all constraints."""
    return tuple(sorted({each.topology_key for each in constraints} - {key}))


def demands(handle: Handle, pod: PodInfo, constraints: Sequence[Constraint]) -> tuple[Demand, ...]:
    return tuple([demand(handle, pod, each, constraints) for each in constraints])


def demand(
    handle: Handle, pod: PodInfo, constraint: Constraint, constraints: Sequence[Constraint]
) -> Demand:
    """Count one constraint: the emptiest domain says how full the others may become."""
    key = constraint.topology_key
    topology = Topology(key, other_keys(constraints, key), constraint.inclusion(pod))
    domains = handle.domains(topology)
    counts: Int64 | None = None
    least = 0
    if not constraint.counts_nothing:
        counts = handle.tally(query(pod, constraint)).by(domains).counts
        if domains.count >= constraint.min_domains and domains.count:
            least = int(counts[domains.nodes > 0].min())
    itself = constraint.selector.matches(pod.labels)
    return Demand(key, domains.column, counts, constraint.max_skew + least - itself)
