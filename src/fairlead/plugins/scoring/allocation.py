"""What a pod adds to each of the resources that a score weighs."""

from collections.abc import Sequence

from fairlead.model.resources import Resources

Request = tuple[str, int, int]
"""A resource, its weight, and how much the pod requests of it."""

ORDINARY = frozenset(["cpu", "memory", "ephemeral-storage"])


def requests_of(request: Resources, weights: Sequence[tuple[str, int]]) -> tuple[Request, ...]:
    """The resources that count for this pod: an extended one only if the pod requests it."""
    return tuple(
        (name, weight, amount)
        for name, weight in weights
        if (amount := request.get(name)) or name in ORDINARY
    )
