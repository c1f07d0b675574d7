"""Quantities, checked against pairs that apimachinery itself has answered."""

import json
from pathlib import Path

import pytest

from fairlead.model.errors import DecodeError
from fairlead.model.quantities import add, raise_to
from fairlead.model.quantity import Quantity, int_value, milli_value, parse_quantity

ANSWERS = json.loads((Path(__file__).parent / "quantities.json").read_text())


def test_every_spelling_reads_as_in_go() -> None:
    wrong = []
    for text, value, milli in ANSWERS:
        try:
            quantity = parse_quantity(text)
            got = [quantity.value(), quantity.milli_value()]
        except DecodeError:
            got = [None, None]
        if got != [value, milli]:
            wrong.append((text, got, [value, milli]))
    assert wrong == []
    assert len(ANSWERS) > 800


def test_units_are_rounded_up() -> None:
    assert milli_value("0.1m") == 1
    assert int_value("1500m") == 2
    assert int_value("-1500m") == -2
    assert milli_value(2) == 2000
    assert milli_value(0.25) == 250


def test_sums_are_exact_before_they_are_rounded() -> None:
    half = parse_quantity("500u")
    assert (half + half).milli_value() == 1
    assert (half + half + half).milli_value() == 2
    assert (parse_quantity("1.5Ki") + parse_quantity("0.5")).value() == 1537


def test_quantities_of_one_worth_are_equal() -> None:
    assert parse_quantity("1000m") == parse_quantity("1")
    assert hash(parse_quantity("1Ki")) == hash(parse_quantity("1024"))
    assert parse_quantity("1Ki").compare(parse_quantity("1k")) == 1
    assert parse_quantity("1") != "1"
    assert repr(parse_quantity("1500m")) == "Quantity(15e-1)"
    assert Quantity(0).value() == 0


@pytest.mark.parametrize(
    "text",
    ["1e999999999", "-1e999999999", "1e99999999999999999999", "9" * 100_000],
)
def test_huge_numbers_are_refused_before_anything_is_computed(text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        parse_quantity(text)
    assert len(str(caught.value)) < 200


def test_the_smallest_amount_is_a_billionth() -> None:
    tiny = parse_quantity("1e-999999999")
    assert tiny == parse_quantity("1n")
    assert tiny.value() == 1


def test_an_error_is_one_short_line() -> None:
    with pytest.raises(DecodeError, match="quantity '1x'") as caught:
        parse_quantity("1x")
    assert "\n" not in str(caught.value)
    with pytest.raises(DecodeError):
        parse_quantity(float("nan"))


def test_beyond_64_bits_the_way_of_keeping_decides_as_in_go() -> None:
    narrow = parse_quantity("10E")
    assert (narrow.wide, narrow.value()) == (False, 0)
    largest = {"memory": parse_quantity("100Ti")}
    assert largest["memory"].wide
    raise_to(largest, {"memory": narrow})
    assert largest["memory"].value() == 10**19 - 2**64
    add(largest, {"memory": parse_quantity("1"), "cpu": parse_quantity("1m")})
    assert largest["memory"].value() == 10**19 + 1 - 2**64
    assert largest["cpu"].milli_value() == 1
