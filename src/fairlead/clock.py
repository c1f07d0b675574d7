"""Where time comes from: the only module of the product that asks the operating system for it.

Everything that decides takes a `Clock`, so that a test, a simulation or a replay can own time.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Monotonic seconds: for measuring and waiting, never for telling the time of day."""

    def now(self) -> float: ...


class WallClock(Protocol):
    """Seconds since the epoch: for what people and the API server read, never for measuring."""

    def wall(self) -> float: ...


class SystemClock:
    """The machine's own clocks; both methods are the C functions themselves."""

    __slots__ = ()

    now = staticmethod(time.monotonic)
    wall = staticmethod(time.time)
