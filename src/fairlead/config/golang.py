"""Go's own spellings: quoting, numbers, durations and base64, as its error texts need them.

An operator who moves between schedulers greps for the same words, so they are made by Go's rules
and not by Python's, which differ in small things (`repr` quotes otherwise, `1e+21` is spelled
otherwise, a duration has no spelling at all).
"""

from __future__ import annotations

import base64
import math
import re
import struct
from decimal import Decimal
from typing import Final

import msgspec

_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_JSON_ESCAPES: Final = {
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\\": "\\\\",
    '"': '\\"',
}
_VERB: Final = re.compile(r"%[-+ #0]*\d*(?:\.\d*)?(?P<verb>.)?", re.DOTALL)
MAX_INT64: Final = (1 << 63) - 1
MIN_INT64: Final = -(1 << 63)
NANOSECOND_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


class Duration(msgspec.Struct, frozen=True, order=True):
    """A length of time in whole nanoseconds, which `str()` spells as Go does (`1m30s`)."""

    nanoseconds: int

    @property
    def seconds(self) -> float:
        return self.nanoseconds / 10**9

    @classmethod
    def of(cls, seconds: int) -> Duration:
        return cls(seconds * 10**9)

    def __str__(self) -> str:
        return _format_duration(self.nanoseconds)


def quote(text: str) -> str:
    """The text between double quotes, escaped as by `strconv.Quote`."""
    out: list[str] = []
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        elif char < " " or char == "\x7f":
            out.append(f"\\x{ord(char):02x}")
        else:
            out.append(f"\\u{ord(char):04x}" if ord(char) < 1 << 16 else f"\\U{ord(char):08x}")
    return '"' + "".join(out) + '"'


def quote_json(text: str) -> str:
    """The text as a JSON string, escaped as by `json.Marshal` (which escapes HTML too)."""
    out: list[str] = []
    for char in text:
        if char in _JSON_ESCAPES:
            out.append(_JSON_ESCAPES[char])
        elif char < " " or char in "<>&\u2028\u2029":
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def format_float(number: float) -> str:
    """The number as `json.Marshal` writes it: without an exponent from 1e-6 up to 1e21."""
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    digits, exponent = _shortest(number)
    sign = "-" if number < 0 else ""
    if 1e-6 <= abs(number) < 1e21:
        return sign + _positional(digits, exponent)
    return sign + _scientific(digits, exponent).replace("e-0", "e-")


def format_float_general(number: float, *, single: bool = False) -> str:
    """The number as `%g` prints it: with an exponent below 1e-4 and from 1e6 up."""
    if math.isnan(number):
        return "NaN"
    number = _single_precision(number) if single else number
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    if number == 0:
        return "0"
    digits, exponent = _shortest(number)
    sign = "-" if number < 0 else ""
    if -4 <= exponent < 6:
        return sign + _positional(digits, exponent)
    return sign + _scientific(digits, exponent)


def parse_duration(text: str) -> Duration:
    """Reads a duration such as `1h15m30.5s`; raises ValueError in the words of `time`."""
    rest = text
    negative = rest.startswith("-")
    if rest[:1] in ("+", "-"):
        rest = rest[1:]
    if rest == "0":
        return Duration(0)
    if not rest:
        raise ValueError(f"time: invalid duration {_quote_time(text)}")
    total = 0
    while rest:
        found = re.match(r"([0-9]*)(?:(\.)([0-9]*))?", rest)
        assert found is not None
        whole, dot, fraction = found.group(1), found.group(2), found.group(3) or ""
        if not whole and not fraction:
            raise ValueError(f"time: invalid duration {_quote_time(text)}")
        rest = rest[found.end() :]
        unit_match = re.match(r"[^.0-9]+", rest)
        if unit_match is None:
            raise ValueError(f"time: missing unit in duration {_quote_time(text)}")
        unit = unit_match.group()
        if unit not in NANOSECOND_UNITS:
            raise ValueError(
                f"time: unknown unit {_quote_time(unit)} in duration {_quote_time(text)}"
            )
        rest = rest[unit_match.end() :]
        total += int(whole or "0") * NANOSECOND_UNITS[unit]
        if dot and fraction:
            total += int(int(fraction) * (NANOSECOND_UNITS[unit] / 10 ** len(fraction)))
        if total > 1 << 63:
            raise ValueError(f"time: invalid duration {_quote_time(text)}")
    if total > MAX_INT64 and not negative:
        raise ValueError(f"time: invalid duration {_quote_time(text)}")
    return Duration(-total if negative else total)


