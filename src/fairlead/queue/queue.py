"""Which pod next: the scheduling queue of all profiles.

A pod is in one place at a time: active (to be tried now), in back-off, waiting (unschedulable or
gated), or in flight (popped and not done). Failures bring it from flight to waiting or back-off;
events and updates bring it from waiting to back-off or active; the clock brings it from back-off
to active, and so does an idle scheduler.

Nothing here blocks or sleeps: `wake` is called when there is something to pop, `flush_backoff` is
due at `next_flush`, `flush_unschedulable` every half minute.

Reads: the clock, the registered hints. Writes: entries, their places, the nominations.
"""

from collections.abc import Callable, Iterable, Iterator, KeysView
from typing import Any

import msgspec

from fairlead.clock import Clock
from fairlead.model.podinfo import PodInfo
from fairlead.queue.active import SortKey, priority_sort_key
from fairlead.queue.backoff import BackoffQueue
from fairlead.queue.entry import NOT_COMPUTED, QueuedPodInfo
from fairlead.queue.events import (
    ASSIGNED_POD_DELETE,
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    FORCE_ACTIVATED,
    POP_FROM_BACKOFF_Q,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_UPDATE,
    ClusterEvent,
)
from fairlead.queue.extraction import pod_update_events
from fairlead.queue.hints import Hints, Strategy
from fairlead.queue.inflight import InFlight
from fairlead.queue.nominator import Nominator
from fairlead.queue.places import Places, PreEnqueue

_POD_ADD = UNSCHEDULED_POD_ADD.label
_POD_UPDATE = UNSCHEDULED_POD_UPDATE.label


class QueueTimes(msgspec.Struct, frozen=True):
    """The durations that the configuration sets, in seconds."""

    initial_backoff: float = 1.0
    max_backoff: float = 10.0
    max_in_unschedulable: float = 300.0


