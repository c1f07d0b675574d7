"""Reads YAML as sigs.k8s.io/yaml does: with libyaml's grammar, Go's typing, and their error texts.

The result is what the YAML means as JSON, keys in alphabetical order, since that is what the rest
of the decoding sees. Only the first document of a text counts.

The grammar is libyaml's, as PyYAML's wheels bring it. Where PyYAML was built without it, its own
parser takes the place: it accepts the same files, but words some syntax errors otherwise.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from fairlead.config.document import Member, Node
from fairlead.config.golang import MAX_INT64, format_float
from fairlead.config.yaml_nodes import MAX_DEPTH, YamlNode, parse
from fairlead.config.yaml_scalars import (
    BINARY,
    MERGE,
    TIMESTAMP,
    Scalar,
    YAMLError,
    go_syntax,
    key_text,
    resolve,
)

_ALIAS_RATIO: Final = 0.99
_WANT_MAP: Final = "yaml: map merge requires map or sequence of maps as the value"

Key = tuple[type, Scalar]


class _Map(msgspec.Struct):
    line: int
    entries: dict[Key, tuple[Scalar, int, _Value]] = msgspec.field(default_factory=dict)


class _List(msgspec.Struct):
    line: int
    items: list[_Value] = msgspec.field(default_factory=list)


class _Leaf(msgspec.Struct):
    line: int
    value: Scalar


_Value = _Map | _List | _Leaf


class YamlDocument(msgspec.Struct, frozen=True):
    """What a YAML text holds, and which of its keys are set twice."""

    root: Node
    doubled: tuple[tuple[int, str], ...]
    """The line of each doubled key, and the complaint about it."""


def read_yaml(data: bytes) -> YamlDocument:
    """The first document of the text; raises YAMLError with the words of Go's yaml."""
    tree = parse(data)
    if tree is None:
        return YamlDocument(Node("null", 1), ())
    decoder = _Decoder()
    value = decoder.value(tree)
    return YamlDocument(_to_node(value), tuple(decoder.doubled))


class _Decoder:
    """Turns the tree of the text into values: resolves scalars, follows aliases, merges maps."""

    def __init__(self) -> None:
        self.doubled: list[tuple[int, str]] = []
        self._open: set[int] = set()
        self._decoded = 0
        self._aliased = 0
        self._aliases = 0
        self._level = 0

    def value(self, node: YamlNode) -> _Value:
        self._enter(node)
        value = self._value(node)
        self._level -= 1
        return value

    def _enter(self, node: YamlNode) -> None:
        """Refuses nesting that Python's stack would not survive: aliases nest without end."""
        self._level += 1
        if self._level > MAX_DEPTH:
            raise YAMLError(f"yaml: exceeded max depth of {MAX_DEPTH}", node.line)

    def _value(self, node: YamlNode) -> _Value:
        self._count()
        if node.kind == "alias":
            return self._alias(node, None)
        if node.kind == "scalar":
            return _Leaf(node.line, self._scalar(node))
        if node.kind == "sequence":
            return _List(node.line, [self.value(child) for child in node.children])
        return self._mapping(node, _Map(node.line))

    def _count(self) -> None:
        """Refuses texts that blow up by aliases of aliases."""
        self._decoded += 1
        if self._aliases:
            self._aliased += 1
        if self._aliased > 100 and self._decoded > 1000:  # noqa: SIM102
            if self._aliased / self._decoded > _allowed_ratio(self._decoded):
                raise YAMLError("yaml: document contains excessive aliasing")

    def _alias(self, node: YamlNode, into: _Map | None) -> _Value:
        if id(node) in self._open:
            raise YAMLError(f"yaml: anchor '{node.value}' value contains itself", node.line)
        assert node.target is not None
        self._open.add(id(node))
        self._enter(node)
        self._aliases += 1
        if into is None:
            value = self.value(node.target)
        else:
            self._count()
            value = self._mapping(node.target, into)
        self._aliases -= 1
        self._level -= 1
        self._open.discard(id(node))
        return value

    def _scalar(self, node: YamlNode) -> Scalar:
        if not node.tag and not node.implicit:
            return node.value
        tag, value = resolve(node.tag, node.value)
        if tag == TIMESTAMP:
            return node.value
        return value if tag != BINARY else str(value)

    def _mapping(self, node: YamlNode, into: _Map) -> _Map:
        for key_node, value_node in zip(node.children[::2], node.children[1::2], strict=True):
            if _is_merge(key_node):
                self._merge(value_node, into)
                continue
            key = self.value(key_node)
            if not isinstance(key, _Leaf):
                raise YAMLError(f"yaml: invalid map key: {_go_syntax(key)}", key_node.line)
            value = self.value(value_node)
            identity: Key = (type(key.value), key.value)
            if identity in into.entries:
                self.doubled.append(
                    (value_node.line, f"key {go_syntax(key.value)} already set in map")
                )
            into.entries[identity] = (key.value, key_node.line, value)
        return into

    def _merge(self, node: YamlNode, into: _Map) -> None:
        sources = [node]
        if node.kind == "sequence":
            # Later maps are read first, so that earlier ones overrule them.
            sources = list(reversed(node.children))
        for source in sources:
            target = source.target if source.kind == "alias" else source
            if target is None or target.kind != "mapping":
                raise YAMLError(_WANT_MAP, source.line)
            self._count()
            if source.kind == "alias":
                self._alias(source, into)
            else:
                self._mapping(source, into)


