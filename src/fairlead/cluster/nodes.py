"""The table of nodes: one `NodeInfo` per row with plain ints, and the same as columns.

Reads: decoded nodes and pods. Writes: its rows, `Columns`, and the change logs.

A row is asked about one node at a time through `NodeInfo` (plain ints, 30 ns each) and about all
nodes at once through `Columns`. Both are written here and nowhere else; `check` compares them.
"""

from collections import Counter
from collections.abc import Iterator

from fairlead.cluster.attached import Attached
from fairlead.cluster.below import BelowStore
from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.columns import Columns, capped
from fairlead.cluster.csi_nodes import CSINodes
from fairlead.cluster.devices.devices import Devices
from fairlead.cluster.domains import DomainStore
from fairlead.cluster.groups import Groups
from fairlead.cluster.images import Images
from fairlead.cluster.labels import LabelColumn, LabelColumns
from fairlead.cluster.nodeinfo import HostPort, NodeInfo
from fairlead.cluster.objects import Objects
from fairlead.cluster.order import NodeOrder
from fairlead.cluster.placed_volumes import PlacedVolumes
from fairlead.cluster.storage import Storage
from fairlead.cluster.taints import TaintSets
from fairlead.cluster.terms import PlacedTerms
from fairlead.model.node import Node
from fairlead.model.podinfo import PodInfo
from fairlead.model.resources import NO_RESOURCES, Resources

__all__ = ["HostPort", "NodeInfo", "NodeTable"]


