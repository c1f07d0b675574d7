"""The queue against any history: no pod is lost, none is in two places, order and counts hold.

Beside the queue runs a plain account of where each pod should be, made only of what the rules say
about one step; the two are compared after each step.
"""

import math
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.events import (
    ASSIGNED_POD_DELETE,
    DELETE,
    FORCE_ACTIVATED,
    NODE_ADD,
    NODE_DELETE,
    POD,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_UPDATE,
    UPDATE,
    ActionType,
    ClusterEvent,
)
from fairlead.queue.queue import QueueTimes
from tests.unit.queue.fakes import PROFILE, FakePod, Stage, gates_hold, stage

GATES = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
REGISTRATIONS: dict[str, Any] = {
    "SchedulingGates": [(ClusterEvent(POD, GATES), None)],
    "Fit": [(NODE_ADD, lambda pod, old, new: pod.priority > 0)],
    "Affinity": [(NODE_ADD, None), (ClusterEvent(POD, UPDATE), None)],
    "Claims": [(ClusterEvent(POD, DELETE), lambda pod, old, new: pod.priority != 1)],
    "Silent": [],
    "Old": None,
}
PLUGINS = st.frozensets(st.sampled_from([*REGISTRATIONS][1:]), max_size=3)


def gates_or_quota(entry: QueuedPodInfo) -> tuple[str, str] | None:
    if entry.pod.labels.get("quota") == "none":
        return ("Old", "no quota left")
    return gates_hold(entry)


