"""Quantities against exact fractions."""

import math
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from fairlead.model.errors import DecodeError
from fairlead.model.quantity import Quantity, parse_quantity

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
EXPONENTS = {f"{e}{sign}{n}": Fraction(10) ** (-n if sign == "-" else n)
             for e in "eE" for sign in ("", "+", "-") for n in range(12)}  # fmt: skip
UNITS = {**SUFFIXES, **EXPONENTS}
DIGITS = st.text("0123456789", max_size=8)


@st.composite
def spelt(draw: st.DrawFn) -> tuple[str, Fraction]:
    sign, whole, fraction = draw(st.sampled_from(["", "+", "-"])), draw(DIGITS), draw(DIGITS)
    unit = draw(st.sampled_from(sorted(UNITS)))
    assume(whole or fraction)
    point = "." if fraction or draw(st.booleans()) else ""
    exact = Fraction(int((whole + fraction) or "0"), 10 ** len(fraction)) * UNITS[unit]
    return f"{sign}{whole}{point}{fraction}{unit}", -exact if sign == "-" else exact


def away_from_zero(number: Fraction) -> int:
    return math.ceil(number) if number > 0 else math.floor(number)


def represented(exact: Fraction) -> Fraction:
    """What is finer than a billionth is rounded away from zero."""
    return Fraction(away_from_zero(exact * 10**9), 10**9)


@given(spelt())
def test_values_are_the_exact_ones_rounded_away_from_zero(case: tuple[str, Fraction]) -> None:
    text, exact = case
    quantity = parse_quantity(text)
    assume(abs(exact) * 10**12 < 2**63 and (exact >= 0 or not quantity.wide))
    assert quantity.value() == away_from_zero(represented(exact))
    assert quantity.milli_value() == away_from_zero(represented(exact) * 1000)


@given(spelt(), spelt())
def test_sums_and_order_are_exact(one: tuple[str, Fraction], two: tuple[str, Fraction]) -> None:
    assume(abs(one[1]) < 2**62 and abs(two[1]) < 2**62)
    a, b = parse_quantity(one[0]), parse_quantity(two[0])
    x, y = represented(one[1]), represented(two[1])
    total = a + b
    assert Fraction(total.unscaled) * Fraction(10) ** total.scale == x + y
    assert a.compare(b) == (x > y) - (x < y)
    assert (a == b) == (x == y)
    assert a != b or hash(a) == hash(b)


def read(text: str | float) -> Quantity | str:
    try:
        return parse_quantity(text)
    except DecodeError as error:
        return str(error)


@given(st.text("0123456789.+-eEinumkKMGTP \u0663x_", max_size=12))
def test_any_text_is_a_quantity_or_one_error(text: str) -> None:
    found = read(text)
    if isinstance(found, Quantity):
        for amount in (found.value(), found.milli_value()):
            assert -(2**63) <= amount < 2**63
    else:
        assert "\n" not in found


@given(st.integers() | st.floats())
def test_any_number_is_a_quantity_or_one_error(number: float) -> None:
    found = read(number)
    assert isinstance(found, Quantity) or "\n" not in found
