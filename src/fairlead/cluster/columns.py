"""Nodes as columns: one numpy array per fact, one place per node in each.

The arrays are as long as the table has room for, in steps of an eighth: working on all of them
is as fast as on a slice and needs no bookkeeping. Places without a node have `exists` False.
When the room grows all arrays are made anew and `epoch` moves: whoever kept an array drops it.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Mask = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

LIMIT = 2**63 - 1
FIRST_ROOM = 64

QUANTITIES = (
    "allocatable_cpu",
    "allocatable_memory",
    "allocatable_ephemeral_storage",
    "allocatable_pods",
    "requested_cpu",
    "requested_memory",
    "requested_ephemeral_storage",
    "nonzero_cpu",
    "nonzero_memory",
    "pod_count",
)


class Columns:
    """The arrays. Only `NodeTable` writes them."""

    __slots__ = (
        *QUANTITIES,
        "allocatable_scalars",
        "epoch",
        "exists",
        "requested_scalars",
        "room",
        "taint_set",
        "unschedulable",
    )

    allocatable_cpu: Int64
    allocatable_memory: Int64
    allocatable_ephemeral_storage: Int64
    allocatable_pods: Int64
    requested_cpu: Int64
    requested_memory: Int64
    requested_ephemeral_storage: Int64
    nonzero_cpu: Int64
    nonzero_memory: Int64
    pod_count: Int64

    def __init__(self) -> None:
        self.room = FIRST_ROOM
        self.epoch = 0
        for name in QUANTITIES:
            setattr(self, name, np.zeros(FIRST_ROOM, np.int64))
        self.exists: Mask = np.zeros(FIRST_ROOM, np.bool_)
        self.unschedulable: Mask = np.zeros(FIRST_ROOM, np.bool_)
        self.taint_set: Int32 = np.zeros(FIRST_ROOM, np.int32)
        self.allocatable_scalars: dict[str, Int64] = {}
        self.requested_scalars: dict[str, Int64] = {}

    def grow(self) -> None:
        room = self.room + max(FIRST_ROOM, self.room // 8)
        for name in (*QUANTITIES, "exists", "unschedulable", "taint_set"):
            setattr(self, name, longer(getattr(self, name), room))
        for scalars in (self.allocatable_scalars, self.requested_scalars):
            for name, column in scalars.items():
                scalars[name] = longer(column, room)
        self.room = room
        self.epoch += 1

    def begin_scalar(self, name: str, requested: Mapping[int, int]) -> None:
        """Make the columns of an extended resource that a node has for the first time.

        What no node has needs none, whoever requests it: names in pods come from users, and
        memory does not.
        """
        self.allocatable_scalars[name] = np.zeros(self.room, np.int64)
        column = self.requested_scalars[name] = np.zeros(self.room, np.int64)
        for row, amount in requested.items():
            column[row] = capped(amount)


def longer(column: NDArray[Scalar], room: int) -> NDArray[Scalar]:
    """A copy with room at the end, the new places zero."""
    wide = np.zeros(room, column.dtype)
    wide[: len(column)] = column
    return wide


def capped(value: int) -> int:
    """A sum of requests as a column holds it: sums past int64 stay exact in `NodeInfo`."""
    return value if value <= LIMIT else LIMIT