class QueueStates(RuleBasedStateMachine):
    """Any order of everything that may happen to a queue."""

    in_flight = Bundle("in_flight")

    @initialize(initial=st.sampled_from([1, 3]), largest=st.sampled_from([0, 1, 10]))
    def start(self, initial: int, largest: int) -> None:
        self.initial, self.largest = initial, largest
        self.at: Stage = stage(
            REGISTRATIONS,
            pre_enqueue=gates_or_quota,
            times=QueueTimes(initial, largest),
        )
        self.pods: dict[str, FakePod] = {}
        self.flying: dict[str, QueuedPodInfo] = {}
        self.happened: dict[str, set[ClusterEvent]] = {}  # to the world, by pod in flight
        self.number = 0

    def expected_expiry(self, entry: QueuedPodInfo) -> float:
        """Back-off as a slow person would work it out: double it until it is too much."""
        failures = entry.consecutive_errors_count or entry.unschedulable_count
        if self.largest == 0 or failures == 0:
            return -math.inf
        duration = self.initial
        for _ in range(failures - 1):
            duration *= 2
        return int(entry.timestamp + min(duration, self.largest))

    @rule(priority=st.integers(-1, 2), gated=st.booleans(), nominated=st.sampled_from(["", "n1"]))
    def add(self, priority: int, gated: bool, nominated: str) -> None:
        self.number += 1
        pod = FakePod(
            f"pod-{self.number}",
            priority,
            nominated_node_name=nominated,
            scheduling_gates=("g",) if gated else (),
        )
        self.pods[pod.uid] = pod
        self.at.queue.add(pod)

    @rule(data=st.data(), quota=st.sampled_from(["none", "some"]), ungate=st.booleans())
    def update(self, data: st.DataObject, quota: str, ungate: bool) -> None:
        if not self.pods:
            return
        old = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        gates = () if ungate else old.scheduling_gates
        new = old.but(labels={"quota": quota}, scheduling_gates=gates)
        self.pods[old.uid] = new
        if old.uid in self.flying:
            self.tell_those_in_flight(UNSCHEDULED_POD_UPDATE)
        self.at.queue.update(old, new)
        if old.uid not in self.flying:
            queued = self.at.queue.get(old.uid)
            assert queued is not None
            assert queued.pod is new

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if self.pods:
            pod = self.pods.pop(data.draw(st.sampled_from(sorted(self.pods))))
            self.at.queue.delete(pod)

    @rule(target=in_flight)
    def pop(self) -> Any:
        now = self.at.clock.now()
        active = [e for e in self.at.queue if self.place(e) == "active"]
        early = [e for e in self.at.queue if self.place(e) == "backoff" and self.rejectors(e)]
        entry = self.at.queue.pop()
        if active:
            assert entry is not None
            first = min((-e.pod.priority, e.timestamp) for e in active)
            assert (-entry.pod.priority, entry.timestamp) == first
        elif early:
            assert entry is not None
            assert self.expected_expiry(entry) == min(map(self.expected_expiry, early))
            assert self.expected_expiry(entry) >= math.floor(now) or not active
        if entry is None:
            assert not active
            assert not early
            return multiple()
        self.flying[entry.pod.uid] = entry
        self.happened[entry.pod.uid] = set()
        return entry.pod.uid

    @rule(uid=consumes(in_flight), plugins=PLUGINS, pending=PLUGINS)
    def fail(self, uid: str, plugins: frozenset[str], pending: frozenset[str]) -> None:
        entry = self.flying.pop(uid, None)
        if entry is None:
            return
        if uid not in self.pods:
            self.at.queue.done(uid)
            return
        entry.replace_pod(self.pods[uid])
        entry.rejected_by(plugins, pending - plugins)
        assert self.at.queue.add_unschedulable_if_not_present(entry)
        assert entry.timestamp == self.at.clock.now()
        if "Affinity" in entry.unschedulable_plugins and NODE_ADD in self.happened[uid]:
            assert self.place(entry) != "unschedulable"
        if plugins | pending and not self.happened[uid]:
            assert self.place(entry) == "unschedulable"
        if not plugins | pending:
            assert self.place(entry) != "unschedulable"

    @rule(uid=consumes(in_flight))
    def succeed(self, uid: str) -> None:
        if self.flying.pop(uid, None) is not None:
            self.at.queue.done(uid)
            pod = self.pods.pop(uid, None)
            if pod is not None:
                self.at.queue.delete(pod)

    @rule(event=st.sampled_from([NODE_ADD, NODE_DELETE, ASSIGNED_POD_DELETE]))
    def happen(self, event: ClusterEvent) -> None:
        before = {e.pod.uid: (e, self.place(e), self.helps(e, event)) for e in self.at.queue}
        self.at.queue.move_all(event)
        for entry, place, helped in before.values():
            if place in ("active", "backoff") or not helped:
                assert self.place(entry) == place
            elif gates_or_quota(entry) is not None:
                assert self.place(entry) == "gated"
            elif self.expected_expiry(entry) >= math.floor(self.at.clock.now()):
                assert self.place(entry) in ("backoff", "active")
            else:
                assert self.place(entry) == "active"
        self.tell_those_in_flight(event)

    def helps(self, entry: QueuedPodInfo, event: ClusterEvent) -> bool:
        """Whether an event moves a waiting pod, by the registrations above told again."""
        priority = entry.pod.priority
        says = {
            NODE_ADD: {"Fit": priority > 0, "Affinity": True, "Old": True},
            NODE_DELETE: {"Old": True},
            ASSIGNED_POD_DELETE: {"Claims": priority != 1, "Old": True},
        }[event]
        if entry.gated and entry.gating_plugin not in says:
            return False
        return any(says.get(plugin, False) for plugin in self.rejectors(entry))

    def tell_those_in_flight(self, event: ClusterEvent) -> None:
        """All of them, though it happened to one: kube-scheduler has one list of events too."""
        for events in self.happened.values():
            events.add(event)

    @rule(data=st.data())
    def activate(self, data: st.DataObject) -> None:
        if self.pods:
            pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
            if pod.uid in self.flying:
                self.tell_those_in_flight(FORCE_ACTIVATED)
            self.at.queue.activate([pod])
            entry = self.at.queue.get(pod.uid)
            assert entry is None or self.place(entry) in ("active", "gated")

    @rule(seconds=st.sampled_from([0.3, 0.7, 1.0, 2.5, 11.0, 301.0]))
    def time_passes(self, seconds: float) -> None:
        self.at.clock.step(seconds)

    @rule()
    def flush_backoff(self) -> None:
        self.at.queue.flush_backoff()
        second = math.floor(self.at.clock.now())
        for entry in self.at.queue:
            if self.place(entry) == "backoff":
                assert self.expected_expiry(entry) >= second
        due = self.at.queue.next_flush()
        assert due is None or due > self.at.clock.now()

    @rule()
    def flush_unschedulable(self) -> None:
        self.tell_those_in_flight(UNSCHEDULABLE_TIMEOUT)
        self.at.queue.flush_unschedulable()
        oldest = self.at.clock.now() - 300
        for entry in self.at.queue:
            if self.place(entry) == "unschedulable":
                assert entry.timestamp >= oldest

    def place(self, entry: QueuedPodInfo) -> str:
        """Where an entry says that it is."""
        if entry.group is not None:
            assert entry.heap is None
            return "gated" if entry.gated else "unschedulable"
        assert entry.heap is not None
        places = self.at.queue._places  # pyright: ignore[reportPrivateUsage]
        return "active" if entry.heap is places.active else "backoff"

    def rejectors(self, entry: QueuedPodInfo) -> frozenset[str]:
        return entry.unschedulable_plugins | entry.pending_plugins

    @invariant()
    def no_pod_is_lost_and_none_is_in_two_places(self) -> None:
        if not hasattr(self, "at"):
            return
        queued = [entry.pod.uid for entry in self.at.queue]
        assert len(queued) == len(set(queued)) == len(self.at.queue)
        assert not set(queued) & self.flying.keys()
        assert self.pods.keys() == set(queued) | (self.flying.keys() & self.pods.keys())
        assert self.at.queue.in_flight == len(self.flying)

    @invariant()
    def the_counts_are_those_of_the_places(self) -> None:
        if not hasattr(self, "at"):
            return
        entries = list(self.at.queue)
        places = Counter(self.place(entry) for entry in entries)
        assert self.at.where() == dict(places)
        held = self.at.queue._places  # pyright: ignore[reportPrivateUsage]
        assert {id(e) for e in held.waiting} == {id(e) for e in entries if e.group is not None}
        assert {id(e) for e in held.active} == {id(e) for e in entries if self.place(e) == "active"}
        counted = {key: value for key, value in self.at.queue.rejections().items() if value}
        assert counted == Counter(
            (plugin, PROFILE) for entry in entries for plugin in self.rejectors(entry)
        )

    @invariant()
    def only_who_passed_pre_enqueue_is_tried_and_only_the_gated_wait_for_it(self) -> None:
        if not hasattr(self, "at"):
            return
        for entry in self.at.queue:
            if self.place(entry) == "backoff":
                assert entry.backoff_expiration == self.expected_expiry(entry)
            if self.place(entry) in ("active", "backoff"):
                assert not entry.gated
                assert (self.place(entry) == "active") <= (
                    entry.initial_attempt_timestamp is not None
                )

    @invariant()
    def events_are_kept_only_while_pods_are_in_flight(self) -> None:
        if hasattr(self, "at") and not self.flying:
            in_flight = self.at.queue._in_flight  # pyright: ignore[reportPrivateUsage]
            assert in_flight.kept_events == 0


QueueStates.TestCase.settings = settings(
    max_examples=400,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestQueueStates = QueueStates.TestCase
