"""Nodes asked all at once: columns in, one verdict per node out."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairlead.cluster.columns import Int64, Mask, capped
from fairlead.cluster.labels import LabelColumn
from fairlead.cluster.nodes import NodeInfo, NodeTable
from fairlead.cluster.taints import TaintSet
from fairlead.framework.status import Code

Codes = NDArray[np.int8]
Ids = NDArray[np.int32]
Rows = NDArray[np.intp]


MANY_REASONS = 65_536


class Reasons:
    """Tuples of reasons as small ids. Id 0 is no reason.

    A plugin may put numbers into its words, so that new ones come for ever: once there are too
    many, whoever keeps ids drops them all and calls `forget`.
    """

    __slots__ = ("_ids", "tuples")

    def __init__(self) -> None:
        self.forget()

    @property
    def full(self) -> bool:
        return len(self.tuples) > MANY_REASONS

    def forget(self) -> None:
        self.tuples: list[tuple[str, ...]] = [()]
        self._ids: dict[tuple[str, ...], int] = {(): 0}

    def id(self, reasons: tuple[str, ...]) -> int:
        number = self._ids.get(reasons)
        if number is None:
            number = self._ids[reasons] = len(self.tuples)
            self.tuples.append(reasons)
        return number


class Verdicts:
    """A code and the id of its reasons for each node of a set."""

    __slots__ = ("codes", "reasons")

    def __init__(self, codes: Codes, reasons: Ids) -> None:
        self.codes = codes
        self.reasons = reasons

    def over(self, below: "Verdicts") -> "Verdicts":
        """This verdict where it refuses, the one below elsewhere."""
        mine = self.codes != 0
        return Verdicts(
            np.where(mine, self.codes, below.codes), np.where(mine, self.reasons, below.reasons)
        )


NO_ROWS: Rows = np.zeros(0, np.intp)
NO_VERDICTS = Verdicts(np.zeros(0, np.int8), np.zeros(0, np.int32))


def trouble(codes: Codes) -> bool:
    """Whether a filter gave another code than yes or no anywhere."""
    return bool(((codes == Code.ERROR) | (codes == Code.WAIT) | (codes == Code.SKIP)).any())


class Imagined(Protocol):
    """Nodes as they would be: the columns that pods change, from elsewhere than the table.

    What is not known of them is a KeyError: whoever imagines asks in another way then.
    """

    def quantity(self, name: str, rows: Rows | None) -> Int64: ...
    def requested_scalar(self, name: str, rows: Rows | None) -> Int64 | None: ...
    def infos(self) -> Sequence[NodeInfo | None]: ...


class OneNode:
    """One node as columns of one value each; it may be the copy of a trial."""

    __slots__ = ("node",)

    def __init__(self, node: NodeInfo) -> None:
        self.node = node

    def quantity(self, name: str, rows: Rows | None) -> Int64:  # noqa: ARG002 - there is one
        return np.array([capped(getattr(self.node, name))], np.int64)

    def requested_scalar(self, name: str, rows: Rows | None) -> Int64 | None:  # noqa: ARG002
        return np.array([capped(self.node.requested(name))], np.int64)

    def infos(self) -> Sequence[NodeInfo | None]:
        return [self.node]


class NodeSet:
    """Some nodes, or all, as columns.

    `rows` is None for all: then there are places without a node among them, whose values are
    zero and whose verdicts nobody reads. Rows may also be found only when somebody looks.
    """

    __slots__ = ("_find", "_imagined", "_reasons", "_rows", "table")

    def __init__(
        self,
        table: NodeTable,
        reasons: Reasons,
        rows: Rows | None = None,
        find: Callable[[], Rows] | None = None,
        imagined: Imagined | None = None,
    ) -> None:
        self.table = table
        self._rows = rows
        self._find = find
        self._imagined = imagined
        self._reasons = reasons

    @property
    def rows(self) -> Rows | None:
        if self._find is not None:
            self._rows, self._find = self._find(), None
        return self._rows

    def found(self) -> Rows:
        """The rows as an array, whichever way the nodes are given."""
        rows = self.rows
        return np.flatnonzero(self.table.columns.exists) if rows is None else rows

    @property
    def size(self) -> int:
        rows = self.rows
        return self.table.columns.room if rows is None else len(rows)

    def column(self, name: str) -> Int64:
        """A quantity of the nodes by name, see `cluster.columns.QUANTITIES`; do not write to it."""
        if self._imagined is not None:
            return self._imagined.quantity(name, self.rows)
        return self._cut(getattr(self.table.columns, name))

    def allocatable(self, resource: str) -> Int64:
        return self._resource(resource, "allocatable_", self.table.columns.allocatable_scalars)

    def requested(self, resource: str) -> Int64:
        return self._resource(resource, "requested_", self.table.columns.requested_scalars)

    def exists(self) -> Mask:
        """Where there is a node at all."""
        column = self.table.columns.exists
        return column if self.rows is None else column[self.rows]

    def unschedulable(self) -> Mask:
        column = self.table.columns.unschedulable
        return column if self.rows is None else column[self.rows]

    def taint_sets(self) -> tuple[Sequence[TaintSet], Ids]:
        """The distinct lists of taints, and which of them each node has."""
        ids = self.table.columns.taint_set
        return self.table.taints.sets, ids if self.rows is None else ids[self.rows]

    def label(self, key: str) -> tuple[dict[str, int], Ids]:
        """The known values of a label by id, and each node's id; 0 is a node without the label."""
        column: LabelColumn = self.table.labels.column(
            key, ((info.row, info.labels) for info in self.table.all())
        )
        return column.values, column.ids if self.rows is None else column.ids[self.rows]

    def named(self, names: frozenset[str]) -> Mask:
        """Which of the nodes have one of these names."""
        known = self.table.rows
        rows = [row for name in names if (row := known.get(name)) is not None]
        mask = np.zeros(self.table.columns.room, np.bool_)
        mask[rows] = True
        return mask if self.rows is None else mask[self.rows]

    def infos(self) -> list[NodeInfo | None]:
        """The nodes one by one, for what has no column; None where there is no node."""
        if self._imagined is not None:
            return list(self._imagined.infos())
        infos = self.table.infos
        if self.rows is None:
            return [*infos, *[None] * (self.size - len(infos))]
        return [infos[row] for row in self.rows]

    def reject(self, mask: Mask, *reasons: str, code: Code = Code.UNSCHEDULABLE) -> Verdicts | None:
        """The verdict that refuses the nodes of the mask; None when there are none."""
        if not mask.any():
            return None
        number = self._reasons.id(reasons)
        return Verdicts(
            np.where(mask, np.int8(code), np.int8(0)), np.where(mask, np.int32(number), np.int32(0))
        )

    def reason_id(self, *reasons: str) -> int:
        return self._reasons.id(reasons)

    def reasons_of(self, number: int) -> tuple[str, ...]:
        return self._reasons.tuples[number]

    def _resource(self, resource: str, prefix: str, scalars: dict[str, Int64]) -> Int64:
        if resource in ("cpu", "memory", "ephemeral-storage"):
            return self.column(prefix + resource.replace("-", "_"))
        if self._imagined is not None and prefix == "requested_":
            column = self._imagined.requested_scalar(resource, self.rows)
            return np.zeros(self.size, np.int64) if column is None else column
        column = scalars.get(resource)
        return np.zeros(self.size, np.int64) if column is None else self._cut(column)

    def _cut(self, column: Int64) -> Int64:
        return column if self.rows is None else column[self.rows]
