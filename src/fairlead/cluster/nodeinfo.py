"""One node as the scheduler sees it: what it has, what is taken, in plain ints."""

from collections import Counter
from collections.abc import Iterator, Mapping

from fairlead.model.node import Node, Taint
from fairlead.model.podinfo import PodInfo

HostPort = tuple[str, str, int]


class NodeInfo:
    """One node as the scheduler sees it now; a plugin must treat it as read-only.

    It is live: it shows the state during the call it is handed to, and must not be kept.
    """

    __slots__ = (
        "allocatable_cpu",
        "allocatable_ephemeral_storage",
        "allocatable_memory",
        "allocatable_pods",
        "allocatable_scalars",
        "images",
        "labels",
        "name",
        "node",
        "nonzero_cpu",
        "nonzero_memory",
        "pod_count",
        "pods_by_uid",
        "requested_cpu",
        "requested_ephemeral_storage",
        "requested_memory",
        "requested_scalars",
        "row",
        "taints",
        "unschedulable",
        "used_ports",
    )

    def __init__(self, row: int, node: Node) -> None:
        self.row = row
        self.node = node
        self.name = node.metadata.name
        self.labels: Mapping[str, str] = {}
        self.taints: tuple[Taint, ...] = ()
        self.unschedulable = False
        self.images: dict[str, int] = {}
        self.used_ports: Counter[HostPort] | None = None
        self.pods_by_uid: dict[str, PodInfo] = {}
        self.pod_count = 0
        self.allocatable_cpu = self.allocatable_memory = 0
        self.allocatable_ephemeral_storage = self.allocatable_pods = 0
        self.allocatable_scalars: dict[str, int] = {}
        self.requested_cpu = self.requested_memory = self.requested_ephemeral_storage = 0
        self.requested_scalars: dict[str, int] = {}
        self.nonzero_cpu = self.nonzero_memory = 0

    @property
    def uid(self) -> str:
        return self.node.metadata.uid

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.node.metadata.annotations

    @property
    def pods(self) -> Iterator[PodInfo]:
        return iter(self.pods_by_uid.values())

    def allocatable(self, resource: str) -> int:
        """What the node has of a resource; cpu in millicores, all else in whole units."""
        match resource:
            case "cpu":
                return self.allocatable_cpu
            case "memory":
                return self.allocatable_memory
            case "ephemeral-storage":
                return self.allocatable_ephemeral_storage
            case _:
                return self.allocatable_scalars.get(resource, 0)

    def requested(self, resource: str) -> int:
        """What the pods on the node request of a resource, in the same units."""
        match resource:
            case "cpu":
                return self.requested_cpu
            case "memory":
                return self.requested_memory
            case "ephemeral-storage":
                return self.requested_ephemeral_storage
            case _:
                return self.requested_scalars.get(resource, 0)
