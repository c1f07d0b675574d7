"""The places of a queued pod, and each way from one to another.

`SchedulingQueue` knows when a pod moves; this knows what moving means: who must be asked, what is
counted, which index changes. PreEnqueue is asked on every way into the active queue and into
back-off, except from back-off to active, because then it has been asked already.

Reads: the clock. Writes: entries and their places, nominations of pods that enter, the counts.
"""

from collections.abc import Callable

from fairlead.clock import Clock
from fairlead.queue.active import PodHeap, SortKey
from fairlead.queue.backoff import BackoffQueue
from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.events import UNSCHEDULED_POD_ADD, UNSCHEDULED_POD_UPDATE
from fairlead.queue.hints import Strategy
from fairlead.queue.nominator import Nominator
from fairlead.queue.waiting import WaitingPods

PreEnqueue = Callable[[QueuedPodInfo], tuple[str, str] | None]
"""Runs the PreEnqueue plugins of the pod's profile, the one that gates it now first; gives the name
and message of the first that does not let it pass. It must not raise: a plugin that fails gates."""

_NOMINATING = (UNSCHEDULED_POD_ADD.label, UNSCHEDULED_POD_UPDATE.label)


class Places:
    """Active, back-off and waiting: every queued pod is in exactly one of them.

    `incoming` counts pods by (queue, event), `rejections` the queued pods by (plugin, profile) of
    those that rejected their last attempt. Both are read when metrics are scraped.
    """

    __slots__ = (
        "_clock",
        "_pre_enqueue",
        "active",
        "backoff",
        "entries",
        "incoming",
        "nominator",
        "rejections",
        "waiting",
    )

    def __init__(
        self,
        clock: Clock,
        pre_enqueue: PreEnqueue,
        nominator: Nominator,
        sort_key: SortKey,
        backoff: BackoffQueue,
    ) -> None:
        self._clock = clock
        self._pre_enqueue = pre_enqueue
        self.nominator = nominator
        self.active = PodHeap(sort_key)
        self.backoff = backoff
        self.waiting = WaitingPods()
        self.entries: dict[str, QueuedPodInfo] = {}
        self.incoming: dict[tuple[str, str], int] = {}
        self.rejections: dict[tuple[str, str], int] = {}

    def requeue(self, entry: QueuedPodInfo, strategy: Strategy, label: str) -> bool:
        """Put a waiting or returning pod where the strategy says; whether it can be popped now."""
        if strategy == Strategy.SKIP:
            self._put_waiting(entry, label)
            return False
        if strategy == Strategy.AFTER_BACKOFF and self.backoff.is_backing_off(
            entry, self._clock.now()
        ):
            return self._to_backoff(entry, label)
        return self.to_active(entry, label)

    def to_active(self, entry: QueuedPodInfo, label: str) -> bool:
        """Make a pod active unless PreEnqueue holds it back; say whether it is active now."""
        if self._is_held(entry, label):
            return False
        self.put_active(entry, label)
        return True

    def put_active(self, entry: QueuedPodInfo, label: str) -> None:
        """Make a pod active that has passed PreEnqueue and is in no heap."""
        if entry.initial_attempt_timestamp is None:
            entry.initial_attempt_timestamp = self._clock.now()
        if entry.group is not None:
            self.waiting.remove(entry)
        pod = entry.pod
        self.entries[pod.uid] = entry
        self.active.add(entry)
        self.count_incoming("active", label)
        if label in _NOMINATING and (pod.nominated_node_name or self.nominator):
            self.nominator.add(pod)

    def remove(self, entry: QueuedPodInfo) -> None:
        """Take a queued pod out of the queue, wherever it is."""
        del self.entries[entry.pod.uid]
        if entry.heap is not None:
            entry.heap.remove(entry)
        else:
            self.waiting.remove(entry)
        self.count_rejections(entry, -1)

    def pending(self) -> dict[str, int]:
        """How many pods each queue holds, by the names that metrics use."""
        gated = self.waiting.gated
        return {
            "active": len(self.active),
            "backoff": len(self.backoff),
            "unschedulable": len(self.waiting) - gated,
            "gated": gated,
        }

    def count_incoming(self, queue: str, label: str) -> None:
        """Count a pod that entered a queue, by what brought it there."""
        key = (queue, label)
        self.incoming[key] = self.incoming.get(key, 0) + 1

    def count_rejections(self, entry: QueuedPodInfo, by: int) -> None:
        """Count an entry that enters or leaves the queue under each plugin that rejected it."""
        if not entry.unschedulable_plugins and not entry.pending_plugins:
            return
        for plugin in entry.unschedulable_plugins | entry.pending_plugins:
            key = (plugin, entry.pod.scheduler_name)
            self.rejections[key] = self.rejections.get(key, 0) + by

    def _to_backoff(self, entry: QueuedPodInfo, label: str) -> bool:
        if self._is_held(entry, label):
            return False
        if entry.group is not None:
            self.waiting.remove(entry)
        self.entries[entry.pod.uid] = entry
        self.backoff.add(entry)
        self.count_incoming("backoff", label)
        return True

    def _put_waiting(self, entry: QueuedPodInfo, label: str) -> None:
        if entry.group is None:
            self.count_incoming("unschedulable", label)
        self.entries[entry.pod.uid] = entry
        self.waiting.put(entry)

    def _is_held(self, entry: QueuedPodInfo, label: str) -> bool:
        """Ask PreEnqueue; a pod that does not pass waits behind the plugin that said so."""
        verdict = self._pre_enqueue(entry)
        if verdict is None:
            entry.gating_plugin = entry.gating_message = ""
            return False
        plugin, message = verdict
        entry.gating_plugin = plugin
        entry.gating_message = message
        if plugin not in entry.unschedulable_plugins and plugin not in entry.pending_plugins:
            key = (plugin, entry.pod.scheduler_name)
            self.rejections[key] = self.rejections.get(key, 0) + 1
        entry.unschedulable_plugins |= {plugin}
        self._put_waiting(entry, label)
        return True
