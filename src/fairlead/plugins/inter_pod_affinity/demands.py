"""What a pod demands of the pods around it, and what they demand of it.

Three questions of each node, in kube-scheduler's order: are those there whom the pod needs, are
those absent whom it cannot bear, and are those absent who cannot bear it?
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np

from fairlead.cluster.columns import Mask
from fairlead.cluster.domains import Topology, Totals
from fairlead.cluster.groups import Part, PodQuery
from fairlead.cluster.nodes import NodeInfo
from fairlead.cluster.terms import PlacedTerm
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.status import Code, Status, unresolvable, unschedulable
from fairlead.model.pod_affinity import PodTerm, PodTerms
from fairlead.model.podinfo import PodInfo

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
REFUSAL_AFFINITY = unresolvable(REASON_AFFINITY)
REFUSAL_ANTI = unschedulable(REASON_ANTI)
REFUSAL_EXISTING = unschedulable(REASON_EXISTING)


class Demands:
    """The answers, by domain. `first` is set if nobody in the cluster is whom the pod needs, and
    the pod itself would be: then it may go first, wherever the topology is."""

    __slots__ = ("_handle", "_parts", "_terms", "affinity", "anti", "existing", "first", "moved")

    def __init__(
        self,
        handle: Handle,
        pod: PodInfo,
        terms: PodTerms,
        placed: Sequence[PlacedTerm],
    ) -> None:
        parts = [part(handle, term) for term in terms.required]
        # One pod must be all that the terms want: they are counted together.
        self.affinity = [
            counted(handle, term.topology_key, PodQuery(tuple(parts), terminating=True))
            for term in terms.required
        ]
        self.anti = totals_of(handle, terms.required_anti)
        self.existing = existing(handle, placed)
        self._handle = handle
        self._terms = terms
        self._parts = parts
        self.moved: Moved | None = None
        self.first = self._may_go_first(pod)

    def clone(self) -> "Demands":
        """The same for a trial, where pods move: see `count`."""
        twin = copy(self)
        twin.moved = Moved(self.moved)
        return twin

    def count(self, pod: PodInfo, other: PodInfo, node: NodeInfo, by: int) -> None:
        """Another pod has come to the node of a trial, or has left it."""
        moved, labels, placed = self.moved, node.labels, self._handle.terms
        assert moved is not None, "only a clone is changed"
        own_labels = placed.namespace_labels(pod.namespace)
        for term in placed.of(other).required_anti:
            if term.topology_key in labels and term.matches(pod.namespace, pod.labels, own_labels):
                moved.existing[term.topology_key] += by
        if self._parts and all(p.matches(other.namespace, other.labels) for p in self._parts):
            for term in self._terms.required:
                if term.topology_key in labels:
                    moved.affinity[term.topology_key] += by
            self.first = self._may_go_first(pod)
        for term in self._terms.required_anti:
            if term.topology_key in labels and part(self._handle, term).matches(
                other.namespace, other.labels
            ):
                moved.anti[term.topology_key] += by

    def _may_go_first(self, pod: PodInfo) -> bool:
        count = sum(totals.total for totals in self.affinity)
        if self.moved is not None:
            count += self.moved.affinity.total()
        return not count and all(p.matches(pod.namespace, pod.labels) for p in self._parts)

    def refuses(self, node: NodeInfo) -> Status | None:
        if self.moved is not None:
            return self._refuses_with(self.moved, node)
        lacking = False
        for totals in self.affinity:
            domain = domain_of(totals, node)
            if not domain:
                return REFUSAL_AFFINITY
            lacking = lacking or totals.counts_at[domain] <= 0
        if lacking and not self.first:
            return REFUSAL_AFFINITY
        if any(totals.counts_at[domain_of(totals, node)] > 0 for totals in self.anti):
            return REFUSAL_ANTI
        if any(totals.counts_at[domain_of(totals, node)] > 0 for totals in self.existing):
            return REFUSAL_EXISTING
        return None

    def _refuses_with(self, moved: "Moved", node: NodeInfo) -> Status | None:
        """The same of the node of a trial; whatever moved there is in that node's domains."""
        if any(term.topology_key not in node.labels for term in self._terms.required):
            return REFUSAL_AFFINITY
        near = by_key(self.affinity, moved.affinity, node)
        if any(count <= 0 for count in near.values()) and not self.first:
            return REFUSAL_AFFINITY
        if any(count > 0 for count in by_key(self.anti, moved.anti, node).values()):
            return REFUSAL_ANTI
        if any(count > 0 for count in by_key(self.existing, moved.existing, node).values()):
            return REFUSAL_EXISTING
        return None

    def refused(self, nodes: NodeSet) -> Verdicts | None:
        verdict = nodes.reject(self._far(nodes), REASON_AFFINITY, code=UNRESOLVABLE)
        for totals, reason in ((self.anti, REASON_ANTI), (self.existing, REASON_EXISTING)):
            if totals:
                below = nodes.reject(inhabited(nodes, totals), reason)
                verdict = verdict.over(below) if verdict and below else verdict or below
        return verdict

    def _far(self, nodes: NodeSet) -> Mask:
        """The nodes that are not where the pod needs to be."""
        far = np.zeros(nodes.size, np.bool_)
        for totals in self.affinity:
            ids = totals.domains.ids
            at = ids if nodes.rows is None else ids[nodes.rows]
            far |= at == 0 if self.first else (totals.counts <= 0)[at]
        return far


