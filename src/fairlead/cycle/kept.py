"""What one plugin answers to one signature, kept for every row and repaired when rows change.

Reads: the change logs, the node table, the plugin. Writes: its own arrays.

An answer is kept only for plugins that declare what they read of the pod and what they depend on,
and only where a row's value follows from that row and the pod alone. A few changed rows are asked
again one by one in plain ints, more as a vector over those rows, very many anew.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.columns import Int64, Mask
from fairlead.cluster.nodes import NodeTable
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance, whole
from fairlead.framework.nodeset import Codes, Ids, Rows, trouble
from fairlead.framework.stages import MAX_NODE_SCORE
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, PluginError, Status, crash, said
from fairlead.model.podinfo import PodInfo

ONE_BY_ONE = 8
"""Up to so many changed rows cost less in plain ints than the fixed price of a vector step."""


class Counts:
    """How the kept answers fared: plain integers, flushed into metrics at scrape."""

    __slots__ = ("anew", "hits", "mismatches", "repairs")

    def __init__(self) -> None:
        self.hits = 0
        self.repairs = 0
        self.anew = 0
        self.mismatches = 0


class Engine:
    """What all kept answers share: the table, the plugins' handle, the counts, the bytes held."""

    __slots__ = ("counts", "handle", "held", "table")

    def __init__(self, table: NodeTable, handle: Handle) -> None:
        self.table = table
        self.handle = handle
        self.counts = Counts()
        self.held = 0


