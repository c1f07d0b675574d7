"""The notes of one scheduling attempt: what a plugin's early stages leave for its later ones."""

from collections.abc import Iterator
from typing import Self


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

    def __contains__(self, key: str) -> bool:
        return key in self._values or (self._below is not None and key in self._below)

    def __iter__(self) -> Iterator[str]:
        yield from self._values
        if self._below is not None:
            yield from (key for key in self._below if key not in self._values)
