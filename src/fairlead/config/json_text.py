"""Reads JSON as Go's `encoding/json` does, with its error texts."""

from __future__ import annotations

import re
from typing import Final

from fairlead.config.document import Member, Node
from fairlead.config.golang import quote

MAX_DEPTH: Final = 120
"""Nesting beyond this is refused; Go's own limit is 10,000, more than Python's stack can hold."""

_SPACE: Final = b" \t\r\n"
_NUMBER: Final = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_SIMPLE_ESCAPES: Final = {
    ord("b"): "\b",
    ord("f"): "\f",
    ord("n"): "\n",
    ord("r"): "\r",
    ord("t"): "\t",
    ord("\\"): "\\",
    ord("/"): "/",
    ord('"'): '"',
}


class JSONError(ValueError):
    """The text is not JSON; `line` is where it stops being it."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


def looks_like_json(data: bytes) -> bool:
    """Whether the text is taken for JSON: it begins with a brace, whatever follows."""
    return data.decode("utf-8", "replace").lstrip().startswith("{")


def read_json(data: bytes) -> Node:
    """The value of the text; raises JSONError with the words of `encoding/json`."""
    reader = _Reader(data)
    node = reader.value(0)
    reader.skip_space()
    if reader.at < len(data):
        raise reader.unexpected("after top-level value")
    return node


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self._counted = 0
        self._line = 1

    @property
    def line(self) -> int:
        """The line of the current place; places are only ever asked for in their order."""
        self._line += self.data.count(b"\n", self._counted, self.at)
        self._counted = max(self._counted, self.at)
        return self._line

    def skip_space(self) -> None:
        while self.at < len(self.data) and self.data[self.at] in _SPACE:
            self.at += 1

    def unexpected(self, context: str, *, literal: bool = False) -> JSONError:
        """The error for the current byte. At the end of a literal, Go reads one more blank."""
        if self.at >= len(self.data) and not literal:
            return JSONError("unexpected end of JSON input", self.line)
        char = chr(self.data[self.at]) if self.at < len(self.data) else " "
        spelled = {"'": r"\'", '"': '"'}.get(char, quote(char)[1:-1])
        return JSONError(f"invalid character '{spelled}' {context}", self.line)

    def peek(self) -> int:
        return self.data[self.at] if self.at < len(self.data) else -1

    def value(self, depth: int) -> Node:
        self.skip_space()
        line = self.line
        char = self.peek()
        if depth > MAX_DEPTH:
            raise JSONError("exceeded max depth", line)
        if char == ord("{"):
            return self.object(depth, line)
        if char == ord("["):
            return self.array(depth, line)
        if char == ord('"'):
            return Node("string", line, self.string())
        for word in (b"true", b"false"):
            if char == word[0]:
                return Node("bool", line, self.word(word))
        if char == ord("n"):
            self.word(b"null")
            return Node("null", line)
        if char == ord("-") or 0x30 <= char <= 0x39:
            return Node("number", line, self.number())
        raise self.unexpected("looking for beginning of value")

    def object(self, depth: int, line: int) -> Node:
        start = self.at
        self.at += 1
        members: list[Member] = []
        self.skip_space()
        if self.peek() == ord("}"):
            self.at += 1
            return Node("object", line, source=self.data[start : self.at])
        while True:
            self.skip_space()
            if self.peek() != ord('"'):
                raise self.unexpected("looking for beginning of object key string")
            key_line = self.line
            key = self.string()
            self.skip_space()
            if self.peek() != ord(":"):
                raise self.unexpected("after object key")
            self.at += 1
            members.append(Member(key, self.value(depth + 1), key_line))
            self.skip_space()
            if self.peek() == ord("}"):
                self.at += 1
                source = self.data[start : self.at]
                return Node("object", line, members=tuple(members), source=source)
            if self.peek() != ord(","):
                raise self.unexpected("after object key:value pair")
            self.at += 1

    def array(self, depth: int, line: int) -> Node:
        self.at += 1
        items: list[Node] = []
        self.skip_space()
        if self.peek() == ord("]"):
            self.at += 1
            return Node("array", line)
        while True:
            items.append(self.value(depth + 1))
            self.skip_space()
            if self.peek() == ord("]"):
                self.at += 1
                return Node("array", line, items=tuple(items))
            if self.peek() != ord(","):
                raise self.unexpected("after array element")
            self.at += 1

    def word(self, word: bytes) -> str:
        self.at += 1
        for expected in word[1:]:
            if self.peek() != expected:
                context = f"in literal {word.decode()} (expecting '{chr(expected)}')"
                raise self.unexpected(context, literal=True)
            self.at += 1
        return word.decode()

    def number(self) -> str:
        found = _NUMBER.match(self.data, self.at)
        if found is None:
            self.at += 1
            raise self.unexpected("in numeric literal", literal=True)
        start, self.at = self.at, found.end()
        rest = self.data[self.at : self.at + 2]
        has_fraction, has_exponent = found.group(2), found.group(3)
        if rest[:1] == b"." and not has_fraction and not has_exponent:
            self.at += 1
            raise self.unexpected("after decimal point in numeric literal", literal=True)
        if rest[:1] in (b"e", b"E") and not has_exponent:
            self.at += 2 if rest[1:] in (b"+", b"-") else 1
            raise self.unexpected("in exponent of numeric literal", literal=True)
        return self.data[start : self.at].decode()

    def string(self) -> str:
        self.at += 1
        parts: list[str] = []
        while True:
            found = _PLAIN.match(self.data, self.at)
            assert found is not None
            parts.append(found.group().decode("utf-8", "replace"))
            self.at = found.end()
            char = self.peek()
            if char == ord('"'):
                self.at += 1
                text = "".join(parts)
                return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            if char != ord("\\"):
                raise self.unexpected("in string literal")
            self.at += 1
            parts.append(self.escape())

    def escape(self) -> str:
        char = self.peek()
        if char in _SIMPLE_ESCAPES:
            self.at += 1
            return _SIMPLE_ESCAPES[char]
        if char != ord("u"):
            raise self.unexpected("in string escape code", literal=True)
        self.at += 1
        start = self.at
        for _ in range(4):
            if self.peek() < 0 or self.peek() not in b"0123456789abcdefABCDEF":
                raise self.unexpected("in \\u hexadecimal character escape", literal=True)
            self.at += 1
        return chr(int(self.data[start : self.at], 16))
