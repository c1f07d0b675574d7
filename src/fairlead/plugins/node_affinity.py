"""NodeAffinity: nodes chosen by their labels or by name, as demanded and as preferred."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from fairlead.cluster.changes import Aspect
from fairlead.cluster.columns import Int64
from fairlead.cluster.nodes import NodeInfo
from fairlead.config.args import NodeAffinityArgs
from fairlead.framework.depends import Depends
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.normalize import default_normalize
from fairlead.framework.selecting import having, matching, selected
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Code, Status, error, unresolvable
from fairlead.model.node import Node
from fairlead.model.podinfo import PodInfo
from fairlead.model.selector import (
    NAME_FIELD,
    NodeTerm,
    Requirement,
    WeightedTerms,
    compile_node_selector,
    compile_preferred,
)
from fairlead.model.selector import (
    NodeAffinity as Affinity,
)
from fairlead.queue.events import ADD, NODE, ActionType, ClusterEvent, QueueingHint, Registration

REASON = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"
REFUSAL = unresolvable(REASON)
REFUSAL_ENFORCED = unresolvable(REASON_ENFORCED)


class NodeAffinity:
    name = "NodeAffinity"
    depends = Depends(Aspect.LABELS)

    def __init__(self, args: NodeAffinityArgs) -> None:
        added = added_affinity(args)
        required = added.required_during_scheduling_ignored_during_execution
        preferred = added.preferred_during_scheduling_ignored_during_execution
        self.added_required = None if required is None else compile_node_selector(required)
        self.added_preferred: WeightedTerms = ()
        self.scores_always = bool(preferred)
        if preferred:
            self.added_preferred, fault = compile_preferred(preferred)
            assert not fault, "validated with the configuration"

    def events_to_register(self) -> Sequence[Registration]:
        return [(ClusterEvent(NODE, ADD | ActionType.UPDATE_NODE_LABEL), self.after_node_change)]

    def after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
        """The node is one that the pod wants, and was not before."""
        added, name, labels = self.added_required, new.metadata.name, new.metadata.labels
        if added is not None and not added.matches(labels, name):
            return QueueingHint.SKIP
        unwanted = old is None or not wanted(pod, name, old.metadata.labels)
        return QueueingHint(unwanted and wanted(pod, name, labels))

    def reads(self, pod: PodInfo) -> object:
        return pod.node_selector, pod.required_node_affinity, pod.preferred_node_affinity

    def pre_filter(self, pod: PodInfo, state: CycleState) -> PreFilterResult | Status | None:
        required = pod.required_node_affinity
        if required is None and self.added_required is None and pod.node_selector is None:
            return SKIP
        if required is None or not required.terms:
            return None
        names: set[str] = set()
        for term in required.terms:
            of_term = names_of(term)
            if of_term is None:  # the terms are alternatives: this one is open to every node
                return None
            names |= of_term
        return PreFilterResult(frozenset(names)) if names else unresolvable(REASON_CONFLICT)

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        if self.added_required is not None and not self.added_required.matches(
            node.labels, node.name
        ):
            return REFUSAL_ENFORCED
        return None if wanted(pod, node.name, node.labels) else REFUSAL

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        passed = np.ones(nodes.size, np.bool_)
        for key, value in pod.node_selector or ():
            passed &= having(nodes, Requirement(key, "In", (value,)))
        if pod.required_node_affinity is not None:
            passed &= selected(nodes, pod.required_node_affinity)
        refused = nodes.reject(~passed, REASON, code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        if self.added_required is None:
            return refused
        outside = ~selected(nodes, self.added_required)
        enforced = nodes.reject(outside, REASON_ENFORCED, code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        return enforced.over(refused) if enforced and refused else enforced or refused

    def pre_score(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Status | None:
        preferred = pod.preferred_node_affinity
        if pod.preferred_node_affinity_error:
            return error(pod.preferred_node_affinity_error)
        return SKIP if preferred is None and not self.scores_always else None

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        return sum(
            weight
            for weight, term in (*self.added_preferred, *(pod.preferred_node_affinity or ()))
            if term.matches(node.labels, node.name)
        )

    def score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        scores = np.zeros(nodes.size, np.int64)
        for weight, term in (*self.added_preferred, *(pod.preferred_node_affinity or ())):
            scores += weight * matching(nodes, term)
        return scores

    def normalize_score(self, pod: PodInfo, scores: Int64, state: CycleState) -> Int64:
        return default_normalize(scores)


def added_affinity(args: NodeAffinityArgs) -> Affinity:
    """The affinity that the configuration adds to every pod's, as pods spell theirs."""

    def given(value: object) -> object:
        if isinstance(value, dict):
            return {key: given(part) for key, part in value.items() if part is not None}
        return [given(part) for part in value] if isinstance(value, (list, tuple)) else value

    return msgspec.convert(given(msgspec.to_builtins(args.added_affinity)) or {}, Affinity)


def wanted(pod: PodInfo, name: str, labels: Mapping[str, str]) -> bool:
    """Whether the pod can go to a node with this name and these labels."""
    for key, value in pod.node_selector or ():
        if labels.get(key) != value:
            return False
    required = pod.required_node_affinity
    return required is None or required.matches(labels, name)


def names_of(term: NodeTerm) -> frozenset[str] | None:
    """The only nodes that a term can mean, by name; None if it does not name any."""
    named = [f.values for f in term.fields if f.key == NAME_FIELD and f.operator == "In"]
    return frozenset.intersection(*map(frozenset, named)) if named else None
