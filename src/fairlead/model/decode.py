"""From the bytes of a watch or a list to structs: `decode_pod`, `decode_node`, and all by kind."""

from collections.abc import Callable

from msgspec import Raw, Struct

from fairlead.model.errors import DecodeError
from fairlead.model.node import Node
from fairlead.model.pod import Pod
from fairlead.model.reading import reader

__all__ = ["DecodeError", "decode_node", "decode_pod", "decode_pod_event"]


class _PodEvent(Struct):
    type: str
    object: Pod


_read_pod_event = reader(_PodEvent, "pod")

decode_pod: Callable[[bytes | Raw], Pod] = reader(Pod, "pod")
decode_node: Callable[[bytes | Raw], Node] = reader(Node, "node")


def decode_pod_event(line: bytes) -> tuple[str, Pod]:
    """The type and the pod of a line of a watch, in one go."""
    event = _read_pod_event(line)
    return event.type, event.object