class SchedulingQueue:
    """All pods that wait to be scheduled, and those being scheduled now."""

    __slots__ = ("_clock", "_hints", "_in_flight", "_max_in_unschedulable", "_places", "_wake")

    def __init__(
        self,
        clock: Clock,
        hints: Hints,
        *,
        pre_enqueue: PreEnqueue,
        wake: Callable[[], None],
        sort_key: SortKey = priority_sort_key,
        times: QueueTimes | None = None,
        nominator: Nominator | None = None,
    ) -> None:
        times = times or QueueTimes()
        self._clock = clock
        self._hints = hints
        self._wake = wake
        self._max_in_unschedulable = times.max_in_unschedulable
        self._places = Places(
            clock,
            pre_enqueue,
            Nominator() if nominator is None else nominator,
            sort_key,
            BackoffQueue(sort_key, times.initial_backoff, times.max_backoff),
        )
        self._in_flight = InFlight()

    # What is there.

    def __len__(self) -> int:
        """How many pods are queued; those in flight are not."""
        return len(self._places.entries)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """The queued pods, in no particular order."""
        return iter(self._places.entries.values())

    def get(self, uid: str) -> QueuedPodInfo | None:
        """The entry of a queued pod; None when it is in flight or unknown."""
        return self._places.entries.get(uid)

    @property
    def in_flight(self) -> int:
        """How many pods were popped and are not done."""
        return len(self._in_flight)

    @property
    def nominator(self) -> Nominator:
        """Which pods are promised which node."""
        return self._places.nominator

    def pending(self) -> dict[str, int]:
        """How many pods each queue holds, by the names that metrics use."""
        return self._places.pending()

    def incoming(self) -> dict[tuple[str, str], int]:
        """How many pods ever entered a queue, by (queue, event)."""
        return self._places.incoming

    def rejections(self) -> dict[tuple[str, str], int]:
        """How many queued pods each plugin rejected last time, by (plugin, profile)."""
        return self._places.rejections

    @property
    def nominations(self) -> int:
        """A number that changes with every nomination."""
        return self.nominator.version

    def nominated_nodes(self) -> KeysView[str]:
        """The names of the nodes that some pod is nominated to."""
        return self.nominator.nodes()

    def nominated_pods(self, node_name: str) -> tuple[PodInfo, ...]:
        """The pods nominated to a node, each in the newest version that is queued."""
        entries = self._places.entries
        return tuple(
            entries[pod.uid].pod if pod.uid in entries else pod
            for pod in self.nominator.pods_of(node_name)
        )

    # Pods come, change and go.

    def add(self, pod: PodInfo) -> None:
        """Queue a pod that has no node yet; one that is queued already counts as updated."""
        known = self._places.entries.get(pod.uid)
        if known is not None:
            self.update(known.pod, pod)
        elif self._places.to_active(QueuedPodInfo(pod, self._clock.now()), _POD_ADD):
            self._wake()

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Follow a change of a pod without a node, and move it if the change may help it.

        A pod in flight is decided as it was when it was popped; the change is asked about when it
        comes back. Another uid under the old name is another pod. The caller leaves out pods that
        are assumed: their attempt is done, and they would be queued a second time.
        """
        if old.uid != new.uid:
            self.delete(old)
            self.add(new)
            return
        if old.resource_version == new.resource_version:
            return
        self._follow(old, new)
        if old.nominated_node_name and old.nominated_node_name != new.nominated_node_name:
            self.nomination_released(old)

    def _follow(self, old: PodInfo, new: PodInfo) -> None:
        events = pod_update_events(old, new)
        if self._in_flight.record_for(new.uid, events, old, new):
            return
        entry = self._places.entries.get(new.uid)
        if entry is None:
            if self._places.to_active(QueuedPodInfo(new, self._clock.now()), _POD_UPDATE):
                self._wake()
            return
        entry.replace_pod(new)
        self.nominator.update(old, new)
        if entry.heap is not None:
            entry.heap.reorder(entry)
            return
        for event in events:
            strategy = self._hints.strategy(entry, event, old, new)
            if self._places.requeue(entry, strategy, event.label):
                self._wake()
                break

    def delete(self, pod: PodInfo) -> None:
        """Forget a pod that is gone or has got a node; an attempt under way goes on until done."""
        self.nominator.delete(pod)
        entry = self._places.entries.get(pod.uid)
        if entry is not None:
            self._places.remove(entry)

    def nomination_released(self, pod: PodInfo) -> None:
        """Tell pods of at most its priority that a nominated pod no longer holds its node.

        They had to treat it as if it ran there, so for them it is as if it had been deleted.
        """
        priority = pod.priority
        self.move_all(ASSIGNED_POD_DELETE, pod, None, only=lambda each: each.priority <= priority)

    # An attempt begins and ends.

    def pop(self) -> QueuedPodInfo | None:
        """Take the next pod, which is in flight from now until `done`; None when there is none.

        When nothing is active, the first pod in back-off is taken before its time.
        """
        while True:
            entry = self._places.active.pop()
            if entry is None:
                entry = self._places.backoff.pop()
                if entry is None:
                    return None
                self._places.count_incoming("active", POP_FROM_BACKOFF_Q)
            uid = entry.pod.uid
            del self._places.entries[uid]
            self._places.count_rejections(entry, -1)
            if uid in self._in_flight:
                continue  # an attempt for the same pod is under way already
            entry.attempts += 1
            self._in_flight.add(uid)
            return entry

    def done(self, uid: str) -> None:
        """The attempt needs no more events; calling it again, or for a queued pod, is harmless."""
        self._in_flight.done(uid)

    def add_unschedulable_if_not_present(self, entry: QueuedPodInfo) -> bool:
        """Take back a pod whose attempt failed; False when it is queued already.

        The caller has recorded who rejected it (`rejected_by`) and given the entry the newest
        version of the pod. Nobody means an error: it is tried again after a back-off, whatever
        happens. A rejected pod waits, unless an event came during the attempt that may help it.
        """
        uid = entry.pod.uid
        if uid in self._places.entries:
            self._in_flight.done(uid)
            return False
        if entry.unschedulable_plugins or entry.pending_plugins:
            entry.unschedulable_count += 1
            entry.consecutive_errors_count = 0
        else:
            entry.consecutive_errors_count += 1
        entry.timestamp = self._clock.now()
        entry.backoff_expiration = NOT_COMPUTED
        entry.was_flushed_from_unschedulable = False
        self._places.count_rejections(entry, 1)
        strategy = self._strategy_after_attempt(entry)
        self._in_flight.done(uid)
        if self._places.requeue(entry, strategy, SCHEDULE_ATTEMPT_FAILURE):
            self._wake()
        return True

    def _strategy_after_attempt(self, entry: QueuedPodInfo) -> Strategy:
        """The best that any event of the attempt's time suggests, in the order they came."""
        uid = entry.pod.uid
        rejected = entry.unschedulable_plugins or entry.pending_plugins
        if not rejected or uid not in self._in_flight:
            return Strategy.AFTER_BACKOFF
        enough = Strategy.IMMEDIATELY if entry.pending_plugins else Strategy.AFTER_BACKOFF
        best, hints, rejection = Strategy.SKIP, self._hints, entry.rejection
        for event, old, new in self._in_flight.events_since_pop(uid):
            plan = hints.plan(rejection, event)
            if plan:
                best = max(best, hints.ask(plan, entry.pod, event, old, new))
                if best >= enough:
                    break
        return best

    # The world changes.

    def move_all(
        self,
        event: ClusterEvent,
        old: Any = None,
        new: Any = None,
        only: Callable[[PodInfo], bool] | None = None,
    ) -> None:
        """Move the waiting pods that an event may help, and remember it for the pods in flight.

        `only` narrows it to certain waiting pods, by pod. An event that no plugin of any profile
        registered ends here, even for pods in flight. A gated pod is asked about only if its
        gating plugin registered the event.
        """
        if not self._hints.is_of_interest(event):
            return
        hints, label, moved = self._hints, event.label, False
        # All is collected before anything moves: a pod that is gated anew enters another group,
        # and must not be asked twice about one event.
        concerned = [
            (group, plan, list(group.entries.values()))
            for group in self._places.waiting.groups()
            if self._reaches(group.rejection.gating_plugin, event)
            and (plan := hints.plan(group.rejection, event))
        ]
        for group, plan, entries in concerned:
            for entry in entries:
                if entry.group is not group or (only is not None and not only(entry.pod)):
                    continue
                strategy = hints.ask(plan, entry.pod, event, old, new)
                if strategy != Strategy.SKIP:
                    self._places.waiting.remove(entry)
                    moved |= self._places.requeue(entry, strategy, label)
        self._in_flight.record(event, old, new)
        if moved:
            self._wake()

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Make these pods active at once, back-off or not; PreEnqueue is asked all the same.

        For one in flight it is remembered, so that it does not end up waiting. Others are ignored.
        """
        activated = False
        for pod in pods:
            entry = self._places.entries.get(pod.uid)
            if entry is None:
                self._in_flight.record_for(pod.uid, (FORCE_ACTIVATED,), None, pod)
            elif entry.group is not None:
                activated |= self._places.to_active(entry, FORCE_ACTIVATE)
            elif entry.heap is not None and entry.heap is not self._places.active:
                entry.heap.remove(entry)
                self._places.put_active(entry, FORCE_ACTIVATE)
                activated = True
        if activated:
            self._wake()

    # Time passes.

    def next_flush(self) -> float | None:
        """When `flush_backoff` will next have something to move, or None when nothing waits."""
        return self._places.backoff.next_completion()

    def flush_backoff(self) -> None:
        """Make active what has waited out its back-off.

        PreEnqueue is not asked: it was, when the pod entered the back-off.
        """
        completed = self._places.backoff.pop_completed(self._clock.now())
        for entry in completed:
            self._places.put_active(entry, BACKOFF_COMPLETE)
        if completed:
            self._wake()

    def flush_unschedulable(self) -> None:
        """Try again what has been unschedulable for longer than anybody should be.

        Hints are not asked, back-off counts. Gated pods stay, unless their plugin registered
        everything there is. Pods in flight hear of it even if none but gated ones are overdue, as
        in kube-scheduler.
        """
        oldest = self._clock.now() - self._max_in_unschedulable
        overdue = [entry for entry in self._places.waiting if entry.timestamp < oldest]
        if not overdue:
            return
        label, moved = UNSCHEDULABLE_TIMEOUT.label, False
        for entry in overdue:
            if self._reaches(entry.gating_plugin, UNSCHEDULABLE_TIMEOUT):
                entry.was_flushed_from_unschedulable = True
                self._places.waiting.remove(entry)
                moved |= self._places.requeue(entry, Strategy.AFTER_BACKOFF, label)
        self._in_flight.record(UNSCHEDULABLE_TIMEOUT, None, None)
        if moved:
            self._wake()

    def _reaches(self, gating_plugin: str, event: ClusterEvent) -> bool:
        return not gating_plugin or self._hints.may_ungate(gating_plugin, event)
