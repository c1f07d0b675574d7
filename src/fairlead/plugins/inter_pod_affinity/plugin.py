"""InterPodAffinity: required terms filter, in both directions; preferred ones score."""

from collections.abc import Hashable, Sequence

import numpy as np

from fairlead.cluster.columns import Int64
from fairlead.cluster.nodes import NodeInfo
from fairlead.config.args import InterPodAffinityArgs
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, StageFailed, Status, error, unresolvable
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.inter_pod_affinity.demands import Demands
from fairlead.plugins.inter_pod_affinity.hints import registrations
from fairlead.plugins.inter_pod_affinity.wishes import Wishes, normalized
from fairlead.queue.events import Registration

PRE_FILTER = "PreFilterInterPodAffinity"
PRE_SCORE = "PreScoreInterPodAffinity"
NOT_FOUND = error(f'error reading "{PRE_FILTER}" from cycleState: not found')


class InterPodAffinity:
    """What it says of a node rests on all others, so nothing of it is kept from pod to pod."""

    name = "InterPodAffinity"

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        self.handle = handle
        self.terms = handle.terms
        self.hard_weight = args.hard_pod_affinity_weight
        self.ignores_placed = args.ignore_preferred_terms_of_existing_pods

    def events_to_register(self) -> Sequence[Registration]:
        return registrations(self.terms)

    def pre_filter(self, pod: PodInfo, state: CycleState) -> PreFilterResult | Status | None:
        terms = self.terms.of(pod)
        if terms.fault:
            return unresolvable(f"parsing pod: {terms.fault}")
        placed = self.terms.meaning(pod).anti
        if not placed and not terms.required and not terms.required_anti:
            return SKIP
        state.write(PRE_FILTER, Demands(self.handle, pod, terms, placed))
        return None

    def filter_reads(self, pod: PodInfo) -> Hashable:
        labels = frozenset(pod.labels.items())
        return pod.namespace, labels, pod.pod_affinity, pod.pod_anti_affinity

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        return demanded(state).refuses(node) if PRE_FILTER in state else NOT_FOUND

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        if PRE_FILTER not in state:
            everywhere = np.ones(nodes.size, np.bool_)
            return nodes.reject(everywhere, *NOT_FOUND.reasons, code=NOT_FOUND.code)
        return demanded(state).refused(nodes)

    def add_pod(
        self, pod: PodInfo, added: PodInfo, node: NodeInfo, state: CycleState
    ) -> Status | None:
        return counted(pod, added, node, state, 1)

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, state: CycleState
    ) -> Status | None:
        return counted(pod, removed, node, state, -1)

    def pre_score(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Status | None:
        terms = self.terms.of(pod)
        own = bool(terms.preferred or terms.preferred_anti)
        if not own and (self.ignores_placed or not len(self.terms)):
            return SKIP
        placed = self.terms.meaning(pod).scoring
        if not own and not placed:
            return SKIP
        wishes = Wishes(self.handle, terms, placed, self.hard_weight)
        if wishes.empty:
            return SKIP
        state.write(PRE_SCORE, wishes)
        return None

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        return wished(state).score(node)

    def score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        return wished(state).scores(nodes)

    def normalize_score(self, pod: PodInfo, scores: Int64, state: CycleState) -> Int64:
        return normalized(scores)


def demanded(state: CycleState) -> Demands:
    return state.read(PRE_FILTER)  # type: ignore[return-value]


def counted(
    pod: PodInfo, other: PodInfo, node: NodeInfo, state: CycleState, by: int
) -> Status | None:
    """Another pod has come to the node of a trial, or has left it."""
    if PRE_FILTER not in state:
        return NOT_FOUND
    notes: Demands = state.own(PRE_FILTER)
    notes.count(pod, other, node, by)
    return None


def wished(state: CycleState) -> Wishes:
    """What pre_score left; without that stage there is no score, as in kube-scheduler."""
    if PRE_SCORE not in state:
        raise StageFailed(f'failed to read "{PRE_SCORE}" from cycleState: not found')
    return state.read(PRE_SCORE)  # type: ignore[return-value]
