"""One node as the scheduler sees it: what it has, what is taken, in plain ints."""

from collections import Counter
from collections.abc import Iterator, Mapping
from operator import attrgetter

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

    def copy(self) -> "NodeInfo":
        """The node as it is now, to be changed at will: for a trial, see `framework.trial`."""
        twin = NodeInfo.__new__(NodeInfo)
        for name, value in zip(SHARED, shared_of(self), strict=True):
            setattr(twin, name, value)
        twin.pods_by_uid = self.pods_by_uid.copy()
        twin.requested_scalars = self.requested_scalars.copy()
        twin.used_ports = None if self.used_ports is None else self.used_ports.copy()
        return twin

    def put_on(self, pod: PodInfo) -> None:
        """Count a pod on this copy; a node of the table is written by `NodeTable.place` alone."""
        self.pods_by_uid[pod.uid] = pod
        self._count(pod, 1)
        if pod.host_ports:
            if self.used_ports is None:
                self.used_ports = Counter()
            self.used_ports.update(pod.host_ports)

    def take_off(self, pod: PodInfo) -> None:
        """Take back what `put_on` counted, or what the table did before the copy was made.

        Its host ports are free then, also if another pod had the same ones: kube-scheduler notes
        only that a port is taken, not how often, and chooses its victims by that.
        """
        del self.pods_by_uid[pod.uid]
        self._count(pod, -1)
        if pod.host_ports and self.used_ports is not None:
            for port in pod.host_ports:
                self.used_ports.pop(port, None)
            self.used_ports = self.used_ports or None

    def _count(self, pod: PodInfo, sign: int) -> None:
        request, nonzero = pod.placed_request, pod.placed_nonzero
        self.pod_count += sign
        self.requested_cpu += sign * request.cpu
        self.requested_memory += sign * request.memory
        self.requested_ephemeral_storage += sign * request.ephemeral_storage
        self.nonzero_cpu += sign * nonzero[0]
        self.nonzero_memory += sign * nonzero[1]
        for name, amount in request.scalars:
            value = self.requested_scalars.get(name, 0) + sign * amount
            if value:
                self.requested_scalars[name] = value
            else:
                self.requested_scalars.pop(name, None)

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


OWN = ("pods_by_uid", "requested_scalars", "used_ports")
SHARED = tuple(name for name in NodeInfo.__slots__ if name not in OWN)
"""What a copy has in common with the node: numbers, and mappings that a node is given whole."""
shared_of = attrgetter(*SHARED)
