"""What a pod demands of the spread: on each node, would it go too far?"""

from collections.abc import Sequence

import numpy as np

from fairlead.cluster.columns import Int64
from fairlead.cluster.domains import Domains, Topology
from fairlead.cluster.groups import Part, PodQuery
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
MANY = 2**31 - 1

Moved = tuple[int, int]
"""A domain, and how many pods more it has than were counted."""


class Demand:
    """One hard constraint, counted: a domain with more than `most` pods takes no other."""

    __slots__ = ("_lowest", "column", "constraint", "counts", "domains", "most", "own")

    def __init__(
        self,
        constraint: Constraint,
        domains: Domains,
        counts: Int64 | None,
        own: int,
    ) -> None:
        """`own` is 1 if the pod itself will count."""
        self.constraint = constraint
        self.domains = domains
        self.column = domains.column
        self.counts = counts
        self.own = own
        self._lowest: tuple[int, int, int] | None = None
        least = 0
        if counts is not None and domains.count and self.enough_domains:
            least = int(counts[domains.nodes > 0].min())
        self.most = constraint.max_skew + least - own

    @property
    def key(self) -> str:
        return self.constraint.topology_key

    @property
    def enough_domains(self) -> bool:
        """With fewer domains than are wanted there is one more to come, and it is empty."""
        return self.domains.count >= self.constraint.min_domains

    def refuses(self, node: NodeInfo, moved: Moved | None = None) -> Status | None:
        value = node.labels.get(self.key)
        if value is None:
            return REFUSAL_MISSING
        domain = self.column.values[value]
        count = 0 if self.counts is None else self.counts.item(domain)
        most = self.most
        if moved is not None:
            count += moved[1] if moved[0] == domain else 0
            most = self._most_with(moved)
        return REFUSAL if count > most else None

    def _most_with(self, moved: Moved) -> int:
        """How many pods a domain may have, given that one domain has more or fewer than counted."""
        least = 0
        if self.domains.count and self.enough_domains:
            if self._lowest is None:
                self._lowest = two_lowest(self.domains, self.counts)
            domain, by = moved
            at, first, second = self._lowest
            here = by if self.counts is None else self.counts.item(domain) + by
            least = min(here, second if at == domain else first)
        return self.constraint.max_skew + least - self.own

    def refused(self, nodes: NodeSet) -> Verdicts | None:
        ids = self.column.ids if nodes.rows is None else self.column.ids[nodes.rows]
        missing = ids == 0
        verdict = nodes.reject(missing, REASON_MISSING, code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        if self.counts is None:
            full = np.full(nodes.size, self.most < 0)
        else:
            full = (self.counts > self.most)[ids]
        return above(verdict, nodes.reject(full, REASON))


class Demands:
    """All hard constraints of a pod, with what a trial has moved: in one domain of each."""

    __slots__ = ("each", "moved")

    def __init__(self, each: tuple[Demand, ...], moved: dict[int, Moved] | None = None) -> None:
        self.each = each
        self.moved = moved

    def clone(self) -> "Demands":
        return Demands(self.each, dict(self.moved or {}))

    def refuses(self, node: NodeInfo) -> Status | None:
        for at, demand in enumerate(self.each):
            status = demand.refuses(node, self.moved.get(at) if self.moved else None)
            if status is not None:
                return status
        return None

    def count(self, pod: PodInfo, other: PodInfo, node: NodeInfo, by: int) -> None:
        """A pod has come to the node of a trial, or has left it.

        As in kube-scheduler this also counts pods that are being deleted, and those that an empty
        selector matches, though PreFilter counts neither.
        """
        if other.namespace != pod.namespace:
            return
        assert self.moved is not None, "only a clone is changed"
        for at, demand in enumerate(self.each):
            domain = demand.domains.ids_at[node.row]
            if domain and demand.constraint.selector.matches(other.labels):
                _, before = self.moved.get(at, (domain, 0))
                self.moved[at] = domain, before + by


def two_lowest(domains: Domains, counts: Int64 | None) -> tuple[int, int, int]:
    """The emptiest domain, how many pods it has, and how many the next one has."""
    there = np.flatnonzero(domains.nodes > 0)
    if counts is None:
        return int(there[0]), 0, 0 if len(there) > 1 else MANY
    found = counts[there]
    at = int(found.argmin())
    first = int(found[at])
    second = MANY if len(there) == 1 else int(np.partition(found, 1)[1])
    return int(there[at]), first, second


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


def demands(handle: Handle, pod: PodInfo, constraints: Sequence[Constraint]) -> Demands:
    return Demands(tuple([demand(handle, pod, each, constraints) for each in constraints]))


def demand(
    handle: Handle, pod: PodInfo, constraint: Constraint, constraints: Sequence[Constraint]
) -> Demand:
    """Count one constraint: the emptiest domain says how full the others may become."""
    key = constraint.topology_key
    topology = Topology(key, other_keys(constraints, key), constraint.inclusion(pod))
    domains = handle.domains(topology)
    counts: Int64 | None = None
    if not constraint.counts_nothing:
        counts = handle.tally(query(pod, constraint)).by(domains).counts
    return Demand(constraint, domains, counts, int(constraint.selector.matches(pod.labels)))
