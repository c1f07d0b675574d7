"""Parses YAML text into a tree of nodes, with the syntax errors of Go's yaml.v2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec
import yaml
from yaml import events
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from fairlead.config.yaml_scalars import YAMLError

MAX_DEPTH: Final = 120
"""Nesting beyond this is refused, before Python's stack ends."""


class YamlNode(msgspec.Struct):
    """One node of the text, before its scalars are given a type."""

    kind: Literal["scalar", "sequence", "mapping", "alias"]
    line: int
    value: str = ""
    tag: str = ""
    implicit: bool = False
    children: list[YamlNode] = msgspec.field(default_factory=list)
    """The items; or keys and values by turns."""
    target: YamlNode | None = None
    """What an alias stands for."""


def parse(data: bytes) -> YamlNode | None:
    """The first document of the text; None if there is none."""
    return _Composer(_stream(data)).document()


def _stream(data: bytes) -> Iterator[events.Event]:
    loader: Any = None
    try:
        loader = yaml.CBaseLoader(data) if yaml.__with_libyaml__ else yaml.BaseLoader(data)
        while loader.check_event():
            yield loader.get_event()
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error) from None
    except ReaderError as error:
        raise YAMLError(f"yaml: {error.reason}") from None
    finally:
        if loader is not None:
            loader.dispose()


def _syntax_error(error: yaml.MarkedYAMLError) -> YAMLError:
    """The error as Go words it: its line is one too low if the parser found it, not the scanner."""
    line = shown = 0
    if error.problem_mark is not None:
        line = error.problem_mark.line + 1
        scanned = isinstance(error, ScannerError)
        shown = error.problem_mark.line + 1 if scanned else error.problem_mark.line
        if not error.problem_mark.line:
            shown = 0
    if not shown and error.context_mark is not None:
        shown = error.context_mark.line
    where = f"line {shown}: " if shown else ""
    return YAMLError(f"yaml: {where}{error.problem}", line)


class _Composer:
    def __init__(self, stream: Iterator[events.Event]) -> None:
        self.stream = stream
        self.anchors: dict[str, YamlNode] = {}

    def document(self) -> YamlNode | None:
        for event in self.stream:
            if isinstance(event, events.DocumentStartEvent):
                node = self.node(next(self.stream), 0)
                next(self.stream)
                return node
        return None

    def node(self, event: events.Event, depth: int, end: str = "") -> YamlNode:
        """The node that begins with the event; `end` closes the brackets it stands in, if any."""
        line = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise YAMLError(f"yaml: exceeded max depth of {MAX_DEPTH}", line)
        if isinstance(event, events.AliasEvent):
            return self.alias(event, line)
        if isinstance(event, events.ScalarEvent):
            plain = event.implicit[0]
            if end and plain and not event.style and "?" in event.value:
                # Go's older grammar ends a plain text within brackets at a question mark.
                where = f"line {line - 1}: " if line > 1 else ""
                raise YAMLError(f"yaml: {where}did not find expected ',' or '{end}'", line)
            node = YamlNode("scalar", line, event.value, event.tag or "", plain)
            self.remember(event.anchor, node)
            return node
        assert isinstance(event, events.CollectionStartEvent)
        kind = "mapping" if isinstance(event, events.MappingStartEvent) else "sequence"
        node = YamlNode(kind, line)
        self.remember(event.anchor, node)
        inner = {"mapping": "}", "sequence": "]"}[kind] if event.flow_style else ""
        for child in self.stream:
            if isinstance(child, events.CollectionEndEvent):
                break
            node.children.append(self.node(child, depth + 1, inner))
        return node

    def alias(self, event: events.AliasEvent, line: int) -> YamlNode:
        target = self.anchors.get(event.anchor)
        if target is None:
            raise YAMLError(f"yaml: unknown anchor '{event.anchor}' referenced", line)
        return YamlNode("alias", line, event.anchor, target=target)

    def remember(self, anchor: str | None, node: YamlNode) -> None:
        if anchor is not None:
            self.anchors[anchor] = node
