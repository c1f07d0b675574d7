"""Which events an update is: what changed between two versions of a pod or a node.

Specific events spare work: an update that changes nothing a scheduler looks at moves no pod, and a
node's heartbeat is no event at all. Two versions decoded from the same bytes share their values,
so equality is mostly identity here.
"""

from fairlead.model.node import Node
from fairlead.model.podinfo import PodInfo
from fairlead.model.resources import Resources
from fairlead.queue.events import (
    ASSIGNED_POD,
    NODE,
    UNSCHEDULABLE_POD,
    UPDATE,
    ActionType,
    ClusterEvent,
)


def _events(resource: str) -> dict[ActionType, ClusterEvent]:
    return {action: ClusterEvent(resource, action) for action in [*ActionType, UPDATE]}


_OF_ASSIGNED = _events(ASSIGNED_POD)
_OF_UNSCHEDULED = _events(UNSCHEDULABLE_POD)
_OF_NODE = _events(NODE)


def pod_update_events(old: PodInfo, new: PodInfo) -> list[ClusterEvent]:
    """The events of a pod's update, in kube-scheduler's order; a generic one if none is specific.

    The new version decides whether it is an event of an assigned pod. Tolerations are only
    counted, because the API server lets them grow and never change.
    """
    actions: list[ActionType] = []
    if old.labels != new.labels:
        actions.append(ActionType.UPDATE_POD_LABEL)
    if _scaled_down(old.placed_request, new.placed_request):
        actions.append(ActionType.UPDATE_POD_SCALE_DOWN)
    if old.scheduling_gates and not new.scheduling_gates:
        actions.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(old.tolerations) != len(new.tolerations):
        actions.append(ActionType.UPDATE_POD_TOLERATION)
    if (
        old.resource_claim_statuses != new.resource_claim_statuses
        or old.extended_resource_claim_status != new.extended_resource_claim_status
    ):
        actions.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    events = _OF_ASSIGNED if new.node_name else _OF_UNSCHEDULED
    return [events[action] for action in actions or (UPDATE,)]


def _scaled_down(old: Resources, new: Resources) -> bool:
    """Whether any resource is asked for less than before, or no longer."""
    if old is new or old == new:
        return False
    kept = dict(new.scalars)
    return (
        new.cpu < old.cpu
        or new.memory < old.memory
        or new.ephemeral_storage < old.ephemeral_storage
        or any(name not in kept or kept[name] < amount for name, amount in old.scalars)
    )


def node_update_events(old: Node, new: Node) -> list[ClusterEvent]:
    """The events of a node's update, in kube-scheduler's order; none if nothing counts.

    A node that becomes unschedulable helps nobody and is no event; one that becomes schedulable
    counts as a change of taints. Of conditions only the statuses count, not the heartbeats.
    """
    actions: list[ActionType] = []
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if (
        old.status.allocatable != new.status.allocatable
        and old.allocatable_resources() != new.allocatable_resources()
    ):
        actions.append(ActionType.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        actions.append(ActionType.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if _statuses(old) != _statuses(new):
        actions.append(ActionType.UPDATE_NODE_CONDITION)
    if old.metadata.annotations != new.metadata.annotations:
        actions.append(ActionType.UPDATE_NODE_ANNOTATION)
    if old.status.declared_features != new.status.declared_features:
        actions.append(ActionType.UPDATE_NODE_DECLARED_FEATURE)
    return [_OF_NODE[action] for action in actions]


def _statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
