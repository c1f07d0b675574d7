"""Pods that are alike to every plugin whose answers are kept: one shape, one column of totals.

Reads: the kept answers. Writes: its totals.

The totals are the weighted sum of the scores that need no normalising, and -1 where a kept
filter refuses or there is no node. What is normalised or never kept is added in each decision.
"""

from collections.abc import Hashable

import numpy as np

from fairlead.cluster.changes import Aspect, Log
from fairlead.cluster.columns import Int64
from fairlead.cluster.nodes import NodeTable
from fairlead.cycle.decision import Unplaced
from fairlead.cycle.kept import ONE_BY_ONE, Kept
from fairlead.cycle.prefilter import PreFiltered
from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import Rows
from fairlead.framework.profile import Profile
from fairlead.framework.state import CycleState
from fairlead.framework.status import PluginError

REFUSED = -1
MOST_REMEMBERED = 64


class Shape:
    """The kept answers of one tuple of signatures, and their sum."""

    __slots__ = (
        "_by_log",
        "_facts_seen",
        "_generation",
        "_logs",
        "_positions",
        "changes",
        "failure",
        "found",
        "kept",
        "kept_filters",
        "key",
        "narrowed",
        "refusing",
        "remembered",
        "remembered_at",
        "scaled",
        "state",
        "summed",
        "table",
        "totals",
        "totals_at",
    )

    found: PreFiltered
    kept_filters: tuple[PluginInstance, ...]
    failure: PluginError | None

    def __init__(
        self,
        key: tuple[Hashable, ...],
        state: CycleState,
        kept: list[Kept],
        table: NodeTable,
        narrowed: frozenset[str] | None,
    ) -> None:
        self.key = key
        self.state = state
        self.kept = kept
        self.table = table
        self.narrowed = narrowed
        self.changes = table.changes
        self.remembered: dict[Hashable, Unplaced] = {}
        self.remembered_at: tuple[int, ...] = ()
        logs: dict[Log, list[Kept]] = {self.changes.logs[Aspect.EXISTENCE]: []}
        for one in kept:
            for log in one.logs:
                logs.setdefault(log, []).append(one)
        self._logs = tuple(logs)
        self._by_log = tuple(logs.values())
        self._positions = [log.end for log in self._logs]
        self._facts_seen = self.changes.facts
        self.add_up()

    @property
    def size(self) -> int:
        return 1024 + self.totals.nbytes

    def settle(self, profile: Profile, found: PreFiltered, failure: PluginError | None) -> None:
        """What PreFilter and PreScore said, for all pods of this shape."""
        self.found = found
        self.failure = failure
        self.kept_filters = tuple(i for i in profile.filter if i.kept and i not in found.skipped)

    def remember(self, asked: Hashable, decision: Unplaced) -> None:
        """Nothing fits: true, and in these words, until something changes that the shape reads.

        `asked` tells apart what pods of this shape may be told differently.
        """
        now = self._now()
        if now != self.remembered_at or len(self.remembered) >= MOST_REMEMBERED:
            self.remembered_at = now
            self.remembered.clear()
        self.remembered[asked] = decision

    def recall(self, asked: Hashable) -> Unplaced | None:
        """What was remembered, if nothing has changed since."""
        return None if self.remembered_at != self._now() else self.remembered.get(asked)

    def _now(self) -> tuple[int, ...]:
        return (*(log.end for log in self._logs), self.changes.facts)

    def add_up(self) -> None:
        """Make the totals anew from the kept answers."""
        self._generation = sum(one.generation for one in self.kept)
        self.refusing = [one for one in self.kept if one.codes is not None]
        scoring = [one for one in self.kept if one.asks_score and one.scores is not None]
        self.scaled = [one for one in scoring if one.instance.normalize_score is not None]
        self.summed = [
            (one, one.instance.weight) for one in scoring if one.instance.normalize_score is None
        ]
        self.totals: Int64 = self._sums(None)
        self.totals_at = self.totals.data

    def sums_up(self) -> bool:
        """Whether the totals are what they are made of."""
        return np.array_equal(self.totals, self._sums(None))

    def catch_up(self) -> None:
        """Bring the kept answers and the totals to the present."""
        positions = self._positions
        rows: list[int] | None = None
        lost = False
        moved = False
        for at, log in enumerate(self._logs):
            if log.end == positions[at]:
                continue
            moved = True
            changed = log.since(positions[at])
            positions[at] = log.end
            for one in self._by_log[at]:
                one.catch_up()
            if changed is None:
                lost = True
            elif rows is None:
                rows = changed
            elif rows != changed:
                rows = list(dict.fromkeys([*rows, *changed]))
        if self._facts_seen != self.changes.facts:
            self._facts_seen = self.changes.facts
            moved = True
            for one in self.kept:
                if one.facts:
                    one.catch_up()
        if not moved:
            return
        if lost or sum(one.generation for one in self.kept) != self._generation:
            self.add_up()
        elif rows is not None:
            self._add_up_rows(rows)

    def _add_up_rows(self, rows: list[int]) -> None:
        if len(rows) > self.changes.limit:
            self.add_up()
            return
        if len(rows) > ONE_BY_ONE:
            several = np.array(rows, np.intp)
            self.totals[several] = self._sums(several)
            return
        infos, totals, narrowed = self.table.infos, self.totals_at, self.narrowed
        for row in rows:
            info = infos[row]
            total = REFUSED
            if info is not None and (narrowed is None or info.name in narrowed):
                for one in self.refusing:
                    if one.codes_at[row]:
                        break
                else:
                    total = 0
                    for one, weight in self.summed:
                        total += weight * one.scores_at[row]
            totals[row] = total

    def _sums(self, rows: Rows | None) -> Int64:
        everything = slice(None) if rows is None else rows
        passed = self.table.columns.exists[everything]
        for one in self.refusing:
            assert one.codes is not None
            passed = passed & (one.codes[everything] == 0)
        if self.narrowed is not None:
            passed = passed & self._narrow()[everything]
        total = np.zeros(len(passed), np.int64)
        for one, weight in self.summed:
            assert one.scores is not None
            total += one.scores[everything] if weight == 1 else one.scores[everything] * weight
        total[~passed] = REFUSED
        return total

    def _narrow(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        mask = np.zeros(self.table.columns.room, np.bool_)
        assert self.narrowed is not None
        mask[[r for name in self.narrowed if (r := self.table.rows.get(name)) is not None]] = True
        return mask
