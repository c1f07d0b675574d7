"""Writing that a stage without I/O has decided on: done beside the loop, by whoever may.

Reads: nothing. Writes: its list. Until somebody carries errands out they are kept, up to a bound.
"""

from collections.abc import Awaitable, Callable

from fairlead.framework.stages import Io

Errand = Callable[[Io], Awaitable[None]]
MOST = 1000


class Errands:
    """What is to be written, oldest first."""

    def __init__(self) -> None:
        self._carrier: Callable[[Errand], None] | None = None
        self.waiting: list[Errand] = []

    def ask(self, errand: Errand) -> None:
        """Have it done. If it fails, that is told; a pod that needs it asks again."""
        if self._carrier is not None:
            self._carrier(errand)
        elif len(self.waiting) < MOST:
            self.waiting.append(errand)

    def carried_by(self, carrier: Callable[[Errand], None]) -> None:
        """From now on these are done as they come."""
        self._carrier = carrier
        waiting, self.waiting = self.waiting, []
        for errand in waiting:
            carrier(errand)
