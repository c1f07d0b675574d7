"""A parsed expression as a tree, read from the form in which the library hands it over.

The library parses, expands macros and checks types; its trees leave it only as the bytes of a
protocol buffer (`cel.expr.ParsedExpr`), of which this reads what evaluation needs.
"""

import struct
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

Wire = dict[int, list[Any]]
"""The fields of a message by number: integers, or bytes."""


class Uint(int):
    """A number that is never negative and that CEL does not add to an `int`."""

    __slots__ = ()


class Const(Struct, frozen=True, gc=False):
    value: object


class Ident(Struct, frozen=True, gc=False):
    name: str


class Select(Struct, frozen=True, gc=False):
    """`operand.field`, or `has(operand.field)`."""

    operand: "Node"
    field: str
    test: bool = False


class Call(Struct, frozen=True, gc=False):
    """`target.function(args)`, or `function(args)`; operators are functions such as `_&&_`."""

    function: str
    target: "Node | None" = None
    args: tuple["Node", ...] = ()


class ListLiteral(Struct, frozen=True, gc=False):
    elements: tuple["Node", ...] = ()
    optional: frozenset[int] = frozenset()


class MapLiteral(Struct, frozen=True, gc=False):
    """Keys and values; an optional entry is left out where its value is absent."""

    entries: tuple[tuple["Node", "Node", bool], ...] = ()
    message: str = ""


class Loop(Struct, frozen=True, gc=False):
    """What all, exists, map, filter and cel.bind come to."""

    variable: str
    second: str
    over: "Node"
    total: str
    start: "Node"
    condition: "Node"
    step: "Node"
    result: "Node"


Node = Const | Ident | Select | Call | ListLiteral | MapLiteral | Loop


def tree_of(data: bytes) -> Node:
    """The tree in the bytes of a ParsedExpr, alone or wrapped in an Any."""
    outer = fields(data)
    if 1 in outer and outer[1][0].startswith(b"type.googleapis.com/"):
        outer = fields(outer[2][0])
    return node(outer[2][0])


def fields(data: bytes) -> Wire:
    """The fields of one message."""
    found: Wire = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value: Any
        match key & 7:
            case 0:
                value, at = varint(data, at)
            case 1:
                value, at = data[at : at + 8], at + 8
            case 2:
                size, at = varint(data, at)
                value, at = data[at : at + size], at + size
            case _:
                value, at = data[at : at + 4], at + 4
        found.setdefault(key >> 3, []).append(value)
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def node(data: bytes) -> Node:
    wire = fields(data)
    for number, make in KINDS:
        if number in wire:
            return make(fields(wire[number][0]))
    raise ValueError("an expression of a kind that is not known")


def text(wire: Wire, number: int) -> str:
    return wire[number][0].decode() if number in wire else ""


def child(wire: Wire, number: int) -> Node:
    return node(wire[number][0])


def children(wire: Wire, number: int) -> tuple[Node, ...]:
    return tuple(node(each) for each in wire.get(number, ()))


def const(wire: Wire) -> Node:
    number, (value, *_) = next(iter(wire.items()))
    match number:
        case 2:
            return Const(bool(value))
        case 3:
            return Const(value - 2**64 if value >= 2**63 else value)
        case 4:
            return Const(Uint(value))
        case 5:
            return Const(struct.unpack("<d", value)[0])
        case 6:
            return Const(value.decode())
        case 7:
            return Const(bytes(value))
        case _:
            return Const(None)


def ident(wire: Wire) -> Node:
    return Ident(text(wire, 1).removeprefix("."))


def select(wire: Wire) -> Node:
    return Select(child(wire, 1), text(wire, 2), bool(wire.get(3, [0])[0]))


def call(wire: Wire) -> Node:
    return Call(text(wire, 2), child(wire, 1) if 1 in wire else None, children(wire, 3))


def list_literal(wire: Wire) -> Node:
    return ListLiteral(children(wire, 1), frozenset(numbers(wire.get(2, ()))))


def numbers(values: list[Any] | tuple[()]) -> Iterator[int]:
    """A repeated integer: packed or not."""
    for value in values:
        if isinstance(value, int):
            yield value
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            yield number


def map_literal(wire: Wire) -> Node:
    entries: list[tuple[Node, Node, bool]] = []
    for data in wire.get(2, ()):
        entry = fields(data)
        key = child(entry, 3) if 3 in entry else Const(text(entry, 2))
        entries.append((key, child(entry, 4), bool(entry.get(5, [0])[0])))
    return MapLiteral(tuple(entries), text(wire, 1))


def loop(wire: Wire) -> Node:
    return Loop(
        text(wire, 1),
        text(wire, 8),
        child(wire, 2),
        text(wire, 3),
        child(wire, 4),
        child(wire, 5),
        child(wire, 6),
        child(wire, 7),
    )


KINDS = (
    (6, call),
    (5, select),
    (4, ident),
    (3, const),
    (7, list_literal),
    (8, map_literal),
    (9, loop),
)
"""The kinds of expressions by their number in `cel.expr.Expr`."""
