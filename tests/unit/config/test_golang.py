"""Go's spellings, against what Go prints."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.config.golang import (
    Duration,
    decode_base64,
    format_float,
    format_float_general,
    parse_duration,
    quote,
    quote_json,
)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("a", '"a"'),
        ('a"b\\', r'"a\"b\\"'),
        ("\n\t\x00\x7f", r'"\n\t\x00\x7f"'),
        ("é<&>", '"é<&>"'),
        ("\u2028\ufeff", r'"\u2028\ufeff"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_quoting(text: str, spelled: str) -> None:
    assert quote(text) == spelled


def test_json_escapes_what_html_would_misread() -> None:
    assert quote_json('<a&b>"\u2028\x01\x7f') == r'"\u003ca\u0026b\u003e\"\u2028\u0001' + '\x7f"'


@pytest.mark.parametrize(
    ("text", "nanoseconds", "spelled"),
    [
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("10s", 10 * 10**9, "10s"),
        ("-5s", -5 * 10**9, "-5s"),
        ("1h15m30.918s", 4530918 * 10**6, "1h15m30.918s"),
        ("600s", 600 * 10**9, "10m0s"),
        (".5h", 1800 * 10**9, "30m0s"),
        ("1.s", 10**9, "1s"),
        ("1500us", 1500 * 10**3, "1.5ms"),
        ("1µs", 10**3, "1µs"),
        ("1ns", 1, "1ns"),
        ("+1h", 3600 * 10**9, "1h0m0s"),
    ],
)
def test_durations(text: str, nanoseconds: int, spelled: str) -> None:
    found = parse_duration(text)
    assert str(found) == spelled
    assert found.nanoseconds == nanoseconds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("1h1", 'time: missing unit in duration "1h1"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("s", 'time: invalid duration "s"'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("1é", r'time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9"'),
        ("9999999999h", 'time: invalid duration "9999999999h"'),
    ],
)
def test_what_is_no_duration(text: str, words: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        parse_duration(text)
    assert str(raised.value) == words


@given(st.integers(-(1 << 62), 1 << 62))
def test_a_duration_is_read_as_it_is_spelled(nanoseconds: int) -> None:
    duration = Duration(nanoseconds)
    read = parse_duration(str(duration)).nanoseconds
    assert abs(read - nanoseconds) <= 1  # Go scales the fraction in floating point


@pytest.mark.parametrize(
    ("number", "as_json", "general"),
    [
        (10.0, "10", "10"),
        (1.5, "1.5", "1.5"),
        (1e20, "100000000000000000000", "1e+20"),
        (1e21, "1e+21", "1e+21"),
        (1e-6, "0.000001", "1e-06"),
        (1e-7, "1e-7", "1e-07"),
        (-0.1, "-0.1", "-0.1"),
        (123456789.0, "123456789", "1.23456789e+08"),
        (0.0, "0", "0"),
    ],
)
def test_floats(number: float, as_json: str, general: str) -> None:
    assert format_float(number) == as_json
    assert format_float_general(number) == general


def test_a_float_of_32_bits_may_be_infinite() -> None:
    assert format_float_general(1e40, single=True) == "+Inf"
    assert format_float_general(1e-50, single=True) == "0"
    assert format_float_general(0.1, single=True) == "0.1"


@given(st.binary())
def test_base64_is_read(data: bytes) -> None:
    assert decode_base64(base64.b64encode(data).decode()) == data


@pytest.mark.parametrize(
    ("text", "at"),
    [("a*b=", 1), ("abc", 0), ("a", 0), ("ab=", 3), ("ab=c", 2), ("=", 0), ("YWJjZA==x", 8)],
)
def test_base64_names_the_place(text: str, at: int) -> None:
    with pytest.raises(ValueError, match=f"illegal base64 data at input byte {at}$"):
        decode_base64(text)
