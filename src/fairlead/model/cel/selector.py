"""A condition on devices: text in, yes or no for each device out."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fairlead.model.cel.evaluation import compiled
from fairlead.model.cel.library import library
from fairlead.model.cel.scope import Scope, Step
from fairlead.model.cel.values import (
    CelError,
    Domains,
    Quantity,
    nano_of,
    semver,
    type_name,
)
from fairlead.model.quantity import parse_quantity
from fairlead.model.resource import Device, DeviceAttribute

UNCONVERTIBLE: Mapping[str, str] = MappingProxyType(
    {
        "string": "unsupported native conversion from string to 'bool'",
        "int": "unsupported type conversion from 'int' to bool",
    }
)
"""How cel-go words it that an answer is no bool, where it does so in its own way."""
DeviceValues = Mapping[str, Any]
"""What the variable `device` holds."""


class Selector:
    """A compiled expression. `Selector.compile(text)` raises CelError with what is wrong."""

    __slots__ = ("_step", "text")

    def __init__(self, text: str, step: Step) -> None:
        self.text = text
        self._step = step

    @classmethod
    def compile(cls, text: str) -> "Selector":
        """Parse and check the text. The library is imported here, and found missing here."""
        try:
            return cls(text, compiled(library().parse(text)))
        except RecursionError:
            raise CelError("compilation failed: the expression is nested too deeply") from None

    def matches(self, device: DeviceValues) -> bool:
        """Whether the device is selected; CelError if the expression cannot be evaluated on it."""
        try:
            answer = self._step(Scope({"device": device}))
        except RecursionError:
            raise CelError("operation cancelled: nested too deeply") from None
        if isinstance(answer, bool):
            return answer
        name = type_name(answer)
        why = UNCONVERTIBLE.get(name, "type conversion error from '{}' to 'bool'")
        why = why.format(name.removeprefix("kubernetes."))
        raise CelError(f"CEL result of type {name} could not be converted to bool: {why}")


def device_values(driver: str, device: Device) -> DeviceValues:
    """The device as expressions see it; names without a domain belong to the driver.

    Raises CelError for an attribute that has no value of a kind that is known.
    """
    attributes, capacity = Domains(), Domains()
    for name, attribute in device.attributes.items():
        domain, key = qualified(name, driver)
        try:
            attributes.setdefault(domain, {})[key] = value_of(attribute)
        except CelError as problem:
            raise CelError(f"attribute {name}: {problem}") from None
    for name, amount in device.capacity.items():
        domain, key = qualified(name, driver)
        parsed = parse_quantity(amount.value) if amount.value is not None else None
        nano = 0 if parsed is None else nano_of(parsed)
        capacity.setdefault(domain, {})[key] = Quantity(nano)
    return {
        "driver": driver,
        "allowMultipleAllocations": device.allow_multiple_allocations,
        "attributes": attributes,
        "capacity": capacity,
    }


def qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, key = name.partition("/")
    return (domain, key) if slash else (driver, name)


def value_of(attribute: DeviceAttribute) -> object:
    for value in (attribute.integer, attribute.boolean, attribute.string):
        if value is not None:
            return value
    if attribute.version is None:
        raise CelError("unsupported attribute value")
    try:
        return semver(attribute.version)
    except CelError as problem:
        raise CelError(f"parse semantic version: {problem}") from None
