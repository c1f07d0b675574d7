"""TaintToleration: no pod where it does not tolerate the taints, few where it would rather not."""

from collections.abc import Sequence

import numpy as np

from fairlead.cluster.changes import Aspect
from fairlead.cluster.columns import Int64
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import Depends
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.normalize import default_normalize
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, StageFailed, Status, unresolvable
from fairlead.model.node import Node, Taint
from fairlead.model.podinfo import PodInfo, Toleration
from fairlead.queue.events import (
    ADD,
    NODE,
    POD,
    ActionType,
    ClusterEvent,
    QueueingHint,
    Registration,
)

REASON = "node(s) had untolerated taint(s)"
REFUSAL = unresolvable(REASON)
PRE_SCORE = "PreScoreTaintToleration"


class TaintToleration:
    name = "TaintToleration"
    depends = Depends(Aspect.TAINTS)

    def events_to_register(self) -> Sequence[Registration]:
        return [
            (ClusterEvent(NODE, ADD | ActionType.UPDATE_NODE_TAINT), after_node_change),
            (ClusterEvent(POD, ActionType.UPDATE_POD_TOLERATION), after_toleration),
        ]

    def reads(self, pod: PodInfo) -> object:
        return pod.tolerations

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        return REFUSAL if node.taints and untolerated(node.taints, pod.tolerations) else None

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        sets, of_node = nodes.taint_sets()
        refused = [bool(taints) and untolerated(taints, pod.tolerations) for taints in sets]
        if True not in refused:
            return None
        mask = np.array(refused)[of_node]
        return nodes.reject(mask, REASON, code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    def pre_score(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Status | None:
        state.write(
            PRE_SCORE, tuple(t for t in pod.tolerations if t.effect in ("", "PreferNoSchedule"))
        )
        return None

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        return disliked(node.taints, noted(state)) if node.taints else 0

    def score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        sets, of_node = nodes.taint_sets()
        tolerations = noted(state)
        counts = [disliked(taints, tolerations) for taints in sets]
        if not any(counts):
            return 0
        return np.array(counts, np.int64)[of_node]

    def normalize_score(self, pod: PodInfo, scores: Int64, state: CycleState) -> Int64:
        return default_normalize(scores, reverse=True)


def noted(state: CycleState) -> Sequence[Toleration]:
    """What pre_score left; without that stage there is no score, as in kube-scheduler."""
    if PRE_SCORE not in state:
        raise StageFailed(f'failed to read "{PRE_SCORE}" from cycleState: not found')
    return state.read(PRE_SCORE)  # type: ignore[return-value]


def untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> bool:
    """Whether one of the taints keeps the pod off the node."""
    return any(
        taint.effect in ("NoSchedule", "NoExecute")
        and not any(toleration.tolerates(taint) for toleration in tolerations)
        for taint in taints
    )


def disliked(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> int:
    """How many of the taints ask the pod to go elsewhere if it can."""
    return sum(
        taint.effect == "PreferNoSchedule"
        and not any(toleration.tolerates(taint) for toleration in tolerations)
        for taint in taints
    )


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    """The pod tolerates the node now, and did not before."""
    kept_off = old is None or untolerated(old.spec.taints, pod.tolerations)
    return QueueingHint(kept_off and not untolerated(new.spec.taints, pod.tolerations))


def after_toleration(pod: PodInfo, old: PodInfo, new: PodInfo) -> QueueingHint:
    return QueueingHint(new.uid == pod.uid)
