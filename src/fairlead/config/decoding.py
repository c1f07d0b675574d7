"""Decodes JSON values into typed structs, strictly, with the complaints of Go's decoder.

Go decodes into whatever the type's field is, goes on after a value of the wrong type and reports
the first one; unknown and doubled fields are reported only if there is nothing else. Here all of
them are noted, and `Decoded` says which one Go would name.
"""

from __future__ import annotations

import functools
import struct
import types
import typing
from typing import Any, Final, cast

import msgspec

from fairlead.config.document import Member, Node, Step, raw_json
from fairlead.config.errors import Problem
from fairlead.config.golang import Duration, decode_base64, parse_duration, quote
from fairlead.config.scalars import EMBEDDED, GO, POINTER

MAX_STRICT_ERRORS: Final = 100
_BITS: Final = {"int32": 32, "int64": 64}
_NAMES: Final = {str: "string", bool: "bool", bytes: "[]uint8", Duration: "v1.Duration"}
_ABSENT: Final = object()


class Field(msgspec.Struct, frozen=True):
    """One field of a struct: its JSON key, and where its value goes."""

    key: str
    attribute: str
    hint: Target
    embedded: str


class Target(msgspec.Struct, frozen=True):
    """What a value is decoded into."""

    type: Any
    name: str
    """The name of the Go type."""
    pointer: bool = False
    element: Target | None = None


class Decoded(msgspec.Struct, frozen=True):
    """What became of a value, and all that is wrong with it."""

    value: Any
    error: Problem | None
    """The complaint that ends Go's decoding, if there is one."""
    strict: tuple[Problem, ...]
    """Unknown and doubled fields."""
    problems: tuple[Problem, ...]
    """All complaints in the order of the text."""


def decode(node: Node, into: type[msgspec.Struct], prefix: tuple[Step, ...] = ()) -> Decoded:
    """Decodes an object; what does not fit is left at its default.

    The paths of problems begin with `prefix`, the texts of unknown fields do not: kube-scheduler
    names the fields of plugin arguments from the arguments on.
    """
    decoder = _Decoder(prefix)
    value = decoder.value(node, target_of(into), (), ("", ()))
    if value is _ABSENT:
        value = into()
    ending = decoder.fatal or next(iter(decoder.mismatches), None)
    return Decoded(value, ending, tuple(decoder.strict), tuple(decoder.problems))


@functools.cache
def fields_of(struct_type: type[msgspec.Struct]) -> dict[str, Field]:
    """The fields of a struct by their JSON key."""
    hints = typing.get_type_hints(struct_type, include_extras=True)
    return {
        key: Field(key, attribute, target_of(hints[attribute]), _extra(hints[attribute], EMBEDDED))
        for attribute, key in zip(
            struct_type.__struct_fields__, struct_type.__struct_encode_fields__, strict=True
        )
    }


def _extra(hint: Any, key: str) -> Any:
    for part in (hint, *typing.get_args(hint)):
        for meta in getattr(part, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta) and meta.extra and key in meta.extra:
                return meta.extra[key]
    return ""


@functools.cache
def target_of(hint: Any) -> Target:
    """What a type hint stands for; `X | None` is decoded as X."""
    name = cast("str", _extra(hint, GO))
    pointer = bool(_extra(hint, POINTER))
    if name == "runtime.RawExtension":
        return Target(msgspec.Raw, name)
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(part for part in typing.get_args(hint) if part is not types.NoneType)
        return target_of(hint)
    if typing.get_origin(hint) is tuple:
        element = target_of(typing.get_args(hint)[0])
        return Target(tuple, f"[]{element.name}", element=element)
    if typing.get_origin(hint) is dict:
        element = target_of(typing.get_args(hint)[1])
        return Target(dict, f"map[string]{element.name}", element=element)
    if not name:
        name = _NAMES.get(hint) or f"{hint.go_package}.{hint.__name__}"
    return Target(hint, name, pointer)


Context = tuple[str, tuple[str, ...]]
"""The Go struct that a value belongs to, and the fields that lead to it, without indices."""


