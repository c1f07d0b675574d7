"""Lists of quantities by resource name, as objects hold them."""

from collections.abc import Mapping

from fairlead.model.errors import DecodeError
from fairlead.model.quantity import Quantity, parse_quantity

Texts = dict[str, str | int | float | None]
Quantities = dict[str, Quantity]

_NOTHING = Quantity(0)


def quantities(texts: Mapping[str, str | int | float | None]) -> Quantities:
    """Each text as a quantity; null is zero, as in Go. DecodeError names the resource."""
    read: Quantities = {}
    for name, text in texts.items():
        if text is None:
            read[name] = _NOTHING
            continue
        try:
            # Go's decoder trims what is around a quantity in an object.
            read[name] = parse_quantity(text.strip() if isinstance(text, str) else text)
        except DecodeError as error:
            raise DecodeError(f"resource {name!r}: {error}") from None
    return read


def add(total: Quantities, more: Mapping[str, Quantity]) -> None:
    """Add to a total in place, names that it lacks included."""
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def raise_to(total: Quantities, least: Mapping[str, Quantity]) -> None:
    """Raise a total in place to at least these amounts, names that it lacks included."""
    for name, quantity in least.items():
        current = total.get(name)
        if current is None:
            total[name] = quantity
        elif quantity.compare(current) > 0:
            # Go makes a big decimal of what it compares with one, and keeps it.
            wide = quantity.wide or current.wide
            total[name] = Quantity(quantity.unscaled, quantity.scale, wide=wide)
