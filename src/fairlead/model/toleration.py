"""Tolerations: which taints a pod puts up with."""

import re
from collections.abc import Iterable
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from fairlead.model.node import NO_EXECUTE, NO_SCHEDULE, Taint

DECIMAL = re.compile("0|-?[1-9][0-9]*", re.ASCII)
LESS, GREATER = "<", ">"
COMPARING = MappingProxyType({"Lt": LESS, "Gt": GREATER})
REPELLING = (NO_SCHEDULE, NO_EXECUTE)


class Toleration(Struct, frozen=True, gc=False, cache_hash=True):
    """Tolerates the taints that it matches; what it leaves empty matches all.

    The operators Lt and Gt match nothing; where their feature is on, `comparing` makes others of
    them that compare numbers.
    """

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether the taint does not keep this pod away."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        if self.operator in (LESS, GREATER):
            return self._compared(taint.value)
        return self.operator == "Exists"

    def comparing(self) -> "Toleration":
        """The toleration for a scheduler that knows the operators Lt and Gt."""
        return replace(self, operator=COMPARING.get(self.operator, self.operator))

    def _compared(self, value: str) -> bool:
        """Whether the taint's number is on the side that the toleration names."""
        numbers = [int(text) for text in (value, self.value) if DECIMAL.fullmatch(text)]
        if len(numbers) < 2 or any(not -(2**63) <= number < 2**63 for number in numbers):
            return False
        theirs, own = numbers
        return theirs < own if self.operator == LESS else theirs > own


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of the tolerations tolerates the taint."""
    return any(toleration.tolerates(taint) for toleration in tolerations)
