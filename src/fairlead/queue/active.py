"""The order of the active queue, and the heap that both it and the back-off queue are made of.

Removal is by marking: an item is alive while its entry points back at it. Dead items go when they
surface, or all at once when they outnumber the living, so that no operation scans the heap.
"""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from fairlead.queue.entry import QueuedPodInfo

SortKey = Callable[[QueuedPodInfo], tuple[Any, ...]]
Less = Callable[[QueuedPodInfo, QueuedPodInfo], bool]

_FEW = 64


def priority_sort_key(entry: QueuedPodInfo) -> tuple[Any, ...]:
    """PrioritySort as a plain tuple: higher priority first, then the older queue timestamp."""
    return (-entry.pod.priority, entry.timestamp)


class _ByLess:
    """One entry under a QueueSort plugin's own `less`; entries that tie compare as equal."""

    __slots__ = ("entry", "less")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, entry: QueuedPodInfo, less: Less) -> None:
        self.entry = entry
        self.less = less

    def __lt__(self, other: "_ByLess") -> bool:
        return self.less(self.entry, other.entry)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _ByLess)
            and not self.less(self.entry, other.entry)
            and not self.less(other.entry, self.entry)
        )


def sort_key_of(less: Less) -> SortKey:
    """The sort key of any QueueSort plugin that gives only a comparison."""

    def key(entry: QueuedPodInfo) -> tuple[Any, ...]:
        return (_ByLess(entry, less),)

    return key


class PodHeap:
    """Queued pods by a key, first come first served among equals.

    An item is `(*key, number, entry)`: the number never repeats, so a comparison never reaches the
    entry.
    """

    __slots__ = ("_alive", "_items", "_key", "_number")

    def __init__(self, key: SortKey) -> None:
        self._key = key
        self._items: list[tuple[Any, ...]] = []
        self._alive = 0
        self._number = 0

    def __len__(self) -> int:
        return self._alive

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """The entries, in no particular order."""
        return (item[-1] for item in self._items if item[-1].heap_item is item)

    def add(self, entry: QueuedPodInfo) -> None:
        """Put in an entry that is in no heap."""
        self._number = number = self._number + 1
        item = (*self._key(entry), number, entry)
        entry.heap = self
        entry.heap_item = item
        self._alive += 1
        heappush(self._items, item)

    def pop(self) -> QueuedPodInfo | None:
        """Take out the first entry, or nothing when there is none."""
        items = self._items
        while items:
            item = heappop(items)
            entry = item[-1]
            if entry.heap_item is item:
                entry.heap = entry.heap_item = None
                self._alive -= 1
                return entry
        return None

    def peek(self) -> QueuedPodInfo | None:
        """The first entry, left in place."""
        items = self._items
        while items:
            item = items[0]
            if item[-1].heap_item is item:
                return item[-1]
            heappop(items)
        return None

    def remove(self, entry: QueuedPodInfo) -> None:
        """Take out an entry of this heap, wherever it stands."""
        entry.heap = entry.heap_item = None
        self._alive -= 1
        self._sweep()

    def reorder(self, entry: QueuedPodInfo) -> None:
        """Move an entry of this heap to where its key now puts it; its turn among equals stays."""
        old = entry.heap_item
        assert old is not None
        key = self._key(entry)
        if old[:-2] == key:
            return
        item = (*key, old[-2], entry)
        entry.heap_item = item
        heappush(self._items, item)
        self._sweep()

    def _sweep(self) -> None:
        """Drop the dead once they are the majority: a constant share of each removal's cost."""
        items = self._items
        if len(items) > 2 * self._alive + _FEW:
            self._items = [item for item in items if item[-1].heap_item is item]
            heapify(self._items)
