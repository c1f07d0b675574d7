"""What changed, by aspect: the lists of rows from which kept answers repair themselves.

Each aspect of a node (its labels, its taints, what is requested of it) has one append-only list
of rows. A kept answer remembers how far it has read the lists of the aspects that it depends on;
what stands behind that position is what it must look at again. A list that grows too long loses
its older half: an answer whose position went with it is cheaper made anew than repaired.

Facts that belong to no row (how many nodes there are, on how many nodes an image lies) have a
version each, named by any hashable value.
"""

from collections.abc import Hashable, Iterable
from enum import IntEnum

MOST_VERSIONS = 100_000


class Aspect(IntEnum):
    """The parts of a node that change apart from each other.

    VOLUMES is what its pods mount and what is attached, STORAGE what volumes it could have.
    """

    EXISTENCE = 0
    LABELS = 1
    TAINTS = 2
    ALLOCATABLE = 3
    REQUESTED = 4
    PORTS = 5
    IMAGES = 6
    OBJECT = 7
    VOLUMES = 8
    STORAGE = 9
    DEVICES = 10


OF_THE_NODE = frozenset(
    [
        Aspect.EXISTENCE,
        Aspect.LABELS,
        Aspect.TAINTS,
        Aspect.ALLOCATABLE,
        Aspect.IMAGES,
        Aspect.OBJECT,
        Aspect.STORAGE,
    ]
)
"""The aspects that no pod changes by coming or going; any other may."""


class Log:
    """The rows whose one aspect changed, oldest first."""

    __slots__ = ("base", "end", "rows")

    def __init__(self) -> None:
        self.base = 0
        self.end = 0
        self.rows: list[int] = []

    def mark(self, row: int) -> None:
        self.rows.append(row)
        self.end += 1

    def since(self, position: int) -> list[int] | None:
        """The rows marked since the position, each once; None if the position was cut off."""
        start = position - self.base
        if start < 0:
            return None
        rows = self.rows
        if len(rows) - start == 1:
            return [rows[start]]
        return list(dict.fromkeys(rows[start:]))

    def cut(self, limit: int) -> None:
        """Forget the older half once the list is longer than twice the limit."""
        if len(self.rows) > 2 * limit:
            drop = len(self.rows) - limit
            del self.rows[:drop]
            self.base += drop


class Changes:
    """All logs and versions of one cluster.

    Reads: nothing. Writes: its logs; `facts` grows with every version that changes, so that a
    reader compares one integer before it looks at any version.
    """

    __slots__ = ("_floor", "_versions", "facts", "limit", "logs")

    def __init__(self) -> None:
        self.logs: tuple[Log, ...] = tuple(Log() for _ in Aspect)
        self.limit = 64
        self.facts = 0
        self._floor = 0
        self._versions: dict[Hashable, int] = {}

    def mark(self, aspect: Aspect, row: int) -> None:
        log = self.logs[aspect]
        log.mark(row)
        if len(log.rows) > 2 * self.limit:
            log.cut(self.limit)

    def mark_all(self, row: int) -> None:
        """A row was taken, freed or reused: whatever was known of it is void."""
        for aspect in Aspect:
            self.mark(aspect, row)

    def touch(self, fact: Hashable) -> None:
        self.facts += 1
        if len(self._versions) >= MOST_VERSIONS:
            # Names come and go for ever: forget all at once, which makes every answer anew.
            self._versions.clear()
            self._floor = self.facts
        self._versions[fact] = self.facts

    def version(self, facts: Iterable[Hashable]) -> int:
        """One number that differs from any earlier one if one of the facts has changed since."""
        get = self._versions.get
        floor = self._floor
        return max((get(fact, floor) for fact in facts), default=0)

    def now(self) -> int:
        """A number that grows with every change of any node, pod or object."""
        return self.facts + sum([log.end for log in self.logs])

    def resize(self, rows: int) -> None:
        """A list may hold a quarter of the nodes before its older half goes."""
        self.limit = max(64, rows // 4)
