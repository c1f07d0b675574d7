"""One plugin of one profile, its methods looked up once.

Either form of Filter and Score gives the other: a class with only the column form is asked about
a set of one, a class with only the row form is asked row by row. Whoever calls sees both.
"""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from fairlead.cluster.changes import OF_THE_NODE, Aspect
from fairlead.cluster.columns import Int64
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import Depends
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.stages import points_of
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, PluginError, Status, crash, said
from fairlead.model.podinfo import PodInfo

RowFilter = Callable[[PodInfo, NodeInfo, CycleState], Status | None]
ColumnFilter = Callable[[PodInfo, NodeSet, CycleState], Verdicts | None]
ExtensionStage = Callable[[PodInfo, PodInfo, NodeInfo, CycleState], Status | None]
Reads = Callable[[PodInfo], Hashable | None]
RowScore = Callable[[PodInfo, NodeInfo, CycleState], int]
ColumnScore = Callable[[PodInfo, NodeSet, CycleState], Int64 | int]


class PluginInstance:
    """A plugin as the cycle calls it. `reads` and `depends` decide whether answers are kept."""

    __slots__ = (
        "add_pod",
        "depends",
        "facts",
        "filter",
        "filter_nodes",
        "filter_reads",
        "in_columns",
        "index",
        "indifferent",
        "kept",
        "moved_by_pods",
        "name",
        "normalize_score",
        "plugin",
        "points",
        "post_filter_reads",
        "pre_filter",
        "pre_score",
        "reads",
        "remove_pod",
        "score",
        "score_nodes",
        "weight",
    )

    filter: RowFilter
    filter_nodes: ColumnFilter
    score: RowScore
    score_nodes: ColumnScore

    def __init__(self, name: str, plugin: object, index: int, handle: Handle) -> None:
        self.name = name
        self.plugin: Any = plugin
        self.index = index
        self.weight = 0
        self.points = points_of(type(plugin))
        self.depends: Depends | None = getattr(plugin, "depends", None)
        self.reads = read_function(plugin)
        self.kept = self.reads is not None and self.depends is not None
        aspects = None if self.depends is None else self.depends.aspects
        self.moved_by_pods = not self.kept or aspects is None or not OF_THE_NODE.issuperset(aspects)
        """Whether its answer for a node may change when a pod comes to that node or leaves it."""
        columns = OF_THE_NODE | {Aspect.REQUESTED}
        self.in_columns = self.kept and aspects is not None and columns.issuperset(aspects)
        """Whether of all that pods change on a node it reads only what is requested."""
        self.facts: Callable[[PodInfo], tuple[Hashable, ...]] | None = getattr(
            plugin, "facts", None
        )
        self.indifferent: Callable[[PodInfo, CycleState], bool] | None = getattr(
            plugin, "indifferent", None
        )
        """Whether Score is zero on every node for this pod: for scorers without PreScore."""
        self.pre_filter: Any = getattr(plugin, "pre_filter", None)
        self.add_pod: ExtensionStage | None = getattr(plugin, "add_pod", None)
        self.remove_pod: ExtensionStage | None = getattr(plugin, "remove_pod", None)
        self.filter_reads: Reads | None = getattr(plugin, "filter_reads", None)
        self.post_filter_reads: Reads | None = getattr(plugin, "post_filter_reads", None)
        self.pre_score: Any = getattr(plugin, "pre_score", None)
        self.normalize_score: Any = getattr(plugin, "normalize_score", None)
        if "filter" in self.points:
            row, column = getattr(plugin, "filter", None), getattr(plugin, "filter_nodes", None)
            self.filter = row or filter_by_columns(self.plugin, handle)
            self.filter_nodes = column or filter_by_rows(self.plugin)
        if "score" in self.points:
            row, column = getattr(plugin, "score", None), getattr(plugin, "score_nodes", None)
            self.score = row or score_by_columns(self.plugin, handle)
            self.score_nodes = column or score_by_rows(self.plugin)

    def facts_of(self, pod: PodInfo) -> tuple[Hashable, ...]:
        if self.facts is None:
            return () if self.depends is None else self.depends.facts
        try:
            return tuple(self.facts(pod))
        except Exception as problem:
            raise crash(self.name, "facts", problem) from problem

    def ask_filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        try:
            status = self.filter(pod, node, state)
            return status if status is None else said(self.name, "Filter", status)
        except Exception as problem:
            raise crash(self.name, "Filter", problem) from problem

    def ask_filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        try:
            verdicts: Any = self.filter_nodes(pod, nodes, state)
        except Exception as problem:
            raise crash(self.name, "Filter", problem) from problem
        if verdicts is not None and not (
            isinstance(verdicts, Verdicts)
            and np.shape(verdicts.codes) == (nodes.size,) == np.shape(verdicts.reasons)
        ):
            what = f"verdicts on {nodes.size} nodes or None are wanted, got {verdicts!r:.60}"
            raise PluginError(self.name, "Filter", what)
        return verdicts

    def ask_score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        try:
            score: Any = self.score(pod, node, state)
        except Exception as problem:
            raise crash(self.name, "Score", problem) from problem
        return score if type(score) is int else whole(self.name, score)

    def ask_score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        try:
            scores: Any = self.score_nodes(pod, nodes, state)
        except Exception as problem:
            raise crash(self.name, "Score", problem) from problem
        if not isinstance(scores, np.ndarray):
            return scores if type(scores) is int else whole(self.name, scores)
        if scores.shape != (nodes.size,) or scores.dtype.kind not in "iu":
            what = f"{nodes.size} integers are wanted, got {scores.dtype}{scores.shape}"
            raise PluginError(self.name, "Score", what)
        return scores.astype(np.int64, copy=False)

    def ask_normalize(self, pod: PodInfo, scores: Int64, state: CycleState) -> Int64:
        try:
            normal: Any = self.normalize_score(pod, scores, state)
        except Exception as problem:
            raise crash(self.name, "NormalizeScore", problem) from problem
        if normal is None:  # changed in place, as Go's NormalizeScore does
            normal = scores
        if (
            not isinstance(normal, np.ndarray)
            or normal.shape != scores.shape
            or normal.dtype.kind not in "iu"
        ):
            what = f"{len(scores)} integers are wanted, got {normal!r:.60}"
            raise PluginError(self.name, "NormalizeScore", what)
        return normal.astype(np.int64, copy=False)