def _allowed_ratio(decoded: int) -> float:
    """What part of a document may come from aliases: less of a large one."""
    low, high = 400_000, 4_000_000
    if decoded <= low:
        return _ALIAS_RATIO
    if decoded >= high:
        return 0.10
    return _ALIAS_RATIO - 0.89 * (decoded - low) / (high - low)


def _is_merge(node: YamlNode) -> bool:
    return node.kind == "scalar" and node.value == "<<" and (node.implicit or node.tag == MERGE)


def _to_node(value: _Value) -> Node:
    """The value as JSON; what JSON cannot hold is an error."""
    if isinstance(value, _List):
        return Node("array", value.line, items=tuple(_to_node(item) for item in value.items))
    if isinstance(value, _Leaf):
        return _leaf_node(value)
    members: dict[str, Member] = {}
    for key, line, item in value.entries.values():
        if key is None or (isinstance(key, int) and key > MAX_INT64):
            type_name = "%!s(<nil>)" if key is None else "uint64"
            raise YAMLError(
                f"unsupported map key of type: {type_name}, key: {go_syntax(key)},"
                f" value: {_go_syntax(item)}",
                line,
            )
        text = key_text(key)
        members[text] = Member(text, _to_node(item), line)
    ordered = tuple(members[key] for key in sorted(members))
    return Node("object", value.line, members=ordered)


def _leaf_node(leaf: _Leaf) -> Node:
    value = leaf.value
    if value is None:
        return Node("null", leaf.line)
    if isinstance(value, bool):
        return Node("bool", leaf.line, "true" if value else "false")
    if isinstance(value, int):
        return Node("number", leaf.line, str(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            shown = {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
            raise YAMLError(f"json: unsupported value: {shown}", leaf.line)
        return Node("number", leaf.line, format_float(value))
    return Node("string", leaf.line, value)


def _go_syntax(value: _Value, *, outer: bool = True) -> str:
    if isinstance(value, _Leaf):
        if value.value is None and not outer:
            return "interface {}(nil)"
        return go_syntax(value.value)
    if isinstance(value, _List):
        items = ", ".join(_go_syntax(item, outer=False) for item in value.items)
        return f"[]interface {{}}{{{items}}}"
    pairs = ", ".join(
        f"{go_syntax(key)}:{_go_syntax(item, outer=False)}"
        for key, _, item in sorted(value.entries.values(), key=lambda entry: str(entry[0]))
    )
    return f"map[interface {{}}]interface {{}}{{{pairs}}}"
