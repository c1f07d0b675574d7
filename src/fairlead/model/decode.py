"""From the bytes of a watch or a list to structs: `decode_pod`, `decode_node`, and all by kind.

Whatever the bytes are, the struct or one `DecodeError` comes of them. Keys that occur twice count
once, the last time, and fields that no struct names are passed over unread.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Raw, Struct

from fairlead.model.errors import DecodeError
from fairlead.model.node import Node
from fairlead.model.pod import Pod
from fairlead.model.policy import PodDisruptionBudget, PriorityClass
from fairlead.model.reading import reader
from fairlead.model.resource import DeviceClass, ResourceClaim, ResourceSlice
from fairlead.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from fairlead.model.workload import (
    Namespace,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

__all__ = ["DECODERS", "DecodeError", "decode_node", "decode_pod", "decode_pod_event"]

Decode = Callable[[bytes | Raw], Struct]


class _PodEvent(Struct, frozen=True):
    type: str
    object: Pod


_read_pod_event = reader(_PodEvent, "pod")

decode_pod: Callable[[bytes | Raw], Pod] = reader(Pod, "pod")
decode_node: Callable[[bytes | Raw], Node] = reader(Node, "node")

_KINDS: tuple[type[Struct], ...] = (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    Service,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    PodDisruptionBudget,
    Namespace,
    PriorityClass,
    ResourceClaim,
    ResourceSlice,
    DeviceClass,
)

DECODERS: Mapping[str, Decode] = MappingProxyType(
    {
        "Pod": decode_pod,
        "Node": decode_node,
        **{kind.__name__: reader(kind, kind.__name__.lower()) for kind in _KINDS},
    }
)


def decode_pod_event(line: bytes) -> tuple[str, Pod]:
    """The type and the pod of a line of a watch, in one go.

    Lines of other types, bookmarks and errors, may come as a pod without a name, or raise.
    """
    event = _read_pod_event(line)
    return event.type, event.object
