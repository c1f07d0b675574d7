"""What a claim asks for, read once for all claims that ask for the same."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from fairlead.cluster.devices.inventory import Nanos, nano
from fairlead.model.resource import (
    CapacityRequirements,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaimSpec,
)

MOST_PLANS = 2000
MOST_DEVICES = 32
"""AllocationResultsMaxSize: no claim gets more devices."""
MOST_ALTERNATIVES = 8
"""FirstAvailableDeviceRequestMaxSize: so much better is the first alternative than none."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class Request(Struct, frozen=True, gc=False, eq=False):
    """One request, or one alternative of a request, which is its `parent` then."""

    name: str
    parent: str
    device_class: str
    selectors: tuple[str | None, ...]
    mode: str
    count: int
    admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: Mapping[str, int] | None

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def top_name(self) -> str:
        """The name of the request as the claim's constraints know it."""
        return self.parent or self.name


class Plan:
    """The requests of a claim in order; each is one, or alternatives of which one is enough."""

    __slots__ = ("constraints", "key", "requests", "scoring", "spec")

    def __init__(self, spec: ResourceClaimSpec, key: bytes) -> None:
        self.spec = spec
        self.key = key
        self.requests = tuple(tuple(alternatives(each)) for each in spec.devices.requests)
        self.constraints: tuple[DeviceConstraint, ...] = spec.devices.constraints
        self.scoring = {
            request.full_name: MOST_ALTERNATIVES - at
            for several in self.requests
            for at, request in enumerate(several)
            if request.parent
        }
        """What each alternative is worth."""


class Plans:
    """The plans by what they ask for."""

    def __init__(self) -> None:
        self._known: dict[bytes, Plan] = {}

    def of(self, spec: ResourceClaimSpec) -> Plan:
        key = _encode((spec.devices.requests, spec.devices.constraints))
        plan = self._known.get(key)
        if plan is None:
            if len(self._known) >= MOST_PLANS:
                self._known.clear()
            plan = self._known[key] = Plan(spec, key)
        return plan


def alternatives(given: DeviceRequest) -> Iterator[Request]:
    if given.exactly is not None:
        yield request(given.name, "", given.exactly, admin=given.exactly.admin_access)
    for each in given.first_available if given.exactly is None else ():
        yield request(each.name, given.name, each, admin=False)


def request(
    name: str, parent: str, given: ExactDeviceRequest | DeviceSubRequest, *, admin: bool
) -> Request:
    return Request(
        name,
        parent,
        given.device_class_name,
        expressions(given.selectors),
        given.allocation_mode,
        given.count,
        admin,
        given.tolerations,
        amounts(given.capacity),
    )


def expressions(selectors: tuple[DeviceSelector, ...]) -> tuple[str | None, ...]:
    return tuple(None if each.cel is None else each.cel.expression for each in selectors)


def amounts(capacity: CapacityRequirements | None) -> Nanos | None:
    if capacity is None:
        return None
    return {name: nano(amount) for name, amount in capacity.requests.items()}
