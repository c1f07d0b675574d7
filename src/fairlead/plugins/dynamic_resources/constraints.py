"""What the devices of a claim must have in common, or must not."""

from typing import Protocol

from fairlead.cluster.devices.inventory import SlicedDevice
from fairlead.model.resource import DeviceAttribute, DeviceConstraint
from fairlead.plugins.dynamic_resources.plan import Request

Value = tuple[str, object]
"""The kind of an attribute and its value; the empty kind stands for one that is not known."""


class Constraint(Protocol):
    """Asked about each device before it is taken; every `add` that said yes has one `remove`."""

    def add(self, request: Request, device: SlicedDevice) -> bool: ...

    def remove(self, request: Request) -> None: ...


def constraint_of(given: DeviceConstraint) -> Constraint | None:
    """None for a constraint of a kind that is not known."""
    requests = frozenset(given.requests)
    if given.match_attribute:
        return Matching(given.match_attribute, requests)
    if given.distinct_attribute:
        return Distinct(given.distinct_attribute, requests)
    return None


class Matching:
    """All devices have the same value of the attribute."""

    def __init__(self, attribute: str, requests: frozenset[str]) -> None:
        self._attribute = attribute
        self._requests = requests
        self._value: Value | None = None
        self._count = 0

    def add(self, request: Request, device: SlicedDevice) -> bool:
        if not concerned(request, self._requests):
            return True
        value = value_of(device, self._attribute)
        if value is None:
            return False
        if self._count and (not value[0] or value != self._value):
            return False
        if not self._count:
            self._value = value
        self._count += 1
        return True

    def remove(self, request: Request) -> None:
        if concerned(request, self._requests):
            self._count -= 1


class Distinct:
    """No two devices have the same value of the attribute.

    As in kube-scheduler the values are remembered by request, the last one each: a request for
    three devices may get a value twice.
    """

    def __init__(self, attribute: str, requests: frozenset[str]) -> None:
        self._attribute = attribute
        self._requests = requests
        self._values: dict[str, Value] = {}
        self._count = 0

    def add(self, request: Request, device: SlicedDevice) -> bool:
        if not concerned(request, self._requests):
            return True
        value = value_of(device, self._attribute)
        if value is None:
            return False
        if self._count and self._values and (not value[0] or value in self._values.values()):
            return False
        self._values[request.top_name] = value
        self._count += 1
        return True

    def remove(self, request: Request) -> None:
        if concerned(request, self._requests):
            self._values.pop(request.top_name, None)
            self._count -= 1


def concerned(request: Request, requests: frozenset[str]) -> bool:
    """Whether the constraint is about this request: about all, or by its name or its parent's."""
    return not requests or request.top_name in requests or request.full_name in requests


def value_of(device: SlicedDevice, attribute: str) -> Value | None:
    """The attribute by its full name; without its domain if that is the driver."""
    attributes = device.device.attributes
    found = attributes.get(attribute)
    if found is None:
        domain, slash, name = attribute.partition("/")
        if not slash or domain != device.id[0]:
            return None
        found = attributes.get(name)
    return None if found is None else worth(found)


def worth(attribute: DeviceAttribute) -> Value:
    if attribute.string is not None:
        return "string", attribute.string
    if attribute.integer is not None:
        return "int", attribute.integer
    if attribute.boolean is not None:
        return "bool", attribute.boolean
    if attribute.version is not None:
        return "version", attribute.version
    return "", None