class NodeTable:
    """Rows, their names, and every write to them."""

    def __init__(self, changes: Changes, objects: Objects | None = None) -> None:
        self.changes = changes
        self.columns = Columns()
        self.infos: list[NodeInfo | None] = []
        self.rows: dict[str, int] = {}
        self.labels = LabelColumns(self.columns)
        self.taints = TaintSets(self.columns)
        self.images = Images(changes)
        self.groups = Groups(self.columns)
        objects = Objects(changes) if objects is None else objects
        self.terms = PlacedTerms(self.columns, changes, objects)
        self.devices = Devices(objects, changes, self.rows)
        self.domains = DomainStore(self)
        self.order = NodeOrder()
        self.below = BelowStore(self)
        self.volumes = PlacedVolumes(changes)
        self.csi_nodes = CSINodes(self.columns, changes, objects, self.rows)
        self.attached = Attached(self, objects, self.csi_nodes, self.volumes)
        self.storage = Storage(self, objects)
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self.rows)

    def info(self, row: int) -> NodeInfo:
        info = self.infos[row]
        assert info is not None
        return info

    def get(self, name: str) -> NodeInfo | None:
        row = self.rows.get(name)
        return None if row is None else self.infos[row]

    def all(self) -> Iterator[NodeInfo]:
        return (info for info in self.infos if info is not None)

    def label(self, key: str) -> LabelColumn:
        """The values of a label as ids, by row; kept from now on."""
        return self.labels.column(key, ((info.row, info.labels) for info in self.all()))

    def add(self, node: Node) -> NodeInfo:
        """Take a row for the node; all that was known of that row is void."""
        row = self._take_row()
        info = NodeInfo(row, node)
        self.infos[row] = info
        self.rows[info.name] = row
        self.order.add(row, node.metadata.labels)
        self.columns.exists[row] = True
        self.csi_nodes.node_added(row, info.name)
        self.changes.resize(len(self.rows))
        self._write(info, node, None)
        self.changes.mark_all(row)
        self.changes.touch("nodes")
        return info

    def update(self, info: NodeInfo, node: Node) -> None:
        """Write what differs, and mark only the aspects that do."""
        old, info.node = info.node, node
        self._write(info, node, old)

    def remove(self, info: NodeInfo) -> None:
        """Free the row. The caller has taken the pods off it before."""
        row = info.row
        self.labels.write(row, {}, info.labels)
        self.taints.write(row, (), info.taints)
        self.images.write(row, {}, info.images)
        columns = self.columns
        columns.exists[row] = columns.unschedulable[row] = False
        self.csi_nodes.node_removed(row)
        self._write_allocatable(info, NO_RESOURCES, 0)
        del self.rows[info.name]
        self.order.remove(row)
        self.devices.pools.forget(info.name)
        self.infos[row] = None
        self._free.append(row)
        self.changes.mark_all(row)
        self.changes.touch("nodes")

    def place(self, info: NodeInfo, pod: PodInfo) -> None:
        """Add a pod's requests, ports, labels and affinity terms to its node."""
        info.pods_by_uid[pod.uid] = pod
        self.groups.place(info.row, pod)
        if pod.pod_affinity or pod.pod_anti_affinity:
            self.terms.place(info.row, pod)
        if pod.volumes:
            self.volumes.place(info.row, pod)
        self._count(info, pod.placed_request, pod.placed_nonzero, 1)
        if pod.host_ports:
            if info.used_ports is None:
                info.used_ports = Counter()
            info.used_ports.update(pod.host_ports)
            self.changes.mark(Aspect.PORTS, info.row)

    def displace(self, info: NodeInfo, pod: PodInfo) -> None:
        """Take off what `place` added: the very pod that was placed, not a newer version."""
        del info.pods_by_uid[pod.uid]
        self.groups.displace(info.row, pod)
        if pod.pod_affinity or pod.pod_anti_affinity:
            self.terms.displace(info.row, pod)
        if pod.volumes:
            self.volumes.displace(info.row, pod)
        self._count(info, pod.placed_request, pod.placed_nonzero, -1)
        if pod.host_ports and info.used_ports is not None:
            info.used_ports.subtract(pod.host_ports)
            info.used_ports = +info.used_ports or None
            self.changes.mark(Aspect.PORTS, info.row)

    def _take_row(self) -> int:
        if self._free:
            return self._free.pop()
        row = len(self.infos)
        self.infos.append(None)
        if row >= self.columns.room:
            self.columns.grow()
            self.labels.grow()
            self.domains.clear()
            self.groups.clear()
            self.terms.clear()
            self.csi_nodes.grow()
            self.attached.grow()
        return row

    def _write(self, info: NodeInfo, node: Node, old: Node | None) -> None:
        row, mark = info.row, self.changes.mark
        labels = node.metadata.labels
        if labels != info.labels:
            self.labels.write(row, labels, info.labels)
            info.labels = labels
            self.order.move(row, labels)
            mark(Aspect.LABELS, row)
        taints, unschedulable = node.spec.taints, node.spec.unschedulable
        if taints != info.taints or unschedulable != info.unschedulable:
            self.taints.write(row, taints, info.taints)
            self.columns.unschedulable[row] = unschedulable
            info.taints, info.unschedulable = taints, unschedulable
            mark(Aspect.TAINTS, row)
        if old is None or node.status.allocatable != old.status.allocatable:
            allocatable, pods = node.allocatable_resources()
            self._write_allocatable(info, allocatable, pods)
            mark(Aspect.ALLOCATABLE, row)
        if old is None or node.status.images != old.status.images:
            images: dict[str, int] = {}
            for image in node.status.images:
                for name in image.names:
                    images.setdefault(name, image.size_bytes)
            if images != info.images:
                self.images.write(row, images, info.images)
                info.images = images
                mark(Aspect.IMAGES, row)
        if old is not None and rest_of(node) != rest_of(old):
            mark(Aspect.OBJECT, row)

    def _write_allocatable(self, info: NodeInfo, total: Resources, pods: int) -> None:
        row, columns = info.row, self.columns
        info.allocatable_cpu = columns.allocatable_cpu[row] = total.cpu
        info.allocatable_memory = columns.allocatable_memory[row] = total.memory
        info.allocatable_ephemeral_storage = total.ephemeral_storage
        columns.allocatable_ephemeral_storage[row] = total.ephemeral_storage
        info.allocatable_pods = columns.allocatable_pods[row] = pods
        scalars = dict(total.scalars)
        for name in info.allocatable_scalars.keys() | scalars.keys():
            if name not in columns.allocatable_scalars:
                columns.begin_scalar(name, self._requested_of(name))
            columns.allocatable_scalars[name][row] = scalars.get(name, 0)
        info.allocatable_scalars = scalars

    def _requested_of(self, scalar: str) -> dict[int, int]:
        """What is requested of an extended resource by row, where there is any."""
        return {
            info.row: info.requested_scalars[scalar]
            for info in self.all()
            if scalar in info.requested_scalars
        }

    def _count(
        self, info: NodeInfo, request: Resources, nonzero: tuple[int, int], sign: int
    ) -> None:
        row, columns = info.row, self.columns
        info.pod_count = value = info.pod_count + sign
        columns.pod_count[row] = value
        info.requested_cpu = value = info.requested_cpu + sign * request.cpu
        columns.requested_cpu[row] = capped(value)
        info.requested_memory = value = info.requested_memory + sign * request.memory
        columns.requested_memory[row] = capped(value)
        if request.ephemeral_storage:
            value = info.requested_ephemeral_storage + sign * request.ephemeral_storage
            info.requested_ephemeral_storage = value
            columns.requested_ephemeral_storage[row] = capped(value)
        info.nonzero_cpu = value = info.nonzero_cpu + sign * nonzero[0]
        columns.nonzero_cpu[row] = capped(value)
        info.nonzero_memory = value = info.nonzero_memory + sign * nonzero[1]
        columns.nonzero_memory[row] = capped(value)
        for name, amount in request.scalars:
            value = info.requested_scalars.get(name, 0) + sign * amount
            if value:
                info.requested_scalars[name] = value
            else:
                info.requested_scalars.pop(name, None)
            if name in columns.requested_scalars:
                columns.requested_scalars[name][row] = capped(value)
        self.changes.mark(Aspect.REQUESTED, row)


def rest_of(node: Node) -> tuple[object, ...]:
    """What a plugin may read of the object itself, beside what has an aspect of its own."""
    return node.metadata.annotations, node.status.conditions, node.status.declared_features
