"""Extended resources that are had as devices: who counts them, and how many there are on a node."""

from collections.abc import Hashable, Iterable

import numpy as np

from fairlead.cluster.columns import Int64, Mask
from fairlead.cluster.devices.devices import CLASSES, Devices
from fairlead.cluster.devices.inventory import SlicedDevice
from fairlead.cluster.devices.pools import DEVICES
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet
from fairlead.model.cel.values import CelError
from fairlead.model.resource import DeviceClass
from fairlead.plugins.scoring.allocation import Request


class DeviceResources:
    """The devices of a cluster as far as they stand for resources."""

    __slots__ = ("_devices", "_on")

    def __init__(self, handle: Handle) -> None:
        self._devices: Devices = handle.devices
        self._on = handle.features.get("DRAExtendedResource", False)

    def backing(self, resource: str) -> DeviceClass | None:
        """The class whose devices DynamicResources gives where a node has no such resource."""
        return self._devices.classes.backing(resource) if self._on else None

    def facts(self, requests: Iterable[Request]) -> tuple[Hashable, ...]:
        """What an answer about these resources rests on, beside the nodes."""
        if self._on and any(self.backing(name) is not None for name, _, _ in requests):
            return CLASSES, DEVICES
        return (CLASSES,)

    def used(self, node: NodeInfo, resource: str) -> tuple[int, int]:
        """How many devices the node has for the resource, and how many of them are taken."""
        device_class = self.backing(resource)
        if device_class is None:
            return 0, 0
        there = taken = 0
        try:
            for each in self._devices.pools.told_of(node.name):
                if not each.per_device and each.nodes.told and not each.nodes.match(node):
                    continue
                for device in each.devices:
                    if each.per_device and not device.nodes.match(node):
                        continue
                    if self._belongs(device, device_class):
                        there += 1
                        taken += self._devices.allocations.taken(device.id)
        except CelError:
            return 0, 0
        return there, taken

    def columns(
        self, nodes: NodeSet, resource: str, used: Int64, capacity: Int64
    ) -> tuple[Int64, Int64]:
        """The two columns with devices counted on nodes that have no such resource."""
        if self.backing(resource) is None:
            return used, capacity
        used, capacity = used.copy(), capacity.copy()
        without: Mask = capacity == 0
        infos = nodes.infos()
        for at in np.flatnonzero(without).tolist():
            info = infos[at]
            if info is not None:
                there, taken = self.used(info, resource)
                if there:
                    capacity[at], used[at] = there, taken
        return used, capacity

    def _belongs(self, device: SlicedDevice, device_class: DeviceClass) -> bool:
        return all(
            each.cel is None or device.selected(self._devices.selector(each.cel.expression))
            for each in device_class.spec.selectors
        )
