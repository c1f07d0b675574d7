"""The state of one evaluation: its variables, and what it has cost."""

from collections.abc import Callable
from typing import Any

from fairlead.model.cel.values import CelError

COST_LIMIT = 1_000_000
"""CELSelectorExpressionMaxCost: no selector may do more for one device."""
EXCEEDED = "operation cancelled: actual cost limit exceeded"


class CostExceededError(CelError):
    """The expression did more than it may. No operator swallows this."""


class Scope:
    """The variables in force. A fault among them is raised where the variable is read."""

    __slots__ = ("names", "spent")

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.spent = 0

    def spend(self, cost: int) -> None:
        self.spent += cost
        if self.spent > COST_LIMIT:
            raise CostExceededError(EXCEEDED)


Step = Callable[[Scope], Any]


def attempt(step: Step, scope: Scope) -> Any:
    """The value, or the fault as a value: a loop goes on with it, and may yet not need it."""
    try:
        return step(scope)
    except CostExceededError:
        raise
    except CelError as fault:
        return fault


GO_TYPES = (
    (bool, "types.Bool"),
    (int, "types.Int"),
    (float, "types.Double"),
    (str, "types.String"),
)


def iterated(value: Any) -> tuple[list[tuple[Any, Any]], bool]:
    """Index and item of a list, or key and value of a map; and whether it is a map."""
    if isinstance(value, list):
        return list(enumerate(value)), False
    if isinstance(value, dict):
        return list(value.items()), True
    kind = next((name for kind, name in GO_TYPES if isinstance(value, kind)), type(value).__name__)
    raise CelError(f"got '{kind}', expected iterable type")
