"""Which events may help a pod that missed others, or was too near to them.

A hint knows nothing of the labels of namespaces, as in kube-scheduler: a namespaceSelector is
asked about a namespace without any.
"""

from collections.abc import Sequence

from fairlead.cluster.terms import NO_LABELS, PlacedTerms
from fairlead.model.node import Node
from fairlead.model.pod_affinity import PodTerm, PodTerms
from fairlead.model.podinfo import PodInfo
from fairlead.queue.events import NODE, POD, ActionType, ClusterEvent, Registration

POD_EVENT = ClusterEvent(POD, ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL)
NODE_EVENT = ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)


def registrations(placed: PlacedTerms) -> Sequence[Registration]:
    """The events and their hints; terms are compiled where placed pods have theirs."""

    def terms_of(pod: PodInfo) -> PodTerms:
        terms = placed.of(pod)
        if terms.fault:
            raise ValueError(terms.fault)
        return terms

    def after_pod(pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
        if old is not None and new is not None and new.uid == pod.uid:
            return True
        if any(each is not None and not has_place(each) for each in (old, new)):
            return False
        terms = terms_of(pod)
        if old is not None and new is not None:
            arrived = not all_match(terms.required, old) and all_match(terms.required, new)
            return arrived or (
                all_match(terms.required_anti, old) and not all_match(terms.required_anti, new)
            )
        if new is not None:
            return all_match(terms.required, new)
        assert old is not None
        return all_match(terms.required_anti, old) or all_match(terms_of(old).required_anti, pod)

    def after_node(pod: PodInfo, old: Node | None, new: Node) -> bool:
        terms = terms_of(pod)
        if old is None:
            labels = new.metadata.labels
            return bool(terms.required_anti) or any(
                term.topology_key in labels for term in terms.required
            )
        return any(arrived(term, old, new) for term in terms.required) or any(
            left(term, old, new) for term in terms.required_anti
        )

    return ((POD_EVENT, after_pod), (NODE_EVENT, after_node))


def has_place(pod: PodInfo) -> bool:
    return bool(pod.node_name or pod.nominated_node_name)


def all_match(terms: Sequence[PodTerm], pod: PodInfo) -> bool:
    """Whether the pod is what all of the terms mean; no terms mean nobody."""
    return bool(terms) and all(term.matches(pod.namespace, pod.labels, NO_LABELS) for term in terms)


def arrived(term: PodTerm, old: Node, new: Node) -> bool:
    """Whether the node has come into another domain."""
    value = new.metadata.labels.get(term.topology_key)
    return value is not None and value != old.metadata.labels.get(term.topology_key)


def left(term: PodTerm, old: Node, new: Node) -> bool:
    """Whether the node has left its domain."""
    value = old.metadata.labels.get(term.topology_key)
    return value is not None and value != new.metadata.labels.get(term.topology_key)
