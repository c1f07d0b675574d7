"""Selectors of pods found by the pods that they may match, without asking each of them.

A selector that demands a value of a label stands under that label and value; only one that does
not (`DoesNotExist`, `NotIn`, everything) is asked about every pod of its namespaces.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

from fairlead.model.selector import IN, Requirement, Selector

T = TypeVar("T", bound=Hashable)

Bucket = tuple[str | None, str | None, str | None]
"""Namespace, label and value; None stands for any of them."""


def anchor(selector: Selector) -> Requirement | None:
    """The demand that fewest pods meet, as far as one can tell without looking at any."""
    demands = [r for r in selector.requirements if r.operator == IN]
    return min(demands, key=lambda demand: len(demand.values), default=None)


class SelectorIndex(Generic[T]):
    """Items with a selector each, in the namespaces that it is about (None: all)."""

    def __init__(self) -> None:
        self._buckets: dict[Bucket, dict[T, None]] = {}

    def add(self, item: T, namespaces: frozenset[str] | None, selector: Selector) -> None:
        for bucket in buckets(namespaces, selector):
            self._buckets.setdefault(bucket, {})[item] = None

    def remove(self, item: T, namespaces: frozenset[str] | None, selector: Selector) -> None:
        for bucket in buckets(namespaces, selector):
            items = self._buckets[bucket]
            del items[item]
            if not items:
                del self._buckets[bucket]

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterator[T]:
        """Each item once whose selector may match such a pod; whoever asks looks closer."""
        get = self._buckets.get
        for where in (namespace, None):
            yield from get((where, None, None), ())
            for key, value in labels.items():
                yield from get((where, key, value), ())

    def __len__(self) -> int:
        return len(self._buckets)


def buckets(namespaces: frozenset[str] | None, selector: Selector) -> Iterator[Bucket]:
    """Where a selector stands; nowhere if it matches nothing."""
    if selector.nothing:
        return
    demand = anchor(selector)
    for namespace in (None,) if namespaces is None else namespaces:
        if demand is None:
            yield namespace, None, None
        else:
            for value in demand.values:
                yield namespace, demand.key, value
