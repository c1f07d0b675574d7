"""What would be requested of each node without the pods below a priority.

Reads: the node table and its log of requests. Writes: its own arrays.

Preemption asks this of all nodes at once: most of them would not have room even then, and fall
away in one step. The sums are made when a priority first asks, and repaired row by row after that;
priorities are few, and those that nobody asks about any more make room for others.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.columns import LIMIT, Columns, Int64, capped
from fairlead.cluster.nodeinfo import NodeInfo
from fairlead.model.resources import Resources

MOST_PRIORITIES = 8
Rows = NDArray[np.intp]
PLAIN = ("cpu", "memory", "ephemeral_storage")
QUANTITIES = ("pod_count", *(f"requested_{name}" for name in PLAIN))
SCALARS = attrgetter("scalars")
SAFE = 2**50
"""Sums of a node's requests that are each less than this are exact in any column."""


class Nodes(Protocol):
    """What is read of the node table."""

    @property
    def infos(self) -> Sequence[NodeInfo | None]: ...
    @property
    def columns(self) -> Columns: ...
    @property
    def changes(self) -> Changes: ...


class WithoutPodsBelow:
    """The columns as they would be; `victims` is the number of pods that would be gone."""

    __slots__ = ("_at", "_columns", "_nodes", "_scalars", "_sums", "priority", "victims")

    def __init__(self, nodes: Nodes, priority: int) -> None:
        self.priority = priority
        self._nodes = nodes
        self._make()

    def quantity(self, name: str, rows: Rows | None) -> Int64:
        """A column by name; KeyError for one that is not known without the pods."""
        if name.startswith("allocatable_"):
            column: Int64 = getattr(self._nodes.columns, name)
        else:
            column = self._sums[name]
        return column if rows is None else column[rows]

    def requested_scalar(self, name: str, rows: Rows | None) -> Int64 | None:
        """What is requested of an extended resource; None if no node has it."""
        column = self._scalars.get(name)
        return column if column is None or rows is None else column[rows]

    def infos(self) -> Sequence[NodeInfo | None]:
        """KeyError: there are columns only."""
        raise KeyError("infos")

    def catch_up(self) -> None:
        """Count again on the rows where pods came or went."""
        log = self._nodes.changes.logs[Aspect.REQUESTED]
        columns = self._nodes.columns
        scalars = len(columns.requested_scalars)
        rows = None
        if len(self.victims) == columns.room and len(self._scalars) == scalars:
            rows = log.since(self._at)
        if rows is None:
            self._make()
            return
        self._at = log.end
        for row in rows:
            self._count(row, self._nodes.infos[row])

    def _make(self) -> None:
        """Count on all rows: what the pods request is added up in numpy, row after row."""
        columns = self._nodes.columns
        room = columns.room
        self._at = self._nodes.changes.logs[Aspect.REQUESTED].end
        self.victims: Int64 = np.zeros(room, np.int64)
        self._sums = {name: getattr(columns, name).copy() for name in QUANTITIES}
        self._scalars = {name: column.copy() for name, column in columns.requested_scalars.items()}
        self._columns = tuple([memoryview(column) for column in self._sums.values()])
        priority = self.priority
        below: list[Resources] = []
        rows: list[int] = []
        ends: list[int] = []
        for row, info in enumerate(self._nodes.infos):
            if info is None or not info.pods_by_uid:
                continue
            mine = [p.placed_request for p in info.pods_by_uid.values() if p.priority < priority]
            if mine:
                rows.append(row)
                ends.append(len(below))
                below += mine
        if not rows:
            return
        size, starts, where = len(below), np.array(ends), np.array(rows)
        self.victims[where] = np.diff(starts, append=size)
        self._sums["pod_count"] -= self.victims
        plain = True
        for name in PLAIN:
            ask = attrgetter(name)
            amounts = np.fromiter(map(ask, below), np.int64, size)
            column = self._sums[f"requested_{name}"]
            plain = plain and int(amounts.max()) < SAFE and int(column.max()) < LIMIT
            column[where] -= np.add.reduceat(amounts, starts)
        if not plain or any(map(SCALARS, below)):
            for row in rows:
                self._count(row, self._nodes.infos[row])

    def _count(self, row: int, info: NodeInfo | None) -> None:
        if info is None:
            self.victims[row] = 0
            return
        priority, victims, cpu, memory, storage = self.priority, 0, 0, 0, 0
        scalars: dict[str, int] = {}
        for pod in info.pods_by_uid.values():
            if pod.priority < priority:
                request = pod.placed_request
                victims += 1
                cpu += request.cpu
                memory += request.memory
                storage += request.ephemeral_storage
                for name, amount in request.scalars:
                    scalars[name] = scalars.get(name, 0) + amount
        self.victims[row] = victims
        counts, cpus, memories, storages = self._columns
        counts[row] = info.pod_count - victims
        cpus[row] = capped(info.requested_cpu - cpu)
        memories[row] = capped(info.requested_memory - memory)
        storages[row] = capped(info.requested_ephemeral_storage - storage)
        for name, column in self._scalars.items():
            column[row] = capped(info.requested(name) - scalars.get(name, 0))


class BelowStore:
    """The sums in use, by priority; the least recently asked are dropped first."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._by_priority: dict[int, WithoutPodsBelow] = {}

    def get(self, priority: int) -> WithoutPodsBelow:
        """The sums as they are now."""
        found = self._by_priority.pop(priority, None)
        if found is None:
            if len(self._by_priority) >= MOST_PRIORITIES:
                del self._by_priority[next(iter(self._by_priority))]
            found = WithoutPodsBelow(self._nodes, priority)
        else:
            found.catch_up()
        self._by_priority[priority] = found
        return found
