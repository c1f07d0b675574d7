"""NodeDeclaredFeatures: a pod that needs a feature of the kubelet goes where it is declared."""

from collections.abc import Sequence

from fairlead.cluster.changes import Aspect
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import Depends
from fairlead.framework.handle import Handle
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Status, unresolvable
from fairlead.model.node import Node
from fairlead.model.podinfo import PodInfo
from fairlead.queue.events import (
    ADD,
    NODE,
    POD,
    UPDATE,
    ActionType,
    ClusterEvent,
    QueueingHint,
    Registration,
)

REFUSAL = unresolvable("node(s) didn't match Pod's required features")


class NodeDeclaredFeatures:
    name = "NodeDeclaredFeatures"
    depends = Depends(Aspect.OBJECT)

    def __init__(self, args: object, handle: Handle) -> None:
        self.enabled = handle.release.enabled("NodeDeclaredFeatures")

    def events_to_register(self) -> Sequence[Registration]:
        if not self.enabled:
            return []
        return [
            (ClusterEvent(NODE, ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE), after_node_change),
            (ClusterEvent(POD, UPDATE), after_pod_update),
        ]

    def reads(self, pod: PodInfo) -> object:
        return pod.required_features

    def pre_filter(self, pod: PodInfo, state: CycleState) -> Status | None:
        return None if self.enabled and pod.required_features else SKIP

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        declared = node.node.status.declared_features
        return None if all(need in declared for need in pod.required_features) else REFUSAL


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    changed = old is None or old.status.declared_features != new.status.declared_features
    return QueueingHint(changed)


def after_pod_update(pod: PodInfo, old: PodInfo, new: PodInfo) -> QueueingHint:
    """The pod itself needs other features than before."""
    return QueueingHint(new.uid == pod.uid and old.required_features != new.required_features)
