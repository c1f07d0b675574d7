"""Label columns: the values of one node label as dense ids, made when a selector asks for the key.

Reads: node labels. Writes: its columns.

Id 0 means that the node lacks the key. Only keys in use have a column, and the least recently
asked one goes when there are too many: selectors come from users, memory does not.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from fairlead.cluster.columns import Columns, Int32, longer

MOST_COLUMNS = 256


class LabelColumn:
    """The values of one key: `ids` by row, `values` to ids."""

    __slots__ = ("ids", "values")

    def __init__(self, room: int) -> None:
        self.ids: Int32 = np.zeros(room, np.int32)
        self.values: dict[str, int] = {}

    def write(self, row: int, value: str | None) -> None:
        if value is None:
            self.ids[row] = 0
            return
        known = self.values
        number = known.get(value)
        if number is None:
            number = known[value] = len(known) + 1
        self.ids[row] = number

    @property
    def stale(self) -> bool:
        """More values have been seen than nodes can have: make it anew."""
        return len(self.values) > 2 * len(self.ids)


class LabelColumns:
    """The columns of the keys that selectors have asked for."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._by_key: dict[str, LabelColumn] = {}

    def column(self, key: str, nodes: Iterable[tuple[int, Mapping[str, str]]]) -> LabelColumn:
        """The column of a key; `nodes` are walked only if there is none yet."""
        column = self._by_key.pop(key, None)
        if column is None or column.stale:
            column = LabelColumn(self._columns.room)
            for row, labels in nodes:
                column.write(row, labels.get(key))
            if len(self._by_key) >= MOST_COLUMNS:
                del self._by_key[next(iter(self._by_key))]
        self._by_key[key] = column
        return column

    def write(self, row: int, labels: Mapping[str, str], old: Mapping[str, str]) -> None:
        for key, column in self._by_key.items():
            value = labels.get(key)
            if value != old.get(key) or value is None:
                column.write(row, value)
        for key in [key for key, column in self._by_key.items() if column.stale]:
            del self._by_key[key]  # it is made anew if anybody asks again

    def grow(self) -> None:
        for column in self._by_key.values():
            column.ids = longer(column.ids, self._columns.room)
