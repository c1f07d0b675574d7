"""The values of an expression: Python's own, and those that Python has no type for.

bool, int, float, str, bytes, None, list, dict, datetime and timedelta stand for themselves.
"""

import re
from typing import Any

from msgspec import Struct

from fairlead.model.cel.syntax import Uint
from fairlead.model.errors import DecodeError
from fairlead.model.quantity import Quantity as Amount
from fairlead.model.quantity import parse_quantity

NANO = 10**9
INT64 = range(-(2**63), 2**63)


class CelError(Exception):
    """What went wrong in an expression, in the words of Kubernetes."""


NO_OVERLOAD = "no such overload"


def no_such_key(key: object) -> CelError:
    return CelError(f"no such key: {shown(key)}")


def shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


class Quantity(Struct, frozen=True, gc=False):
    """An amount in billionths: no quantity of Kubernetes is finer."""

    nano: int


class Semver(Struct, frozen=True, gc=False):
    """A semantic version; what stands behind `+` does not count."""

    core: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    def order(self) -> tuple[Any, ...]:
        """A key that sorts as semver 2.0.0 does: a pre-release is before its release."""
        parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.pre)
        return (self.core, not self.pre, parts)


class Optional(Struct, frozen=True, gc=False):
    """A value, or its absence."""

    present: bool = False
    value: object = None


NONE = Optional()


class Type(Struct, frozen=True, gc=False):
    """What `type()` gives."""

    name: str


class Domains(dict[str, Any]):
    """The values of a device by domain: one that the device does not have is empty, not unknown."""

    __slots__ = ()

    def __missing__(self, key: str) -> dict[str, Any]:
        return {}


def nano_of(amount: Amount) -> int:
    scale = amount.scale + 9
    return amount.unscaled * 10**scale if scale >= 0 else -(-amount.unscaled // 10**-scale)


def quantity(text: str) -> Quantity:
    try:
        return Quantity(nano_of(parse_quantity(text)))
    except DecodeError as problem:
        raise CelError(str(problem).partition(": ")[2]) from None


_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


def semver(text: str, *, normalize: bool = False) -> Semver:
    """A version; `normalize` bears a leading v, leading zeros and missing parts."""
    if normalize:
        text = normalized(text)
    found = _SEMVER.fullmatch(text)
    if found is None:
        raise CelError(fault_of_version(text))
    major, minor, patch, pre = found.groups()
    core = (int(major), int(minor), int(patch))
    if max(core) >= 2**64:
        raise CelError(f'strconv.ParseUint: parsing "{max(core)}": value out of range')
    return Semver(core, tuple(pre.split(".")) if pre else ())


def normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for at, part in enumerate(parts):
        if len(part) > 1:
            rest = part.lstrip("0")
            parts[at] = rest if rest and rest[0] in "0123456789" else "0" + rest
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        raise CelError("Short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:3])


def fault_of_version(text: str) -> str:
    if not text:
        return "Version string empty"
    if text.count(".") < 2:
        return "No Major.Minor.Patch elements found"
    for name, part in zip(("major", "minor"), text.split(".", 2), strict=False):
        if not part or not re.fullmatch(r"\d*", part, re.ASCII):
            return f'Invalid character(s) found in {name} number "{part}"'
        if len(part) > 1 and part[0] == "0":
            return f'{name.capitalize()} number must not contain leading zeroes "{part}"'
    return f'Invalid character(s) found in patch number "{text.split(".", 2)[2]}"'


def type_name(value: object) -> str:
    """The name of the type, as CEL has it."""
    for kind, name in TYPES:
        if isinstance(value, kind):
            return name
    return type(value).__name__


TYPES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (Uint, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (type(None), "null_type"),
    (Quantity, "kubernetes.Quantity"),
    (Semver, "kubernetes.Semver"),
    (Optional, "optional_type"),
    (Type, "type"),
)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(one: Any, other: Any) -> bool:
    """CEL's ==: numbers of any kind by their worth, everything else only within its type."""
    if is_number(one):
        return is_number(other) and one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(
            key in other and equal(value, other[key]) for key, value in one.items()
        )
    if type(one) is not type(other):
        if isinstance(one, Quantity | Semver):
            raise CelError(NO_OVERLOAD)
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, Optional):
        return one.present is other.present and equal(one.value, other.value)
    return one == other


def compare(one: Any, other: Any) -> int:
    """-1, 0 or 1; CelError where CEL has no order."""
    if is_number(one) and is_number(other):
        return (one > other) - (one < other)
    if type(one) is type(other) and not isinstance(
        one, list | dict | Quantity | Semver | Optional | Type | None
    ):
        return (one > other) - (one < other)
    raise CelError(NO_OVERLOAD)


def int64(number: int) -> int:
    if number not in INT64:
        raise CelError("integer overflow")
    return number


def uint64(number: int) -> Uint:
    if not 0 <= number < 2**64:
        raise CelError("unsigned integer overflow")
    return Uint(number)
