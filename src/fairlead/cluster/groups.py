"""Pods in groups by namespace and label set, and how many of a kind are on each node.

Reads: placed pods. Writes: its groups and the tallies that were asked for.

A selector is asked once per group, never per pod. A tally that somebody has asked for is kept in
step by each pod that comes or goes; those that nobody asks about any more are dropped, as they
can be made again from the groups.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from fairlead.cluster.columns import Columns
from fairlead.cluster.domains import Tally
from fairlead.cluster.selectors import SelectorIndex, anchor
from fairlead.model.podinfo import PodInfo
from fairlead.model.selector import Selector

MOST_BYTES = 64 * 2**20
BYTES_BY_ROW = 24
FEWEST_TALLIES = 128

LabelSet = frozenset[tuple[str, str]]


class Part(Struct, frozen=True, cache_hash=True):
    """Pods of these namespaces, None for all, that the selector matches."""

    namespaces: frozenset[str] | None
    selector: Selector

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return (self.namespaces is None or namespace in self.namespaces) and self.selector.matches(
            labels
        )


class PodQuery(Struct, frozen=True, cache_hash=True):
    """The pods that every part matches; those that are being deleted only if they are meant."""

    parts: tuple[Part, ...]
    terminating: bool

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return all(part.matches(namespace, labels) for part in self.parts)


class Group:
    """The placed pods of one namespace and label set: how many on each row."""

    __slots__ = ("labels", "living", "namespace", "tallies", "terminating")

    def __init__(self, namespace: str, labels: Mapping[str, str]) -> None:
        self.namespace = namespace
        self.labels = labels
        self.living: dict[int, int] = {}
        self.terminating: dict[int, int] = {}
        self.tallies: list[tuple[Tally, bool]] = []
        """The tallies that count these pods, and whether also those that are being deleted."""

    def count(self, row: int, pods: int, *, terminating: bool) -> None:
        rows = self.terminating if terminating else self.living
        left = rows.get(row, 0) + pods
        if left:
            rows[row] = left
        else:
            del rows[row]
        for tally, all_pods in self.tallies:
            if all_pods or not terminating:
                tally.add(row, pods)

    def fill(self, tally: Tally, *, all_pods: bool) -> None:
        """Let the tally count these pods, from now on."""
        for row, pods in self.living.items():
            tally.add(row, pods)
        if all_pods:
            for row, pods in self.terminating.items():
                tally.add(row, pods)
        self.tallies.append((tally, all_pods))


class Groups:
    """All groups, the postings by which selectors find them, and the tallies in use."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._groups: dict[tuple[str, LabelSet], Group] = {}
        self._namespaces: dict[str, dict[Group, None]] = {}
        self._postings: dict[tuple[str, str, str], dict[Group, None]] = {}
        self._tallies: dict[PodQuery, Tally] = {}
        self._index: SelectorIndex[PodQuery] = SelectorIndex()

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    @property
    def tallies(self) -> Mapping[PodQuery, Tally]:
        return self._tallies

    def place(self, row: int, pod: PodInfo) -> None:
        key = (pod.namespace, frozenset(pod.labels.items()))
        group = self._groups.get(key)
        if group is None:
            group = self._begin(key, pod.labels)
        group.count(row, 1, terminating=pod.deleting)

    def displace(self, row: int, pod: PodInfo) -> None:
        key = (pod.namespace, frozenset(pod.labels.items()))
        group = self._groups[key]
        group.count(row, -1, terminating=pod.deleting)
        if not group.living and not group.terminating:
            self._end(key, group)

    def tally(self, query: PodQuery) -> Tally:
        """How many pods of this kind are on each row."""
        tally = self._tallies.pop(query, None)
        if tally is None:
            tally = Tally(self._columns.room)
            for group in self._matching(query):
                group.fill(tally, all_pods=query.terminating)
            first = query.parts[0]
            self._index.add(query, first.namespaces, first.selector)
            if len(self._tallies) >= most_tallies(self._columns.room):
                self._drop(next(iter(self._tallies)))
        self._tallies[query] = tally
        return tally

    def clear(self) -> None:
        """Forget all tallies: the arrays have become too short."""
        for query in list(self._tallies):
            self._drop(query)

    def _begin(self, key: tuple[str, LabelSet], labels: Mapping[str, str]) -> Group:
        namespace, _ = key
        group = self._groups[key] = Group(namespace, labels)
        self._namespaces.setdefault(namespace, {})[group] = None
        for label, value in labels.items():
            self._postings.setdefault((namespace, label, value), {})[group] = None
        for query in self._index.candidates(namespace, labels):
            if query.matches(namespace, labels):
                group.tallies.append((self._tallies[query], query.terminating))
        return group

    def _end(self, key: tuple[str, LabelSet], group: Group) -> None:
        namespace = group.namespace
        del self._groups[key]
        groups = self._namespaces[namespace]
        del groups[group]
        if not groups:
            del self._namespaces[namespace]
        for label, value in group.labels.items():
            posted = self._postings[namespace, label, value]
            del posted[group]
            if not posted:
                del self._postings[namespace, label, value]

    def _matching(self, query: PodQuery) -> Iterator[Group]:
        first = query.parts[0]
        if first.selector.nothing:
            return iter(())
        demand = anchor(first.selector)
        namespaces: Iterable[str] = (
            self._namespaces if first.namespaces is None else first.namespaces
        )
        if demand is None:
            found = (group for n in namespaces for group in self._namespaces.get(n, ()))
        else:
            found = (
                group
                for n in namespaces
                for value in demand.values
                for group in self._postings.get((n, demand.key, value), ())
            )
        return (group for group in found if query.matches(group.namespace, group.labels))

    def _drop(self, query: PodQuery) -> None:
        tally = self._tallies.pop(query)
        tally.drop()
        first = query.parts[0]
        self._index.remove(query, first.namespaces, first.selector)
        for group in self._matching(query):
            group.tallies = [each for each in group.tallies if each[0] is not tally]


def most_tallies(room: int) -> int:
    """How many tallies may be kept for so many rows."""
    return max(FEWEST_TALLIES, MOST_BYTES // (room * BYTES_BY_ROW))