def decode_base64(text: str) -> bytes:
    """Reads standard base64, ignoring line ends; raises ValueError with the place of the fault."""
    data = text.encode()
    at = 0
    out: list[bytes] = []
    while at < len(data):
        at = _quantum(data, at, out)
    return base64.b64decode(b"".join(out))


def _quantum(data: bytes, at: int, out: list[bytes]) -> int:
    """Reads four characters from `at` on into `out`, and returns where the next ones begin."""
    count = 0
    group = b""
    while count < 4:
        if at == len(data):
            if count == 0:
                return at
            raise _corrupt(at - count)
        char = data[at : at + 1]
        at += 1
        if char in (b"\n", b"\r"):
            continue
        if char == b"=":
            if count < 2:
                raise _corrupt(at - 1)
            at = _padding(data, at, count)
            out.append(group.ljust(4, b"="))
            return at
        if not (char.isalnum() or char in b"+/"):
            raise _corrupt(at - 1)
        group += char
        count += 1
    out.append(group)
    return at


def _padding(data: bytes, at: int, count: int) -> int:
    at = _skip_line_ends(data, at)
    if count == 2:
        if at == len(data):
            raise _corrupt(len(data))
        if data[at : at + 1] != b"=":
            raise _corrupt(at - 1)
        at = _skip_line_ends(data, at + 1)
    if at < len(data):
        raise _corrupt(at)
    return at


def _skip_line_ends(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in b"\r\n":
        at += 1
    return at


def _corrupt(at: int) -> ValueError:
    return ValueError(f"illegal base64 data at input byte {at}")


def _quote_time(text: str) -> str:
    """How the package `time` quotes: what is not plain ASCII is given byte by byte."""
    out: list[str] = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char < " " or ord(char) >= 0x80:
            out.extend(f"\\x{byte:02x}" for byte in char.encode())
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def _format_duration(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    sign = "-" if nanoseconds < 0 else ""
    rest = abs(nanoseconds)
    if rest < 10**9:
        for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
            if rest < size * 1000:
                return sign + _decimal(rest, size) + unit
    minutes, rest = divmod(rest, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = _decimal(rest, 10**9) + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    fraction = str(rest).rjust(len(str(size)) - 1, "0").rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


def _shortest(number: float) -> tuple[str, int]:
    """The fewest digits that give the number back, and its decimal exponent."""
    _, digits, exponent = Decimal(repr(abs(number))).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    leading = len(text) - len(text.lstrip("0"))
    return text.strip("0") or "0", len(text) - leading + exponent - 1


def _single_precision(number: float) -> float:
    """The shortest decimal number that rounds to the same 32-bit float; that may be infinite."""
    try:
        wanted = struct.pack("<f", number)
    except OverflowError:
        return math.copysign(math.inf, number)
    exact: float = struct.unpack("<f", wanted)[0]
    for places in range(9):
        candidate = float(f"{exact:.{places}e}")
        if struct.pack("<f", candidate) == wanted:
            return candidate
    return exact


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    if len(digits) <= exponent + 1:
        return digits + "0" * (exponent + 1 - len(digits))
    return digits[: exponent + 1] + "." + digits[exponent + 1 :]


def _scientific(digits: str, exponent: int) -> str:
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def as_format(text: str) -> str:
    """The text as Go prints it when it is taken for a format without operands.

    Whatever follows a percent sign is a verb there, whose operand is missing.
    """
    return _VERB.sub(_without_operand, text)


def _without_operand(found: re.Match[str]) -> str:
    verb = found["verb"]
    if verb is None:
        return "%!(NOVERB)"
    return "%" if verb == "%" else f"%!{verb}(MISSING)"
