"""What placed pods say of other pods: their affinity terms, each distinct one held once.

Reads: placed pods, labels of namespaces. Writes: its terms and their tallies.

A pod that comes asks only the terms that could mean it, and not even these while neither the
terms nor the namespaces have changed since the last pod with its labels.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from fairlead.cluster.changes import Changes
from fairlead.cluster.columns import Columns
from fairlead.cluster.domains import Tally
from fairlead.cluster.groups import most_tallies
from fairlead.cluster.objects import Objects
from fairlead.cluster.selectors import SelectorIndex
from fairlead.model.pod_affinity import NO_POD_TERMS, PodTerm, PodTerms, compile_pod_terms
from fairlead.model.podinfo import PodInfo
from fairlead.model.selector import Selector

MOST_COMPILED = 20_000
NAMESPACES = (("Namespace", ""),)
NO_LABELS: Mapping[str, str] = MappingProxyType({})


class TermKind(IntEnum):
    """What the pod that has the term wants of those that it means."""

    REQUIRED = 0
    REQUIRED_ANTI = 1
    PREFERRED = 2
    PREFERRED_ANTI = 3


class TermKey(NamedTuple):
    """A term as a placed pod has it; without a preference the weight is 0."""

    kind: TermKind
    weight: int
    term: PodTerm


class PlacedTerm:
    """One distinct term, and how many times pods on each row have it."""

    __slots__ = ("key", "rows", "tally")

    def __init__(self, key: TermKey) -> None:
        self.key = key
        self.rows: dict[int, int] = {}
        self.tally: Tally | None = None
        """Made when the term first means a pod, and kept in step from then on."""

    def count(self, row: int, times: int) -> None:
        left = self.rows.get(row, 0) + times
        if left:
            self.rows[row] = left
        else:
            del self.rows[row]
        if self.tally is not None:
            self.tally.add(row, times)


class Meant(NamedTuple):
    """The terms of placed pods that mean a pod, as the filter and as the score reads them."""

    anti: tuple[PlacedTerm, ...]
    scoring: tuple[PlacedTerm, ...]


NOBODY = Meant((), ())


class PlacedTerms:
    """All distinct terms of placed pods."""

    def __init__(self, columns: Columns, changes: Changes, objects: Objects) -> None:
        self._columns = columns
        self._changes = changes
        self._objects = objects
        self._terms: dict[TermKey, PlacedTerm] = {}
        self._index: SelectorIndex[PlacedTerm] = SelectorIndex()
        self._version = 0
        self._keys: dict[tuple[bytes, bytes, str], tuple[PodTerms, tuple[TermKey, ...]]] = {}
        self._meant: dict[tuple[str, int], tuple[Mapping[str, str], tuple[int, int], Meant]] = {}
        self._named: dict[Selector, tuple[int, frozenset[str]]] = {}
        self._tallied: dict[PlacedTerm, None] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[PlacedTerm]:
        return iter(self._terms.values())

    def of(self, pod: PodInfo) -> PodTerms:
        """The pod's own terms, compiled once for all pods that have the same."""
        if not pod.pod_affinity and not pod.pod_anti_affinity:
            return NO_POD_TERMS
        return self._compiled(pod)[0]

    def place(self, row: int, pod: PodInfo) -> None:
        for key in self._compiled(pod)[1]:
            placed = self._terms.get(key)
            if placed is None:
                placed = self._terms[key] = PlacedTerm(key)
                self._index.add(placed, reach(key.term), key.term.selector)
                self._version += 1
            placed.count(row, 1)

    def displace(self, row: int, pod: PodInfo) -> None:
        for key in self._compiled(pod)[1]:
            placed = self._terms[key]
            placed.count(row, -1)
            if not placed.rows:
                del self._terms[key]
                self._index.remove(placed, reach(key.term), key.term.selector)
                self._version += 1
                self._drop(placed)

    def meaning(self, pod: PodInfo) -> Meant:
        """The terms of placed pods that mean this pod."""
        if not self._terms:
            return NOBODY
        place = (pod.namespace, id(pod.labels))
        now = (self._version, self._changes.version(NAMESPACES))
        known = self._meant.get(place)
        # The mapping is held on to, so that no other one can have its id.
        if known is not None and known[0] is pod.labels and known[1] == now:
            return known[2]
        if len(self._meant) >= MOST_COMPILED:
            self._meant.clear()
        meant = self._find(pod)
        self._meant[place] = (pod.labels, now, meant)
        return meant

    def tally(self, placed: PlacedTerm) -> Tally:
        """How many times pods on each row have the term."""
        tally = placed.tally
        if tally is None:
            if len(self._tallied) >= most_tallies(self._columns.room):
                self._drop(next(iter(self._tallied)))
            tally = placed.tally = Tally(self._columns.room)
            for row, times in placed.rows.items():
                tally.add(row, times)
        self._tallied.pop(placed, None)
        self._tallied[placed] = None
        return tally

    def namespaces_of(self, term: PodTerm, *, strict: bool = False) -> frozenset[str] | None:
        """The namespaces that the term of a pod that is yet to be placed means; None for all.

        Held to kube-scheduler's letter, a selector that also matches a namespace without labels
        means all of them: 1.36 asks it about no labels at all when it looks at placed pods.
        """
        selector = term.namespace_selector
        if selector.nothing:
            return term.namespaces
        if selector.everything or (strict and selector.matches(NO_LABELS)):
            return None
        version = self._changes.version(NAMESPACES)
        known = self._named.get(selector)
        if known is None or known[0] != version:
            if len(self._named) >= MOST_COMPILED:
                self._named.clear()
            objects = self._objects.of("Namespace")
            names = [n for n, obj in objects.items() if selector.matches(obj.metadata.labels)]
            known = self._named[selector] = (version, frozenset(names))
        return term.namespaces | known[1]

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace; none if it is not known."""
        found = self._objects.get("Namespace", "", namespace)
        return NO_LABELS if found is None else found.metadata.labels

    def clear(self) -> None:
        """Forget all tallies: the arrays have become too short."""
        for placed in list(self._tallied):
            self._drop(placed)

    def _drop(self, placed: PlacedTerm) -> None:
        self._tallied.pop(placed, None)
        if placed.tally is not None:
            placed.tally.drop()
            placed.tally = None

    def _find(self, pod: PodInfo) -> Meant:
        labels = self.namespace_labels(pod.namespace)
        found = [
            placed
            for placed in self._index.candidates(pod.namespace, pod.labels)
            if placed.key.term.matches(pod.namespace, pod.labels, labels)
        ]
        if not found:
            return NOBODY
        anti = tuple([p for p in found if p.key.kind == TermKind.REQUIRED_ANTI])
        scoring = tuple([p for p in found if p.key.kind != TermKind.REQUIRED_ANTI])
        return Meant(anti, scoring)

    def _compiled(self, pod: PodInfo) -> tuple[PodTerms, tuple[TermKey, ...]]:
        spelt = (pod.pod_affinity, pod.pod_anti_affinity, pod.namespace)
        found = self._keys.get(spelt)
        if found is None:
            if len(self._keys) >= MOST_COMPILED:
                self._keys.clear()
            terms = compile_pod_terms(*spelt)
            found = self._keys[spelt] = (terms, tuple(keys_of(terms)))
        return found


def keys_of(terms: PodTerms) -> Iterator[TermKey]:
    """The terms as they count for others once the pod is placed."""
    for term in terms.required:
        yield TermKey(TermKind.REQUIRED, 0, term)
    for term in terms.required_anti:
        yield TermKey(TermKind.REQUIRED_ANTI, 0, term)
    for weight, term in terms.preferred:
        yield TermKey(TermKind.PREFERRED, weight, term)
    for weight, term in terms.preferred_anti:
        yield TermKey(TermKind.PREFERRED_ANTI, weight, term)


def reach(term: PodTerm) -> frozenset[str] | None:
    """The namespaces under which the index holds the term: all if it goes by their labels."""
    return term.namespaces if term.namespace_selector.nothing else None
