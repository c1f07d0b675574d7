"""Resource quantities as the API server reads them, exact and with Go's rounding."""

import re

from fairlead.model.errors import DecodeError

_SPELLING = re.compile(r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL_SUFFIXES = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

_BARE_BINARY = 40  # "Ti" alone is zero, "Pi" alone is an error

_NANO = -9
_MILLI = -3
_FAST_DIGITS = 18  # a decimal of at most so many digits is kept in an int64
_INT64_MAX = 2**63 - 1
_INT64_MIN = -(2**63)
_ONE_STEP = frozenset({1, 2, 3, 6, 9})
_MASK64 = 2**64 - 1
# Far beyond every number with a meaning, and small enough that its powers cost nothing.
_MAX_DIGITS = 1000


class Quantity:
    """An exact amount, `unscaled * 10**scale`, immutable and compared by its worth.

    Go keeps an amount either in an int64 with a scale or, when that is too small, in a big
    decimal, and the two differ once a result leaves 64 bits: the first gives 0, the second keeps
    the low 64 bits. `wide` remembers which of them Go would use, so that even absurd requests
    get the verdict of kube-scheduler.
    """

    __slots__ = ("scale", "unscaled", "wide")

    unscaled: int
    scale: int
    wide: bool

    def __init__(self, unscaled: int, scale: int = 0, *, wide: bool = False) -> None:
        self.unscaled = unscaled
        self.scale = scale
        self.wide = wide

    def value(self) -> int:
        """The amount in whole units, rounded up (away from zero), as Go's Value."""
        return self._at(0)

    def milli_value(self) -> int:
        """The amount in thousandths, rounded up (away from zero), as Go's MilliValue."""
        return self._at(_MILLI)

    def _at(self, scale: int) -> int:
        if self.unscaled == 0:
            return 0
        up = self.scale - scale
        if self.wide:
            return _wide_at(self.unscaled, up)
        if up >= 0:
            return _narrow_up(self.unscaled, up)
        size, rest = divmod(abs(self.unscaled), 10**-up)
        size += rest > 0
        return size if self.unscaled > 0 else -size

    def __add__(self, other: "Quantity") -> "Quantity":
        """The exact sum, in an int64 as long as Go would keep it there."""
        wide = self.wide or other.wide
        if other.unscaled == 0 and not wide:
            return self
        if self.unscaled == 0 and not wide:
            return other
        scale = min(self.scale, other.scale)
        mine = self.unscaled * 10 ** (self.scale - scale)
        its = other.unscaled * 10 ** (other.scale - scale)
        total = mine + its
        if not wide:
            wide = not all(_INT64_MIN <= part <= _INT64_MAX for part in (mine, its, total))
        return Quantity(total, scale, wide=wide)

    def _worth(self) -> tuple[int, int]:
        unscaled, scale = self.unscaled, self.scale
        if unscaled == 0:
            return 0, 0
        while unscaled % 10 == 0:
            unscaled //= 10
            scale += 1
        return unscaled, scale

    def compare(self, other: "Quantity") -> int:
        """-1, 0 or 1 as this amount is less than, equal to or more than the other."""
        scale = min(self.scale, other.scale)
        mine = self.unscaled * 10 ** (self.scale - scale)
        its = other.unscaled * 10 ** (other.scale - scale)
        return (mine > its) - (mine < its)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __hash__(self) -> int:
        return hash(self._worth())

    def __repr__(self) -> str:
        unscaled, scale = self._worth()
        return f"Quantity({unscaled}e{scale})" if scale else f"Quantity({unscaled})"


def _narrow_up(unscaled: int, up: int) -> int:
    """What Go's int64 with a scale gives: one multiplication overflows, a loop of them gives up."""
    result = unscaled * 10**up
    if _INT64_MIN <= result <= _INT64_MAX:
        return result
    return _wrap(result) if up in _ONE_STEP and unscaled != _INT64_MIN else 0


def _wide_at(unscaled: int, up: int) -> int:
    """What Go's big decimal gives: rounding up toward plus infinity in places, 64 bits kept."""
    if up >= 0:
        # A power of ten that is too large for an int64 becomes the smallest one.
        return _wrap(_wrap(unscaled) * (10**up if up < 19 else _INT64_MIN))
    divisor = 10**-up
    if unscaled < _INT64_MAX and -up < 19:
        short = _wrap(unscaled)
        size, rest = divmod(abs(short), divisor)
        return (size if short >= 0 else -size) + (rest > 0)
    return _wrap(-(-unscaled // divisor))


def _wrap(number: int) -> int:
    number &= _MASK64
    return number - 2**64 if number > _INT64_MAX else number


def parse_quantity(text: str | int | float) -> Quantity:
    """Read a quantity in any spelling that the API server accepts, or raise DecodeError.

    A number is read by its own shortest spelling, as in JSON. What is finer than a billionth is
    rounded up to one, and binary amounts end at 2**63-1, both as in Go. An exponent is compared
    before anything is computed, so that `1e999999999` costs as little as `1`.
    """
    if not isinstance(text, str):
        text = repr(text)
    found = _SPELLING.fullmatch(text)
    if found is None or not text:
        raise DecodeError(
            f"quantity {_shown(text)}: quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    sign, zeros, whole, fraction, suffix = found.groups()
    bare = not (zeros or whole or fraction)  # as in "M" or ".", which Go reads as zero
    whole, fraction = whole or "0", fraction or ""
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise DecodeError(f"quantity {_shown(text)}: more than {_MAX_DIGITS} digits")
    binary = _BINARY_SUFFIXES.get(suffix)
    if binary is not None:
        if bare and binary > _BARE_BINARY:
            raise DecodeError(f"quantity {_shown(text)}: unable to parse numeric part of quantity")
        return _binary(whole, fraction, binary, negative=sign == "-")
    exponent = _exponent(text, suffix)
    if bare and exponent < _NANO:
        raise DecodeError(f"quantity {_shown(text)}: unable to parse numeric part of quantity")
    return _decimal(text, whole, fraction, exponent, negative=sign == "-")


def _exponent(text: str, suffix: str) -> int:
    exponent = _DECIMAL_SUFFIXES.get(suffix)
    if exponent is not None:
        return exponent
    found = _EXPONENT.fullmatch(suffix)
    if found is None:
        raise DecodeError(f"quantity {_shown(text)}: unable to parse quantity's suffix")
    digits = found[1]
    if len(digits.lstrip("+-0")) > 9:
        raise DecodeError(f"quantity {_shown(text)}: exponent out of range")
    return int(digits)


def _decimal(text: str, whole: str, fraction: str, exponent: int, *, negative: bool) -> Quantity:
    unscaled = int(whole + fraction)
    scale = exponent - len(fraction)
    if unscaled == 0:
        return Quantity(0)
    if len(whole) + len(fraction) + scale > _MAX_DIGITS:
        raise DecodeError(f"quantity {_shown(text)}: more than {_MAX_DIGITS} digits")
    wide = len(whole) + len(fraction) > _FAST_DIGITS or scale < _NANO
    if wide:
        unscaled, scale = _to_nano(unscaled, scale), _NANO
    return Quantity(-unscaled if negative else unscaled, scale, wide=wide)


def _to_nano(unscaled: int, scale: int) -> int:
    """The amount in billionths, rounded up; the smallest is one."""
    if scale >= _NANO:
        return unscaled * 10 ** (scale - _NANO)
    cut = _NANO - scale
    if cut > _MAX_DIGITS:
        return 1
    return -(-unscaled // 10**cut)


def _binary(whole: str, fraction: str, exponent: int, *, negative: bool) -> Quantity:
    unscaled = int(whole + fraction) << exponent
    if unscaled == 0:
        return Quantity(0)
    # Go's own estimate of what an int64 holds: 15 digits less 3 for each factor of 1024.
    fast = not fraction and 14 - len(whole) - exponent * 3 // 10 >= 0
    scale = -len(fraction)
    if not fast:
        unscaled, scale = _to_nano(unscaled, scale), _NANO
        if unscaled > _INT64_MAX * 10**9:
            unscaled, scale = _INT64_MAX, 0
    return Quantity(-unscaled if negative else unscaled, scale, wide=not fast)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def int_value(text: str | int | float) -> int:
    """A quantity in whole units, rounded up."""
    return parse_quantity(text).value()


def milli_value(text: str | int | float) -> int:
    """A quantity in thousandths, rounded up."""
    return parse_quantity(text).milli_value()
