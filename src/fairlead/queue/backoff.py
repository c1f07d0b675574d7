"""Pods that wait out a back-off before they may be tried again.

Two heaps: pods that plugins rejected, in the order (expiry, QueueSort), and pods whose attempt
ended in an error, in the order of expiry. Only the first may be popped early when there is nothing
else to do: errors are slowed down to protect the API server, rejections only to save cycles.

Expiries are whole seconds, rounded down, and a pod is still backing off in the very second of its
expiry. Within one second pods therefore leave by priority, and a real wait is a little shorter or
longer than the nominal one.
"""

import math

from fairlead.queue.active import PodHeap, SortKey
from fairlead.queue.entry import NOT_COMPUTED, QueuedPodInfo

_NANOSECONDS = 1_000_000_000


class BackoffQueue:
    """The pods in back-off, and the rules for how long.

    Reads: timestamps and failure counts of entries. Writes: their cached `backoff_expiration`.
    """

    __slots__ = ("_errors", "_initial", "_max", "_rejected")

    def __init__(self, sort_key: SortKey, initial_seconds: float, max_seconds: float) -> None:
        # Integer nanoseconds, because the doubling is defined by shifts of these.
        self._initial = round(initial_seconds * _NANOSECONDS)
        self._max = round(max_seconds * _NANOSECONDS)
        self._rejected = PodHeap(lambda entry: (self.expiration(entry), *sort_key(entry)))
        self._errors = PodHeap(lambda entry: (self.expiration(entry),))

    def __len__(self) -> int:
        return len(self._rejected) + len(self._errors)

    def duration(self, count: int) -> float:
        """Seconds of back-off after `count` failures: doubled from the initial up to the largest.

        The largest is shifted down instead of the initial up, so no count is too large.
        """
        if count == 0:
            return 0.0
        shift = count - 1
        if self._initial > self._max >> shift:
            return self._max / _NANOSECONDS
        return (self._initial << shift) / _NANOSECONDS

    def expiration(self, entry: QueuedPodInfo) -> float:
        """The whole second in which the back-off ends; minus infinity when there is none.

        It counts failures, not attempts: consecutive errors if the last attempt was one, otherwise
        rejections. The answer is kept until the next failure, which resets it.
        """
        if self._max == 0:
            return NOT_COMPUTED
        count = entry.consecutive_errors_count or entry.unschedulable_count
        if count == 0:
            return NOT_COMPUTED
        if entry.backoff_expiration == NOT_COMPUTED:
            entry.backoff_expiration = float(math.floor(entry.timestamp + self.duration(count)))
        return entry.backoff_expiration

    def is_backing_off(self, entry: QueuedPodInfo, now: float) -> bool:
        """Whether the pod must still wait; in the second of its expiry it must."""
        return self.expiration(entry) >= math.floor(now)

    def add(self, entry: QueuedPodInfo) -> None:
        """Put in a pod; one that nobody rejected goes to the errors."""
        rejected = entry.unschedulable_plugins or entry.pending_plugins
        (self._rejected if rejected else self._errors).add(entry)

    def pop(self) -> QueuedPodInfo | None:
        """Take the first of the rejected pods before its time; never one of the errors."""
        return self._rejected.pop()

    def pop_completed(self, now: float) -> list[QueuedPodInfo]:
        """Take out all pods whose back-off is over: the rejected ones, then the errors."""
        completed: list[QueuedPodInfo] = []
        for heap in (self._rejected, self._errors):
            while (entry := heap.peek()) is not None and not self.is_backing_off(entry, now):
                heap.pop()
                completed.append(entry)
        return completed

    def next_completion(self) -> float | None:
        """When `pop_completed` will next have something to give, or None when nothing waits."""
        heads = (self._rejected.peek(), self._errors.peek())
        times = [self.expiration(entry) for entry in heads if entry is not None]
        return min(times) + 1.0 if times else None
