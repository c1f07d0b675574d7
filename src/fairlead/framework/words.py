"""How it is said that no node fits: how many nodes, and how often each reason."""

from collections import Counter
from collections.abc import Iterable, Mapping


def fit_message(
    nodes: int, reasons: Mapping[str, int], *, pre_filter: str = "", post_filter: str = ""
) -> str:
    """The text of the condition and of the FailedScheduling event.

    The counted reasons are sorted as text, so that "10 x" stands before "2 y".
    """
    message = f"0/{nodes} nodes are available:"
    if pre_filter:
        message += f" {pre_filter}."
    elif reasons:
        counted = sorted(f"{count} {reason}" for reason, count in reasons.items())
        message += f" {', '.join(counted)}."
    return f"{message} {post_filter}" if post_filter else message


def count_reasons(
    tuples: Iterable[tuple[tuple[str, ...], int]],
) -> Counter[str]:
    """How often each single reason occurs, from tuples of reasons with their number of nodes."""
    counted: Counter[str] = Counter()
    for reasons, times in tuples:
        for reason in reasons:
            counted[reason] += times
    return counted
