"""Evictions that are under way: for whom, and whether its last victim is all that is missing.

Reads: nothing. Writes: its table. Whoever carries evictions out says when one begins and ends; the
plugin that asked for it keeps the pod out of the queue in between.
"""

from fairlead.model.podinfo import PodInfo


class Evictions:
    """The pods for which room is being made, by uid."""

    def __init__(self) -> None:
        self._last: dict[str, PodInfo | None] = {}

    def begin(self, uid: str) -> None:
        self._last[uid] = None

    def await_last(self, uid: str, victim: PodInfo) -> None:
        """All victims but this one have been told to go, and it is being told now.

        Its deletion may be heard of before the answer to the request: then nothing more is coming
        that would wake the pod, so that it must not be held back any longer.
        """
        self._last[uid] = victim

    def end(self, uid: str) -> None:
        self._last.pop(uid, None)

    def under_way(self, uid: str) -> bool:
        return uid in self._last

    def last_victim(self, uid: str) -> PodInfo | None:
        """The victim that is being told to go last; None before its turn has come."""
        return self._last.get(uid)
