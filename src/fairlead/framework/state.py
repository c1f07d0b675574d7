"""The notes of one scheduling attempt: what a plugin's early stages leave for its later ones."""

from collections.abc import Iterator
from typing import Any, Self


class CycleState:
    """A small store with typed use: one key, one kind of value, chosen by the plugin that writes.

    A state may stand on another one: what a plugin noted for every pod of the same kind is read
    through, and never written to.
    """

    __slots__ = ("_below", "_values")

    def __init__(self, below: Self | None = None) -> None:
        self._below = below
        self._values: dict[str, object] = {}

    def write(self, key: str, value: object) -> None:
        self._values[key] = value

    def read(self, key: str) -> object:
        """The value; KeyError if no stage has written it in this attempt."""
        if key in self._values:
            return self._values[key]
        if self._below is None:
            raise KeyError(key)
        return self._below.read(key)

    def own(self, key: str) -> Any:
        """The value as this state's own, to be changed: a `clone()` of what stands below it.

        This is how a trial counts pods in what PreFilter noted and leaves the notes as they were.
        """
        value: Any = self._values.get(key)
        if value is None:
            below: Any = self.read(key)
            value = self._values[key] = below.clone()
        return value

    def __contains__(self, key: str) -> bool:
        state: CycleState | None = self
        while state is not None:
            if key in state._values:
                return True
            state = state._below
        return False

    def __iter__(self) -> Iterator[str]:
        yield from self._values
        if self._below is not None:
            yield from (key for key in self._below if key not in self._values)
