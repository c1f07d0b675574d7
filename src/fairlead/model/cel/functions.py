"""The functions that Kubernetes adds to the language, and the commonest of the language itself.

What is not here is asked of the library, function by function (`library`): strings, regular
expressions, conversions, times.
"""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fairlead.model.cel.addresses import ADDRESSES
from fairlead.model.cel.operators import add, kind_of
from fairlead.model.cel.syntax import Uint
from fairlead.model.cel.values import (
    INT64,
    NANO,
    NO_OVERLOAD,
    NONE,
    CelError,
    Optional,
    Quantity,
    Semver,
    Type,
    compare,
    equal,
    int64,
    quantity,
    semver,
    type_name,
)

Function = Callable[..., Any]


def of(value: Any, kind: type | tuple[type, ...]) -> Any:
    """The value, if it is of the kind that the function is for."""
    if not isinstance(value, kind):
        raise CelError(NO_OVERLOAD)
    return value


def size(value: Any) -> int:
    return len(of(value, (str, bytes, list, dict)))


def text_test(name: str) -> Function:
    def ask(one: Any, other: Any) -> bool:
        return getattr(of(one, str), name)(of(other, str))

    return ask


def is_well_formed(make: Function) -> Function:
    def ask(*args: Any) -> bool:
        try:
            make(*args)
        except CelError as problem:
            if str(problem) == NO_OVERLOAD:
                raise
            return False
        return True

    return ask


def to_quantity(text: Any) -> Quantity:
    return quantity(of(text, str))


def to_semver(text: Any, normalize: Any = False) -> Semver:
    return semver(of(text, str), normalize=of(normalize, bool))


def ordered(one: Any, other: Any) -> int:
    """The order of two quantities, or of two versions."""
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return (one.nano > other.nano) - (one.nano < other.nano)
    first, second = of(one, Semver).order(), of(other, Semver).order()
    return (first > second) - (first < second)


def sign(value: Any) -> int:
    nano = of(value, Quantity).nano
    return (nano > 0) - (nano < 0)


def is_integer(value: Any) -> bool:
    whole, rest = divmod(of(value, Quantity).nano, NANO)
    return not rest and whole in INT64


def as_integer(value: Any) -> int:
    if not is_integer(value):
        raise CelError("cannot convert value to integer")
    return value.nano // NANO


def plus(factor: int) -> Function:
    def apply(one: Any, other: Any) -> Quantity:
        amount = other.nano if isinstance(other, Quantity) else of(other, int) * NANO
        return Quantity(of(one, Quantity).nano + factor * amount)

    return apply


def part_of_version(at: int) -> Function:
    return lambda value: int64(of(value, Semver).core[at])


def is_sorted(items: Any) -> bool:
    return all(compare(a, b) <= 0 for a, b in zip(of(items, list), items[1:], strict=False))


def total(items: Any) -> Any:
    return functools.reduce(add, items) if of(items, list) else 0


def extreme(name: str, wanted: int) -> Function:
    def find(items: Any) -> Any:
        if not of(items, list):
            raise CelError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            if compare(item, best) == wanted:
                best = item
        return best

    return find


def contains_all(items: Any, others: Any) -> bool:
    return all(any(equal(a, b) for b in of(items, list)) for a in of(others, list))


def equivalent(items: Any, others: Any) -> bool:
    return contains_all(items, others) and contains_all(others, items)


def intersects(items: Any, others: Any) -> bool:
    return any(any(equal(a, b) for b in of(others, list)) for a in of(items, list))


def distinct(items: Any) -> list[Any]:
    kept: list[Any] = []
    for item in of(items, list):
        if not any(equal(item, each) for each in kept):
            kept.append(item)
    return kept


def flatten(items: Any, depth: Any = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    for item in of(items, list):
        flat.extend(flatten(item, depth - 1) if isinstance(item, list) and depth else [item])
    return flat


def slice_of(items: Any, start: Any, end: Any) -> list[Any]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        what = "start index must be less than or equal to end index"
        raise CelError(f"cannot slice({start}, {end}), {what}")
    if end > len(of(items, list)):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def sort(items: Any) -> list[Any]:
    return sorted(of(items, list), key=functools.cmp_to_key(compare))


def reverse(items: Any) -> Any:
    return of(items, (list, str))[::-1]


def position(items: Any, wanted: Any, *start: Any) -> int:
    if isinstance(items, str):
        return items.find(of(wanted, str), *start)
    return next((at for at, each in enumerate(of(items, list)) if equal(each, wanted)), -1)


def last_position(items: Any, wanted: Any) -> int:
    if isinstance(items, str):
        return items.rfind(of(wanted, str))
    places = [at for at, each in enumerate(of(items, list)) if equal(each, wanted)]
    return places[-1] if places else -1


def range_of(count: Any) -> list[int]:
    if of(count, int) > 10_000:
        raise CelError("lists.range size exceeds the limit")
    return list(range(count))


def value_of(optional: Any) -> Any:
    if not of(optional, Optional).present:
        raise CelError("optional.none() dereference")
    return optional.value


def of_non_zero(value: Any) -> Optional:
    return Optional(True, value) if value not in (None, False, 0, 0.0, "", b"", [], {}) else NONE


def end_of(items: Any, at: int) -> Optional:
    return Optional(True, items[at]) if of(items, list) else NONE


def to_uint(value: Any) -> Uint:
    if isinstance(value, Uint) or (kind_of(value) is int and value >= 0):
        return Uint(value)
    raise CelError("unsigned integer overflow" if kind_of(value) is int else NO_OVERLOAD)


GLOBAL: Mapping[str, Function] = MappingProxyType(
    {
        "size": size,
        "dyn": lambda value: value,
        "type": lambda value: Type(type_name(value)),
        "quantity": to_quantity,
        "isQuantity": is_well_formed(to_quantity),
        "sign": sign,
        "semver": to_semver,
        "isSemver": is_well_formed(to_semver),
        "sets.contains": contains_all,
        "sets.equivalent": equivalent,
        "sets.intersects": intersects,
        "lists.range": range_of,
        "optional.of": lambda value: Optional(True, value),
        "optional.none": lambda: NONE,
        "optional.ofNonZeroValue": of_non_zero,
        **ADDRESSES.functions,
    }
)
"""Called as `name(…)`, by name."""

MEMBERS: Mapping[str, Function] = MappingProxyType(
    {
        "size": size,
        "startsWith": text_test("startswith"),
        "endsWith": text_test("endswith"),
        "contains": text_test("__contains__"),
        "compareTo": ordered,
        "isLessThan": lambda one, other: ordered(one, other) < 0,
        "isGreaterThan": lambda one, other: ordered(one, other) > 0,
        "isInteger": is_integer,
        "asInteger": as_integer,
        "asApproximateFloat": lambda value: of(value, Quantity).nano / NANO,
        "add": plus(1),
        "sub": plus(-1),
        "major": part_of_version(0),
        "minor": part_of_version(1),
        "patch": part_of_version(2),
        "isSorted": is_sorted,
        "sum": total,
        "min": extreme("min", -1),
        "max": extreme("max", 1),
        "indexOf": position,
        "lastIndexOf": last_position,
        "distinct": distinct,
        "flatten": flatten,
        "slice": slice_of,
        "sort": sort,
        "reverse": reverse,
        "hasValue": lambda value: of(value, Optional).present,
        "value": value_of,
        "first": lambda items: end_of(items, 0),
        "last": lambda items: end_of(items, -1),
        **ADDRESSES.members,
    }
)
"""Called as `value.name(…)`, by name."""
