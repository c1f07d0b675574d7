"""What a YAML scalar means, by the rules of Go's yaml.v2: YAML 1.1 with its traps.

`yes`, `on` and `y` are true, `0o17`, `0x1F` and `1_000` are numbers, a date stays text.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import math
import re
from typing import Final

from fairlead.config.golang import MAX_INT64, MIN_INT64, format_float_general, quote

Scalar = None | bool | int | float | str

_LONG: Final = "tag:yaml.org,2002:"
STR: Final = _LONG + "str"
BOOL: Final = _LONG + "bool"
INT: Final = _LONG + "int"
FLOAT: Final = _LONG + "float"
NULL: Final = _LONG + "null"
TIMESTAMP: Final = _LONG + "timestamp"
BINARY: Final = _LONG + "binary"
MERGE: Final = _LONG + "merge"
_RESOLVABLE: Final = frozenset({"", STR, BOOL, INT, FLOAT, NULL, TIMESTAMP})

_WORDS: Final[dict[str, tuple[str, Scalar]]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), (BOOL, True)),
    **dict.fromkeys(("on", "On", "ON"), (BOOL, True)),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), (BOOL, False)),
    **dict.fromkeys(("off", "Off", "OFF"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (FLOAT, math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, -math.inf)),
    "<<": (MERGE, "<<"),
}
_DIGITS: Final = {
    16: re.compile(r"0[xX]([0-9a-fA-F]+)"),
    8: re.compile(r"0[oO]?([0-7]+)"),
    2: re.compile(r"0[bB]([01]+)"),
    10: re.compile(r"(0|[1-9][0-9]*)"),
}
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DATE: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?P<sep>[Tt ])([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})([.,][0-9]+)?"
    r"(?P<zone>Z|[-+][0-9]{2}:[0-9]{2})?)?"
)


class YAMLError(ValueError):
    """The text is not YAML, or YAML that cannot become JSON; `line` is 0 if not known."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line


def short_tag(tag: str) -> str:
    return "!!" + tag.removeprefix(_LONG) if tag.startswith(_LONG) else tag


def resolve(tag: str, text: str) -> tuple[str, Scalar]:
    """The tag and the value of a plain or explicitly tagged scalar."""
    if tag not in _RESOLVABLE:
        if tag == BINARY:
            return tag, _binary(text)
        return tag, text
    found, value = (STR, text) if tag == STR else _guess(tag, text)
    if tag in ("", STR, found):
        return found, value
    if tag == FLOAT and found == INT and isinstance(value, int) and value <= MAX_INT64:
        return FLOAT, float(value)
    wanted = short_tag(tag)
    raise YAMLError(f"yaml: cannot decode {short_tag(found)} `{text}` as a {wanted}")


def _guess(tag: str, text: str) -> tuple[str, Scalar]:
    """The type that the spelling suggests; the first character decides what is tried."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[:1]
    if first == ".":
        number = _float(text.replace("_", "x"))
        return (STR, text) if number is None else (FLOAT, number)
    if first not in set("+-0123456789"):
        return STR, text
    if tag in ("", TIMESTAMP) and _is_timestamp(text):
        return TIMESTAMP, text
    plain = text.replace("_", "")
    whole = _integer(plain)
    if whole is not None:
        return INT, whole
    number = _float(plain)
    return (STR, text) if number is None else (FLOAT, number)


def _integer(text: str) -> int | None:
    sign = text[:1] if text[:1] in ("+", "-") else ""
    for base, pattern in _DIGITS.items():
        found = pattern.fullmatch(text, len(sign))
        if found:
            value = int(found.group(1), base)
            if sign == "-":
                return -value if -value >= MIN_INT64 else None
            limit = MAX_INT64 if sign == "+" else (1 << 64) - 1
            return value if value <= limit else None
    return None


def _float(text: str) -> float | None:
    if not _FLOAT.fullmatch(text):
        return None
    number = float(text)
    return None if math.isinf(number) else number


def _is_timestamp(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    separator, zone = found.group("sep"), found.group("zone")
    if separator and (separator == " ") == bool(zone):
        return False
    year, month, day, hour, minute, second = (
        int(found.group(group) or 0) for group in (1, 2, 3, 5, 6, 7)
    )
    try:
        datetime.datetime(year or 4, month, day, hour, minute, second, tzinfo=datetime.UTC)
    except ValueError:
        return False
    return True


def _binary(text: str) -> str:
    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        raise YAMLError("yaml: !!binary value contains invalid base64 data") from None
    return data.decode("utf-8", "replace")


def key_text(value: Scalar) -> str:
    """How a key that is no text is spelled in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = format_float_general(value, single=True)
        return {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}.get(text, text)
    return str(value)


def go_syntax(value: Scalar) -> str:
    """The value as a Go program would write it (`%#v`)."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_float_general(value)
    if isinstance(value, int):
        return str(value) if value <= MAX_INT64 else hex(value)
    return quote(value)