class _Decoder:
    def __init__(self, prefix: tuple[Step, ...]) -> None:
        self.prefix = prefix
        self.fatal: Problem | None = None
        self.mismatches: list[Problem] = []
        self.strict: list[Problem] = []
        self.problems: list[Problem] = []

    def value(self, node: Node, into: Target, path: tuple[Step, ...], context: Context) -> Any:
        if into.type is msgspec.Raw:
            return _ABSENT if node.kind == "null" else msgspec.Raw(raw_json(node))
        if into.type is Duration:
            return self.duration(node, into, path, context)
        if node.kind == "null":
            return _ABSENT
        if node.kind == "object":
            return self.object(node, into, path, context)
        if node.kind == "array":
            return self.array(node, into, path, context)
        return self.literal(node, into, path, context)

    def object(self, node: Node, into: Target, path: tuple[Step, ...], context: Context) -> Any:
        if into.type is dict:
            assert into.element is not None
            result: dict[str, Any] = {}
            for member in node.members:
                if member.key in result:
                    self.complain(member, path, "duplicate field")
                item = self.value(member.value, into.element, (*path, member.key), context)
                result[member.key] = "" if item is _ABSENT else item
            return result
        if not _is_struct(into.type):
            return self.mismatch(node, "object", into.name, path, context)
        return self.struct(node, into.type, path, context)

    def struct(
        self, node: Node, into: type[msgspec.Struct], path: tuple[Step, ...], context: Context
    ) -> Any:
        fields = fields_of(into)
        values: dict[str, Any] = {}
        seen: set[str] = set()
        for member in node.members:
            field = fields.get(member.key)
            if field is None:
                self.complain(member, path, "unknown field", tuple(fields))
                continue
            if member.key in seen:
                self.complain(member, path, "duplicate field")
            seen.add(member.key)
            stack = (*context[1], field.embedded) if field.embedded else context[1]
            inner = (into.__name__, (*stack, member.key))
            value = self.value(member.value, field.hint, (*path, member.key), inner)
            if value is not _ABSENT:
                values[field.attribute] = value
        return into(**values)

    def array(self, node: Node, into: Target, path: tuple[Step, ...], context: Context) -> Any:
        if into.type is not tuple:
            return self.mismatch(node, "array", into.name, path, context)
        assert into.element is not None
        items: list[Any] = []
        for i, item in enumerate(node.items):
            value = self.value(item, into.element, (*path, i), context)
            items.append(_zero(into.element) if value is _ABSENT else value)
        return tuple(items)

    def literal(self, node: Node, into: Target, path: tuple[Step, ...], context: Context) -> Any:
        if node.kind == "bool":
            if into.type is bool:
                return node.text == "true"
        elif node.kind == "string":
            if into.type is str:
                return node.text
            if into.type is bytes:
                return self.base64(node, path)
        elif into.type in (int, float):
            number = _number(node.text, into)
            if number is None:
                return self.mismatch(node, f"number {node.text}", into.name, path, context)
            return number
        return self.mismatch(node, node.kind, into.name, path, context)

    def duration(self, node: Node, into: Target, path: tuple[Step, ...], context: Context) -> Any:
        if node.kind == "null" and into.pointer:
            return _ABSENT
        if node.kind in ("string", "null"):
            try:
                return parse_duration(node.text)
            except ValueError as error:
                self.end(self.problem(str(error), node.line, path))
                return _ABSENT
        self.end(self.wrong_type(node, node.kind, "string", path, context))
        return _ABSENT

    def base64(self, node: Node, path: tuple[Step, ...]) -> Any:
        try:
            return decode_base64(node.text)
        except ValueError as error:
            problem = self.problem(str(error), node.line, path)
            self.mismatches.append(problem)
            return _ABSENT

    def end(self, problem: Problem) -> None:
        """Notes a complaint that ends Go's decoding at once, whatever was noted before."""
        self.fatal = self.fatal or problem

    def mismatch(
        self, node: Node, found: str, wanted: str, path: tuple[Step, ...], context: Context
    ) -> Any:
        self.mismatches.append(self.wrong_type(node, found, wanted, path, context))
        return _ABSENT

    def wrong_type(
        self, node: Node, found: str, wanted: str, path: tuple[Step, ...], context: Context
    ) -> Problem:
        owner, stack = context
        where = f"Go struct field {owner}.{'.'.join(stack)}" if owner else "Go value"
        return self.problem(
            f"json: cannot unmarshal {found} into {where} of type {wanted}", node.line, path
        )

    def complain(
        self, member: Member, path: tuple[Step, ...], what: str, known: tuple[str, ...] = ()
    ) -> None:
        message = f"{what} {quote(spell((*path, member.key)))}"
        if len(self.strict) >= MAX_STRICT_ERRORS or any(p.message == message for p in self.strict):
            return
        full = spell((*self.prefix, *path, member.key))
        problem = Problem(message, full, member.line, member.key if known else "", known)
        self.strict.append(problem)
        self.problems.append(problem)

    def problem(self, message: str, line: int, path: tuple[Step, ...]) -> Problem:
        problem = Problem(message, spell((*self.prefix, *path)), line)
        self.problems.append(problem)
        return problem


def spell(path: tuple[Step, ...]) -> str:
    """The path as errors spell it: `profiles[0].plugins`."""
    out = ""
    for step in path:
        if isinstance(step, int):
            out += f"[{step}]"
        else:
            out += f".{step}" if out else step
    return out


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _zero(target: Target) -> Any:
    """What a list holds in the place of an item that is null or does not fit."""
    return target.type()


def _number(text: str, into: Target) -> int | float | None:
    if into.type is float:
        number = float(text)
        try:
            return struct.unpack("<f", struct.pack("<f", number))[0]
        except OverflowError:
            return None
    if not text.lstrip("-").isdecimal() or len(text) > 20:
        return None
    whole, limit = int(text), 1 << (_BITS[into.name] - 1)
    return whole if -limit <= whole < limit else None