class Kept:
    """The verdicts and raw scores of one plugin for one signature.

    `codes` is None while every row passes, `scores` is None while all rows have the score
    `uniform`. `generation` moves when either array comes into being or is made anew: then sums
    over it are void as a whole, and not only at changed rows.
    """

    __slots__ = (
        "asks_filter",
        "asks_score",
        "changes",
        "charged",
        "codes",
        "codes_at",
        "engine",
        "errors",
        "facts",
        "facts_seen",
        "generation",
        "instance",
        "key",
        "logs",
        "pod",
        "positions",
        "reasons",
        "reasons_at",
        "scores",
        "scores_at",
        "state",
        "table",
        "uniform",
        "users",
        "version",
    )

    key: Hashable
    codes_at: Any
    reasons_at: Any
    scores_at: Any

    def __init__(
        self,
        instance: PluginInstance,
        pod: PodInfo,
        state: CycleState,
        engine: Engine,
        stages: tuple[bool, bool],
    ) -> None:
        self.instance = instance
        self.pod = pod
        self.state = state
        self.engine = engine
        self.table = engine.table
        self.changes: Changes = engine.table.changes
        self.asks_filter, self.asks_score = stages
        assert instance.depends is not None
        # Every aspect is marked when a row gets a node; an answer without any hears of that too.
        aspects = instance.depends.aspects or (Aspect.EXISTENCE,)
        self.logs = tuple(self.changes.logs[aspect] for aspect in aspects)
        self.facts = instance.facts_of(pod)
        self.users = 0
        self.charged = 0
        self.generation = 0
        self.codes: Codes | None = None
        self.reasons: Ids | None = None
        self.scores: Int64 | None = None
        self.uniform = 0
        self.errors = False
        self.anew()

    def charge(self) -> None:
        """Count the bytes that are held for users; they change when an array comes or goes."""
        size = 0
        if self.users:
            arrays = (self.codes, self.reasons, self.scores)
            size = 512 + sum(array.nbytes for array in arrays if array is not None)
        self.engine.held += size - self.charged
        self.charged = size

    def anew(self) -> None:
        """Ask about all rows at once."""
        self.engine.counts.anew += 1
        self.generation += 1
        self.positions = [log.end for log in self.logs]
        self.facts_seen = self.changes.facts
        self.version = self.changes.version(self.facts)
        nodes = self.engine.handle.nodes()
        instance = self.instance
        if self.asks_filter:
            verdicts = instance.ask_filter_nodes(self.pod, nodes, self.state)
            if verdicts is None:
                self.codes = self.reasons = None
                self.errors = False
            else:
                self._hold_codes(verdicts.codes, verdicts.reasons)
        if self.asks_score:
            scores = instance.ask_score_nodes(self.pod, nodes, self.state)
            if isinstance(scores, int):
                self.scores = None
                self.uniform = self._checked(scores)
            else:
                if instance.normalize_score is None:
                    self._check(scores[self.table.columns.exists])
                self._hold_scores(scores)
        self.charge()

    def raw(self, rows: Rows) -> Int64 | int:
        """The scores of some rows before they are normalised, free to be changed."""
        return self.uniform if self.scores is None else self.scores[rows]

    def same(self, other: "Kept", exists: Mask) -> bool:
        """Whether another answer says the same of every node."""
        mine, theirs = self._held(), other._held()
        return all(np.array_equal(a[exists], b[exists]) for a, b in zip(mine, theirs, strict=True))

    def _held(self) -> tuple[Codes, Ids, Int64]:
        room = self.table.columns.room
        codes = np.zeros(room, np.int8) if self.codes is None else self.codes
        reasons = np.zeros(room, np.int32) if self.reasons is None else self.reasons
        scores = np.full(room, self.uniform, np.int64) if self.scores is None else self.scores
        return codes, np.where(codes == Code.SUCCESS, np.int32(0), reasons), scores

    def catch_up(self) -> None:
        """Ask again about the rows that changed since the last time."""
        if self.facts_seen != self.changes.facts:
            self.facts_seen = self.changes.facts
            if self.changes.version(self.facts) != self.version:
                self.anew()
                return
        rows: list[int] | None = None
        positions = self.positions
        for at, log in enumerate(self.logs):
            if log.end == positions[at]:
                continue
            changed = log.since(positions[at])
            if changed is None:
                self.anew()
                return
            positions[at] = log.end
            rows = changed if rows is None else list(dict.fromkeys([*rows, *changed]))
        if rows is None:
            return
        if len(rows) > self.changes.limit:
            self.anew()
            return
        self.engine.counts.repairs += 1
        if len(rows) <= ONE_BY_ONE:
            self._repair_each(rows)
        else:
            self._repair(np.array(rows, np.intp))

    def _repair_each(self, rows: list[int]) -> None:
        """Plain ints, one row after the other."""
        instance, pod, state, infos = self.instance, self.pod, self.state, self.table.infos
        asks_filter, asks_score = self.asks_filter, self.asks_score
        plain = instance.normalize_score is None
        point = "Filter"
        try:
            for row in rows:
                info = infos[row]
                if info is None:
                    continue
                if asks_filter:
                    point = "Filter"
                    status = instance.filter(pod, info, state)
                    if status is not None:
                        self._refuse(row, said(instance.name, "Filter", status))
                    elif self.codes is not None:
                        self.codes_at[row] = 0
                if asks_score:
                    point = "Score"
                    score: Any = instance.score(pod, info, state)
                    if type(score) is not int:
                        score = whole(instance.name, score)
                    if plain and not 0 <= score <= MAX_NODE_SCORE:
                        raise out_of_range(instance.name, score)
                    if self.scores is not None:
                        self.scores_at[row] = score
                    elif score != self.uniform:
                        self._spread_scores()
                        self.scores_at[row] = score
        except Exception as problem:
            raise crash(instance.name, point, problem) from problem

    def _repair(self, rows: Rows) -> None:
        """A vector over the changed rows."""
        there = rows[self.table.columns.exists[rows]]
        if not there.size:
            return
        nodes = self.engine.handle.nodes(there)
        instance = self.instance
        if self.asks_filter:
            verdicts = instance.ask_filter_nodes(self.pod, nodes, self.state)
            if verdicts is not None and self.codes is None:
                self._spread_codes()
            if self.codes is not None and self.reasons is not None:
                if verdicts is None:
                    self.codes[there] = 0
                else:
                    self.codes[there] = verdicts.codes
                    self.reasons[there] = verdicts.reasons
                    self.errors = self.errors or trouble(verdicts.codes)
        if self.asks_score:
            scores = instance.ask_score_nodes(self.pod, nodes, self.state)
            if isinstance(scores, int):
                self._checked(scores)
                if self.scores is None and scores == self.uniform:
                    return
            elif instance.normalize_score is None:
                self._check(scores)
            if self.scores is None:
                self._spread_scores()
            assert self.scores is not None
            self.scores[there] = scores

    def _refuse(self, row: int, status: Status) -> None:
        if self.codes is None:
            self._spread_codes()
        self.codes_at[row] = status.code
        self.reasons_at[row] = self.engine.handle.reason_id(status.reasons)
        if not status.code.rejected and status.code != Code.SUCCESS:
            self.errors = True

    def _spread_codes(self) -> None:
        """A row refuses where all passed before: from now on each row has a code of its own."""
        room = self.table.columns.room
        self._hold_codes(np.zeros(room, np.int8), np.zeros(room, np.int32))
        self.generation += 1
        self.charge()

    def _spread_scores(self) -> None:
        self._hold_scores(np.full(self.table.columns.room, self.uniform, np.int64))
        self.generation += 1
        self.charge()

    def _hold_codes(self, codes: Codes, reasons: Ids) -> None:
        """Copies: repairs write to them, and a plugin may have given an array of its own."""
        self.codes, self.reasons = np.array(codes, np.int8), np.array(reasons, np.int32)
        self.codes_at, self.reasons_at = self.codes.data, self.reasons.data
        self.errors = trouble(self.codes)

    def _hold_scores(self, scores: Int64) -> None:
        self.scores = np.array(scores, np.int64)
        self.scores_at = self.scores.data

    def _check(self, scores: Int64) -> None:
        if scores.size:
            self._checked(int(scores.min()))
            self._checked(int(scores.max()))

    def _checked(self, score: int) -> int:
        if self.instance.normalize_score is None and not 0 <= score <= MAX_NODE_SCORE:
            raise out_of_range(self.instance.name, score)
        return score


def out_of_range(name: str, score: int) -> PluginError:
    return PluginError(
        name,
        "Score",
        f'applying score defaultWeights on Score plugins: plugin "{name}" returns an invalid score'
        f" {score}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing",
    )
