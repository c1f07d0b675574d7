"""Taint sets: nodes with the same taints share one id, so that a pod is asked once per set.

Reads: node taints. Writes: the `taint_set` column.
"""

from fairlead.cluster.columns import Columns
from fairlead.model.node import Taint

TaintSet = tuple[Taint, ...]


class TaintSets:
    """The distinct lists of taints, by id; id 0 is the empty one."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.sets: list[TaintSet] = [()]
        self._ids: dict[TaintSet, int] = {(): 0}
        self._users: list[int] = [0]
        self._free: list[int] = []

    def write(self, row: int, taints: TaintSet, old: TaintSet) -> None:
        """Give the row the id of its taints; an id that nobody has any more is used again."""
        if taints:
            self._columns.taint_set[row] = self._take(taints)
        else:
            self._columns.taint_set[row] = 0
        if old:
            number = self._ids[old]
            self._users[number] -= 1
            if not self._users[number]:
                del self._ids[old]
                self.sets[number] = ()
                self._free.append(number)

    def _take(self, taints: TaintSet) -> int:
        number = self._ids.get(taints)
        if number is None:
            if self._free:
                number = self._free.pop()
                self.sets[number] = taints
            else:
                number = len(self.sets)
                self.sets.append(taints)
                self._users.append(0)
            self._ids[taints] = number
        self._users[number] += 1
        return number