class Moved:
    """The pods more or fewer in the domains of a trial's node, by the label that makes these."""

    __slots__ = ("affinity", "anti", "existing")

    def __init__(self, before: "Moved | None" = None) -> None:
        self.affinity = Counter[str](None if before is None else before.affinity)
        self.anti = Counter[str](None if before is None else before.anti)
        self.existing = Counter[str](None if before is None else before.existing)


def by_key(several: Iterable[Totals], moved: Counter[str], node: NodeInfo) -> Counter[str]:
    """How many pods are counted in the node's domains, by the label that makes these."""
    counts = Counter(moved)
    for totals in several:
        counts[totals.domains.topology.key] += totals.counts_at[domain_of(totals, node)]
    return counts


UNRESOLVABLE = Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def part(handle: Handle, term: PodTerm) -> Part:
    """The pods that a term of a pod yet to be placed means."""
    namespaces = handle.terms.namespaces_of(term, strict=handle.release.strict)
    return Part(namespaces, term.selector)


def totals_of(handle: Handle, terms: Iterable[PodTerm]) -> list[Totals]:
    return [
        counted(handle, term.topology_key, PodQuery((part(handle, term),), terminating=True))
        for term in terms
    ]


def counted(handle: Handle, key: str, query: PodQuery) -> Totals:
    domains = handle.domains(Topology(key))
    return handle.tally(query).by(domains)


def existing(handle: Handle, placed: Iterable[PlacedTerm]) -> list[Totals]:
    """Where the pods are whose terms these are, each by its own topology; nowhere left out."""
    found = [existing_totals(handle, each) for each in placed]
    return [totals for totals in found if totals.total]


def existing_totals(handle: Handle, placed: PlacedTerm) -> Totals:
    domains = handle.domains(Topology(placed.key.term.topology_key))
    return handle.terms.tally(placed).by(domains)


def domain_of(totals: Totals, node: NodeInfo) -> int:
    """The id of the node's domain; 0, where nobody is counted, if it lacks the key."""
    domains = totals.domains
    value = node.labels.get(domains.topology.key)
    return 0 if value is None else domains.column.values[value]


def inhabited(nodes: NodeSet, several: Iterable[Totals]) -> Mask:
    """The nodes in whose domain anybody is, for any of the totals."""
    mask = np.zeros(nodes.size, np.bool_)
    for totals in several:
        ids = totals.domains.ids
        mask |= (totals.counts > 0)[ids if nodes.rows is None else ids[nodes.rows]]
    return mask
