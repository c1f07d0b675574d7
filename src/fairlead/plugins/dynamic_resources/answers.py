"""What was found on each node for claims that ask for the same, kept and repaired.

A node is searched again when its devices, what is taken of them, or its labels have changed; all of
them when that concerns more nodes than are marked one by one. Faults are never kept: they name the
claim that they were met with.
"""

import numpy as np

from fairlead.cluster.changes import Aspect, Changes, Log
from fairlead.cluster.columns import Int64
from fairlead.cluster.devices.devices import CLASSES, Devices
from fairlead.framework.nodeset import Codes
from fairlead.plugins.dynamic_resources.notes import BROKEN_POOLS, Outcome

UNKNOWN, FITS, REFUSED, BROKEN = range(4)
MOST_KEPT = 64
"""Kinds of claims whose answers are kept; the one that was asked for longest ago goes first."""


class Answers:
    """One kind of claims: a word and a score for each row."""

    __slots__ = ("_changes", "_devices", "_logs", "_positions", "_seen", "scores", "words")

    def __init__(self, devices: Devices, changes: Changes, room: int) -> None:
        self._devices = devices
        self._changes = changes
        self._logs: tuple[Log, ...] = tuple(
            changes.logs[each] for each in (Aspect.EXISTENCE, Aspect.LABELS, Aspect.DEVICES)
        )
        self._forget(room)

    def _forget(self, room: int) -> None:
        self.words: Codes = np.zeros(room, np.int8)
        self.scores: Int64 = np.zeros(room, np.int64)
        self._positions = [log.end for log in self._logs]
        self._seen = self._versions()

    def _versions(self) -> tuple[int, int]:
        return self._devices.pools.wide_changes, self._changes.version((CLASSES,))

    def catch_up(self, room: int) -> None:
        """Forget what may have changed."""
        if self._seen != self._versions() or len(self.words) != room:
            self._forget(room)
            return
        for at, log in enumerate(self._logs):
            if log.end != self._positions[at]:
                rows = log.since(self._positions[at])
                if rows is None:
                    self._forget(room)
                    return
                self._positions[at] = log.end
                self.words[rows] = UNKNOWN

    def note(self, row: int, outcome: Outcome) -> None:
        status = outcome.status
        if status is None:
            self.words[row], self.scores[row] = FITS, outcome.score
        elif status.code.rejected:
            self.words[row] = BROKEN if status is BROKEN_POOLS else REFUSED


class Kinds:
    """The answers by what is asked for."""

    def __init__(self, devices: Devices, changes: Changes) -> None:
        self._devices = devices
        self._changes = changes
        self._known: dict[object, Answers] = {}

    def of(self, key: object, room: int) -> Answers:
        """The answers for this key, as far as they still hold."""
        answers = self._known.pop(key, None)
        if answers is None:
            answers = Answers(self._devices, self._changes, room)
            if len(self._known) >= MOST_KEPT:
                del self._known[next(iter(self._known))]
        else:
            answers.catch_up(room)
        self._known[key] = answers
        return answers
