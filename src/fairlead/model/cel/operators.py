"""The operators of an expression, over Python's values."""

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from fairlead.model.cel.syntax import Uint
from fairlead.model.cel.values import (
    NO_OVERLOAD,
    NONE,
    CelError,
    Optional,
    compare,
    equal,
    int64,
    no_such_key,
    uint64,
)

Function = Callable[..., Any]


def kind_of(value: object) -> type:
    return bool if isinstance(value, bool) else type(value)


def arithmetic(
    whole: Callable[[int, int], int], broken: Callable[[float, float], float]
) -> Function:
    def apply(one: Any, other: Any) -> Any:
        kind = kind_of(one)
        if kind is not kind_of(other):
            raise CelError(NO_OVERLOAD)
        if kind is int:
            return int64(whole(one, other))
        if kind is Uint:
            return uint64(whole(int(one), int(other)))
        if kind is float:
            return broken(one, other)
        raise CelError(NO_OVERLOAD)

    return apply


add_numbers = arithmetic(lambda a, b: a + b, lambda a, b: a + b)
subtract_numbers = arithmetic(lambda a, b: a - b, lambda a, b: a - b)
multiply = arithmetic(lambda a, b: a * b, lambda a, b: a * b)


def add(one: Any, other: Any) -> Any:
    if isinstance(one, str | bytes | list) and type(one) is type(other):
        return one + other
    if isinstance(one, datetime | timedelta) and isinstance(other, datetime | timedelta):
        return one + other  # type: ignore[operator]
    return add_numbers(one, other)


def subtract(one: Any, other: Any) -> Any:
    if isinstance(one, datetime | timedelta) and isinstance(other, datetime | timedelta):
        return one - other  # type: ignore[operator]
    return subtract_numbers(one, other)


def toward_zero(one: int, other: int) -> int:
    if not other:
        raise CelError("division by zero")
    size = abs(one) // abs(other)
    return size if (one < 0) == (other < 0) else -size


def rest_of(one: int, other: int) -> int:
    if not other:
        raise CelError("modulus by zero")
    rest = abs(one) % abs(other)
    return -rest if one < 0 else rest


def float_quotient(one: float, other: float) -> float:
    if other:
        return one / other
    if not one or math.isnan(one):
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1.0, other)


def no_floats(*_operands: float) -> float:
    raise CelError(NO_OVERLOAD)


divide = arithmetic(toward_zero, float_quotient)
modulo = arithmetic(rest_of, no_floats)


def negate(value: Any) -> Any:
    if kind_of(value) is int:
        return int64(-value)
    if isinstance(value, float | timedelta):
        return -value
    raise CelError(NO_OVERLOAD)


def opposite(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError(NO_OVERLOAD)
    return not value


def contained(value: Any, container: Any) -> bool:
    if isinstance(container, list):
        return any(equal(value, each) for each in container)
    if isinstance(container, dict):
        try:
            return value in container
        except TypeError:
            raise CelError(NO_OVERLOAD) from None
    raise CelError(NO_OVERLOAD)


MISSING = object()


def found(container: Any, key: Any) -> Any:
    """What a map or list holds under a key; MISSING if nothing."""
    if isinstance(container, dict):
        try:
            return container[key]
        except KeyError:
            return MISSING
        except TypeError:
            raise CelError(NO_OVERLOAD) from None
    if isinstance(container, list):
        if isinstance(key, float) and key.is_integer():
            key = int(key)
        if not isinstance(key, int) or isinstance(key, bool):
            raise CelError(f"unsupported index type '{key}' in list")
        return container[key] if 0 <= key < len(container) else MISSING
    return MISSING


def at_index(container: Any, key: Any) -> Any:
    if isinstance(container, Optional):
        return optionally(container, key)
    value = found(container, key)
    if value is MISSING:
        if isinstance(container, list):
            raise CelError(f"index out of bounds: {key}")
        raise no_such_key(key)
    return value


def optionally(container: Any, key: Any) -> Optional:
    """`container[?key]` and `container.?key`."""
    if isinstance(container, Optional):
        if not container.present:
            return NONE
        container = container.value
    value = found(container, key)
    return NONE if value is MISSING else Optional(True, value)


def truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise CelError(NO_OVERLOAD)


OPERATORS: Mapping[tuple[str, int], Function] = MappingProxyType(
    {
        ("_==_", 2): equal,
        ("_!=_", 2): lambda a, b: not equal(a, b),
        ("_<_", 2): lambda a, b: compare(a, b) < 0,
        ("_<=_", 2): lambda a, b: compare(a, b) <= 0,
        ("_>_", 2): lambda a, b: compare(a, b) > 0,
        ("_>=_", 2): lambda a, b: compare(a, b) >= 0,
        ("_+_", 2): add,
        ("_-_", 2): subtract,
        ("_*_", 2): multiply,
        ("_/_", 2): divide,
        ("_%_", 2): modulo,
        ("-_", 1): negate,
        ("!_", 1): opposite,
        ("_[_]", 2): at_index,
        ("_[?_]", 2): optionally,
        ("_?._", 2): optionally,
        ("@in", 2): contained,
    }
)
"""By function and number of operands; those that need not look at all of them are not here."""