def filter_by_columns(plugin: Any, handle: Handle) -> RowFilter:
    """The row form of a plugin that has only the column form."""

    def ask(pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        nodes = handle.only(node)
        verdicts: Verdicts | None = plugin.filter_nodes(pod, nodes, state)
        if verdicts is None or not verdicts.codes[0]:
            return None
        return Status(Code(int(verdicts.codes[0])), *nodes.reasons_of(int(verdicts.reasons[0])))

    return ask


def filter_by_rows(plugin: Any) -> ColumnFilter:
    """The column form of a plugin that has only the row form."""

    def ask(pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        found: list[tuple[int, Status]] = []
        ask_row: RowFilter = plugin.filter
        for at, info in enumerate(nodes.infos()):
            if info is not None and (status := ask_row(pod, info, state)) is not None:
                found.append((at, said(plugin.name, "Filter", status)))
        if not found:
            return None
        codes, reasons = np.zeros(nodes.size, np.int8), np.zeros(nodes.size, np.int32)
        for at, status in found:
            codes[at], reasons[at] = status.code, nodes.reason_id(*status.reasons)
        return Verdicts(codes, reasons)

    return ask


def score_by_columns(plugin: Any, handle: Handle) -> RowScore:
    def ask(pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        scores: Any = plugin.score_nodes(pod, handle.only(node), state)
        return scores.item(0) if isinstance(scores, np.ndarray) else scores

    return ask


def score_by_rows(plugin: Any) -> ColumnScore:
    def ask(pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        column = np.zeros(nodes.size, np.int64)
        ask_row: RowScore = plugin.score
        for at, info in enumerate(nodes.infos()):
            if info is not None:
                score: Any = ask_row(pod, info, state)
                column[at] = score if type(score) is int else whole(plugin.name, score)
        return column

    return ask


def whole(name: str, score: Any) -> int:
    """A score that is not a plain int: numpy's integers are welcome, anything else is a bug."""
    if isinstance(score, np.integer):
        return int(score)
    raise PluginError(name, "Score", f"a score must be an integer, got {score!r:.60}")


def read_function(plugin: object) -> Callable[[PodInfo], Hashable] | None:
    """`reads` as a function: it may be one, or a constant such as NOTHING."""
    reads: Any = getattr(plugin, "reads", None)
    if reads is None or callable(reads):
        return reads
    return lambda _pod: reads
