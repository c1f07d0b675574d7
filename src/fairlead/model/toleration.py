"""Tolerations: which taints a pod puts up with."""

from collections.abc import Iterable

from msgspec import Struct

from fairlead.model.node import NO_EXECUTE, NO_SCHEDULE, Taint

REPELLING = (NO_SCHEDULE, NO_EXECUTE)


class Toleration(Struct, frozen=True, gc=False, cache_hash=True):
    """Tolerates the taints that it matches; what it leaves empty matches all.

    The operators Lt and Gt match nothing: their feature gate is off.
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
        return self.operator == "Exists"


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of the tolerations tolerates the taint."""
    return any(toleration.tolerates(taint) for toleration in tolerations)
