"""Events that came while a pod was being tried, kept until they can no longer matter.

A pod is in flight from its pop until its attempt is done. What happens in the meantime may be just
what the attempt failed for, so each pod in flight remembers how many events there had been when it
was popped, and asks for the later ones when it comes back. Events before the oldest pod in flight
are dropped.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from fairlead.queue.events import ClusterEvent

Happening = tuple[ClusterEvent, Any, Any]
"""An event with the object before and after."""


class InFlight:
    """The pods in flight and the events since the oldest of them was popped."""

    __slots__ = ("_dropped", "_events", "_seen")

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}  # insertion order is the order of pops
        self._events: deque[Happening] = deque()
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._seen)

    def __contains__(self, uid: object) -> bool:
        return uid in self._seen

    @property
    def kept_events(self) -> int:
        """How many events are kept for the pods in flight."""
        return len(self._events)

    def add(self, uid: str) -> None:
        """A pod was popped."""
        self._seen[uid] = self._dropped + len(self._events)

    def record(self, event: ClusterEvent, old: Any, new: Any) -> None:
        """Keep an event if any pod is in flight."""
        if self._seen:
            self._events.append((event, old, new))

    def record_for(self, uid: str, events: Iterable[ClusterEvent], old: Any, new: Any) -> bool:
        """Keep events about one pod if that pod is in flight; say whether it is."""
        if uid not in self._seen:
            return False
        self._events.extend((event, old, new) for event in events)
        return True

    def events_since_pop(self, uid: str) -> Iterator[Happening]:
        """What happened since this pod was popped, in order; the pod must be in flight."""
        return islice(self._events, self._seen[uid] - self._dropped, None)

    def done(self, uid: str) -> None:
        """The attempt is over, or needs no more events; calling it again does nothing."""
        seen = self._seen.pop(uid, None)
        if seen is None or not self._events or seen != self._dropped:
            return
        oldest = next(iter(self._seen.values()), None)
        if oldest is None:
            self._dropped += len(self._events)
            self._events.clear()
            return
        while self._dropped < oldest:
            self._events.popleft()
            self._dropped += 1
