"""NodeUnschedulable: a cordoned node takes only pods that tolerate the cordon."""

from collections.abc import Sequence

from fairlead.cluster.changes import Aspect
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import Depends
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Status, unresolvable
from fairlead.model.node import Node, Taint
from fairlead.model.podinfo import PodInfo
from fairlead.queue.events import (
    ADD,
    NODE,
    POD,
    ActionType,
    ClusterEvent,
    QueueingHint,
    Registration,
)

REASON = "node(s) were unschedulable"
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
REFUSAL = unresolvable(REASON)


def tolerates_cordon(pod: PodInfo) -> bool:
    return any(toleration.tolerates(CORDON) for toleration in pod.tolerations)


class NodeUnschedulable:
    name = "NodeUnschedulable"
    depends = Depends(Aspect.TAINTS)

    def events_to_register(self) -> Sequence[Registration]:
        return [
            (ClusterEvent(NODE, ADD | ActionType.UPDATE_NODE_TAINT), after_node_change),
            (ClusterEvent(POD, ActionType.UPDATE_POD_TOLERATION), after_toleration),
        ]

    def reads(self, pod: PodInfo) -> object:
        return pod.tolerations

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        if node.unschedulable and not tolerates_cordon(pod):
            return REFUSAL
        return None

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        if tolerates_cordon(pod):
            return None
        return nodes.reject(nodes.unschedulable(), REASON, code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    """A schedulable node has come, or the cordon of one has gone."""
    was_closed = old is None or old.spec.unschedulable
    return QueueingHint(was_closed and not new.spec.unschedulable)


def after_toleration(pod: PodInfo, old: PodInfo, new: PodInfo) -> QueueingHint:
    return QueueingHint(new.uid == pod.uid and tolerates_cordon(new))
