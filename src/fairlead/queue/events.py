"""Cluster events: what happened to which kind of object, and which registrations it concerns.

A plugin registers the events that could make a pod schedulable that it has rejected. Names and
bits are kube-scheduler's, because labels of metrics and the order of the bits are part of the
contract: matching compares the bits as numbers too (see `matches`).
"""

from collections.abc import Callable
from enum import IntEnum, IntFlag
from typing import Any

import msgspec


class ActionType(IntFlag):
    """What happened, one bit for each kind of change; `UPDATE` is all the update bits together."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_CONDITION = 32
    UPDATE_NODE_ANNOTATION = 64
    UPDATE_NODE_DECLARED_FEATURE = 128
    UPDATE_POD_LABEL = 256
    UPDATE_POD_SCALE_DOWN = 512
    UPDATE_POD_TOLERATION = 1024
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096
    UPDATE = 8188
    ALL = 8191


ADD = ActionType.ADD
DELETE = ActionType.DELETE
UPDATE = ActionType.UPDATE
ALL = ActionType.ALL

POD = "Pod"
NODE = "Node"
PERSISTENT_VOLUME = "PersistentVolume"
PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
CSI_NODE = "storage.k8s.io/CSINode"
CSI_DRIVER = "storage.k8s.io/CSIDriver"
VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
STORAGE_CLASS = "storage.k8s.io/StorageClass"
RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
DEVICE_CLASS = "resource.k8s.io/DeviceClass"
POD_GROUP = "scheduling.k8s.io/PodGroup"
WILDCARD = "*"

# Only incoming events carry these two; a plugin registers `Pod`, which covers both.
ASSIGNED_POD = "AssignedPod"
UNSCHEDULABLE_POD = "UnschedulablePod"

_ACTION_LABELS = {
    action: "".join(word.capitalize() for word in (action.name or "").split("_"))
    for action in [*ActionType, UPDATE, ALL]
}


class ClusterEvent(msgspec.Struct, frozen=True, cache_hash=True):
    """A kind of object and what happened to it: what plugins register, what the watch reports."""

    resource: str
    action: ActionType
    custom_label: str = ""

    @property
    def label(self) -> str:
        """The value of the `event` label in metrics and logs, such as `NodeUpdateNodeTaint`."""
        return self.custom_label or self.resource + _ACTION_LABELS.get(self.action, "")

    @property
    def is_wildcard(self) -> bool:
        """Whether this stands for every event of every resource."""
        return self.resource == WILDCARD and self.action == ALL


SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF_Q = "PopFromBackoffQ"
FORCE_ACTIVATE = "ForceActivate"

ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, ADD)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(UNSCHEDULABLE_POD, ADD)
UNSCHEDULED_POD_UPDATE = ClusterEvent(UNSCHEDULABLE_POD, UPDATE)
NODE_ADD = ClusterEvent(NODE, ADD)
NODE_DELETE = ClusterEvent(NODE, DELETE)
UNSCHEDULABLE_TIMEOUT = ClusterEvent(WILDCARD, ALL, "UnschedulableTimeout")
FORCE_ACTIVATED = ClusterEvent(WILDCARD, ALL, FORCE_ACTIVATE)


class QueueingHint(IntEnum):
    """What a plugin says of an event: it changes nothing for this pod, or trying again may pay."""

    SKIP = 0
    QUEUE = 1


Hint = Callable[[Any, Any, Any], "QueueingHint | bool"]
"""`hint(pod, old, new)`: `old` is None when an object was added, `new` when it was deleted."""

Registration = tuple[ClusterEvent, Hint | None]
"""An event and its hint; without a hint the event always queues the pod."""

# A plugin that could reject a pod and does not say by what events it may be mended gets all these.
DEFAULT_REGISTRATIONS: tuple[Registration, ...] = tuple(
    (ClusterEvent(resource, ALL), None)
    for resource in (
        POD,
        NODE,
        PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM,
        CSI_NODE,
        CSI_DRIVER,
        CSI_STORAGE_CAPACITY,
        STORAGE_CLASS,
        RESOURCE_CLAIM,
        DEVICE_CLASS,
    )
)


def matches(registered: ClusterEvent, incoming: ClusterEvent) -> bool:
    """Whether an incoming event is the registered one or a more specific one.

    The bits must overlap, and the incoming action must not be the greater number: a registration
    of `UPDATE_NODE_LABEL` does not match a generic `UPDATE`, while one of `UPDATE` matches
    `UPDATE_NODE_LABEL`. An incoming wildcard matches a registered wildcard only.
    """
    if registered.is_wildcard:
        return True
    if registered.resource not in (WILDCARD, incoming.resource) and not (
        registered.resource == POD and incoming.resource in (ASSIGNED_POD, UNSCHEDULABLE_POD)
    ):
        return False
    overlap = int(registered.action) & int(incoming.action)
    return overlap != 0 and int(incoming.action) <= int(registered.action)
