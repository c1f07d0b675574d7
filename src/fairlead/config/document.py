"""The text of a configuration as a tree of JSON values that know where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from fairlead.config.golang import quote_json

Kind = Literal["null", "bool", "number", "string", "array", "object"]
Step = str | int


class Member(msgspec.Struct, frozen=True):
    """One field of an object."""

    key: str
    value: Node
    line: int


class Node(msgspec.Struct, frozen=True):
    """One JSON value.

    Numbers keep their spelling, since Go's errors repeat it, and objects keep doubled keys, since
    strict decoding refuses them.
    """

    kind: Kind
    line: int
    text: str = ""
    """The spelling of a number or bool; the content of a string."""
    items: tuple[Node, ...] = ()
    members: tuple[Member, ...] = ()
    source: bytes = b""
    """The very text of an object, if it was read from JSON."""

    def find(self, path: Sequence[Step]) -> Node | None:
        """The value at the path; None where there is none."""
        node: Node | None = self
        for step in path:
            found = node._member(step) if node is not None else None
            node = found[1] if found else None
        return node

    def line_of(self, path: Sequence[Step]) -> int:
        """The line where the path begins, or where the longest part of it that exists does."""
        node, line = self, self.line
        for step in path:
            found = node._member(step)
            if found is None:
                break
            line, node = found
        return line

    def _member(self, step: Step) -> tuple[int, Node] | None:
        if isinstance(step, int):
            if self.kind == "array" and step < len(self.items):
                return self.items[step].line, self.items[step]
            return None
        for member in reversed(self.members):
            if member.key == step:
                return member.line, member.value
        return None


def split_path(path: str) -> list[Step]:
    """The steps of a path spelled as in errors: `profiles[0].plugins` has three."""
    steps: list[Step] = []
    for part in path.split("."):
        name, *indices = part.split("[")
        if name:
            steps.append(name)
        for index in indices:
            inner = index.rstrip("]")
            steps.append(int(inner) if inner.isdecimal() else inner)
    return steps


def to_json(node: Node) -> str:
    """The value as compact JSON, in the order of the text."""
    return "".join(_pieces(node))


def raw_json(node: Node) -> bytes:
    """The value as it stands in the text, or as JSON where the text is YAML."""
    return node.source or to_json(node).encode()


def _pieces(node: Node) -> Iterator[str]:
    if node.kind == "string":
        yield quote_json(node.text)
    elif node.kind == "array":
        yield "["
        for i, item in enumerate(node.items):
            yield "," if i else ""
            yield from _pieces(item)
        yield "]"
    elif node.kind == "object":
        yield "{"
        for i, member in enumerate(node.members):
            yield ("," if i else "") + quote_json(member.key) + ":"
            yield from _pieces(member.value)
        yield "}"
    else:
        yield "null" if node.kind == "null" else node.text
