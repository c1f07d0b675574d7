"""Extended resources that are had as devices: the requests that a claim for them would have.

One request for each container and resource. Init containers end before the others begin: those
that are no sidecars take the devices of containers after them, and share the rest among them.
"""

from collections.abc import Sequence

from msgspec import Struct

from fairlead.cluster.devices.classes import Classes, may_be_devices
from fairlead.cluster.nodeinfo import NodeInfo
from fairlead.framework.status import Status, unresolvable
from fairlead.model.podinfo import PodInfo
from fairlead.model.quantity import Quantity
from fairlead.model.requests import Demand
from fairlead.model.resource import DeviceClaim, DeviceRequest, ExactDeviceRequest

CANNOT_FIT = unresolvable("cannot fit resource")


class Mapped(Struct, rename="camel", frozen=True, gc=False):
    """Which request of the claim serves a container's resource."""

    container_name: str
    resource_name: str
    request_name: str


class Extended(Struct, frozen=True, gc=False, eq=False):
    """What of a pod's request must be had as devices on some node."""

    claim: DeviceClaim
    mappings: tuple[Mapped, ...]


def backed(pod: PodInfo, classes: Classes) -> bool:
    """Whether the pod requests a resource that a class of devices stands for."""
    return any(
        amount and may_be_devices(name) and classes.backing(name) is not None
        for name, amount in pod.request.scalars
    )


def delegated(pod: PodInfo, node: NodeInfo, classes: Classes) -> tuple[str, ...] | Status:
    """The resources that the node gives as devices, sorted; a Status if it has one in no way."""
    names: list[str] = []
    for name, amount in pod.request.scalars:
        if not amount or not may_be_devices(name):
            continue
        if classes.backing(name) is not None and not node.allocatable(name):
            names.append(name)
        elif name not in node.allocatable_scalars:
            return CANNOT_FIT
    return tuple(sorted(names))


def requests_for(pod: PodInfo, resources: Sequence[str], classes: Classes) -> Extended:
    """The requests for these resources, and whom each serves."""
    requests: list[DeviceRequest] = []
    mappings: list[Mapped] = []
    for resource in resources:
        device_class = classes.backing(resource)
        if device_class is not None:
            made = Made(pod, resource, device_class.metadata.name)
            requests += made.requests
            mappings += made.mappings
    requests.sort(key=lambda each: each.name)
    return Extended(DeviceClaim(tuple(requests)), tuple(mappings))


class Made:
    """The requests for one resource."""

    def __init__(self, pod: PodInfo, resource: str, device_class: str) -> None:
        self._resource = resource
        self._class = device_class
        demands = pod.demands
        containers = [*demands.init_containers, *demands.containers]
        count = len(demands.init_containers)
        short = [at < count and not each.sidecar for at, each in enumerate(containers)]
        lasting: list[DeviceRequest | None] = [None] * len(containers)
        self.mappings: list[Mapped] = []
        for at, container in enumerate(containers):
            if not short[at]:
                lasting[at], mapped = self._request(at, container, ())
                self.mappings += mapped
        largest, passing = self._passing(containers, short, lasting)
        self.requests = [*([largest] if largest else []), *(each for each in lasting if each)]
        self.mappings += passing

    def _passing(
        self,
        containers: Sequence[Demand],
        short: Sequence[bool],
        lasting: Sequence[DeviceRequest | None],
    ) -> tuple[DeviceRequest | None, list[Mapped]]:
        """The one request of all containers that end before others begin."""
        largest: DeviceRequest | None = None
        mappings: list[Mapped] = []
        names: set[str] = set()
        for at, container in enumerate(containers):
            if not short[at]:
                continue
            made, mapped = self._request(at, container, lasting[at:])
            if made is not None:
                names.add(made.name)
                if largest is None or count_of(largest) < count_of(made):
                    largest = made
            mappings += mapped
        if largest is not None:
            name = largest.name
            mappings = [
                Mapped(m.container_name, m.resource_name, name) if m.request_name in names else m
                for m in mappings
            ]
        return largest, mappings

    def _request(
        self, at: int, container: Demand, reusable: Sequence[DeviceRequest | None]
    ) -> tuple[DeviceRequest | None, list[Mapped]]:
        """What the container needs beyond what it can use of others."""
        wanted = whole(container.requests.get(self._resource))
        if not wanted:
            return None, []
        mappings: list[Mapped] = []
        had = 0
        for other in reusable:
            if other is not None:
                had += count_of(other)
                mappings.append(Mapped(container.name, self._resource, other.name))
                if had >= wanted:
                    return None, mappings
        position = sorted(container.requests).index(self._resource)
        name = f"container-{at}-request-{position}"
        mappings.append(Mapped(container.name, self._resource, name))
        exactly = ExactDeviceRequest(self._class, allocation_mode="ExactCount", count=wanted - had)
        return DeviceRequest(name, exactly), mappings


def count_of(request: DeviceRequest) -> int:
    assert request.exactly is not None, "made here"
    return request.exactly.count


def whole(amount: Quantity | None) -> int:
    """The amount if it is a whole number, else nothing."""
    if amount is None or amount.wide:
        return 0
    if amount.scale >= 0:
        return amount.unscaled * 10**amount.scale
    size, rest = divmod(amount.unscaled, 10**-amount.scale)
    return 0 if rest else size
