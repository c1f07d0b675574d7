"""What is wrong with a configuration, in kube-scheduler's words and in detail."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One fault of a configuration, and where it stands.

    kube-scheduler stops at the first kind of fault it meets; a list of problems holds the others
    too, so that one run of a check is enough.
    """

    message: str
    path: str = ""
    """The field, as `profiles[0].plugins.score`; empty where the fault is the whole text."""
    line: int = 0
    """The line of the text, counted from 1; 0 where it is not known."""
    given: str = ""
    """The name that is not known, where the fault is an unknown name."""
    known: tuple[str, ...] = ()
    """The names that would have been right in its place."""


class ConfigError(ValueError):
    """The configuration does not load: `str()` is exactly what kube-scheduler says."""

    def __init__(self, text: str, problems: Iterable[Problem] = ()) -> None:
        super().__init__(text)
        self.problems: tuple[Problem, ...] = tuple(problems) or (Problem(text),)
