"""What moves waiting pods: events of the cluster, gates that open, activation."""

from typing import Any

from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.events import (
    ADD,
    ASSIGNED_POD_DELETE,
    DELETE,
    NODE,
    NODE_ADD,
    NODE_DELETE,
    POD,
    ActionType,
    ClusterEvent,
)
from tests.unit.queue.fakes import FakePod, stage

FIT = "NodeResourcesFit"
POD_DELETE = ClusterEvent(POD, DELETE)
GATES_GONE = ClusterEvent(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
TAINT_UPDATE = ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT)
LABELS = ClusterEvent(POD, ActionType.UPDATE_POD_LABEL)


def is_this_pod(pod: FakePod, _old: Any, new: FakePod) -> bool:
    return pod.uid == new.uid


def test_an_event_moves_what_its_hint_says_to_backoff_or_active() -> None:
    at = stage({FIT: [(NODE_ADD, lambda pod, old, new: pod.uid in new)]})
    for uid in ("a", "b"):
        at.tried(FakePod(uid), FIT)
    at.queue.move_all(NODE_ADD, None, {"a"})
    assert at.where() == {"backoff": 1, "unschedulable": 1}
    at.clock.step(2)
    at.wakes.clear()
    at.queue.move_all(NODE_ADD, None, {"b"})
    assert at.where() == {"active": 1, "backoff": 1}
    assert at.wakes == [1002.0]


def test_a_pod_in_backoff_wakes_the_scheduler_because_it_may_be_popped() -> None:
    at = stage({FIT: [(NODE_ADD, None)]})
    at.tried(FakePod("a"), FIT)
    at.wakes.clear()
    at.queue.move_all(NODE_ADD)
    assert (at.where(), at.wakes) == ({"backoff": 1}, [1000.0])


def test_queue_from_a_pending_plugin_goes_to_active_at_once() -> None:
    at = stage({"Claims": [(NODE_ADD, None)]})
    at.tried(FakePod("a"), pending=("Claims",))
    at.queue.move_all(NODE_ADD)
    assert at.where() == {"active": 1}


def test_pods_of_plugins_that_did_not_register_are_not_even_looked_at() -> None:
    looked_at: list[str] = []

    def only(pod: FakePod) -> bool:
        looked_at.append(pod.uid)
        return True

    at = stage({FIT: [(NODE_ADD, None)], "Affinity": [(NODE_DELETE, None)]})
    at.tried(FakePod("fit"), FIT)
    for number in range(50):
        at.tried(FakePod(f"affinity-{number}"), "Affinity")
    at.queue.move_all(NODE_ADD, only=only)
    assert looked_at == ["fit"]


def test_events_that_nobody_registered_are_dropped_even_for_pods_in_flight() -> None:
    at = stage({FIT: [(NODE_ADD, None)], "Silent": []})
    at.queue.add(FakePod("a"))
    entry = at.queue.pop()
    assert entry is not None
    at.queue.move_all(NODE_DELETE)
    at.fail(entry, FIT)
    assert at.where() == {"unschedulable": 1}


def test_an_event_during_the_attempt_is_asked_about_at_its_end() -> None:
    for node, place in (("small", "unschedulable"), ("big", "backoff")):
        at = stage({FIT: [(NODE_ADD, lambda pod, old, new: new == "big")]})
        at.queue.add(FakePod("a"))
        entry = at.queue.pop()
        assert entry is not None
        at.queue.move_all(NODE_ADD, None, node)
        at.fail(entry, FIT)
        assert at.where() == {place: 1}


def test_the_best_of_all_events_during_the_attempt_counts() -> None:
    at = stage({FIT: [(NODE_ADD, None)], "Claims": [(POD_DELETE, None)]})
    at.queue.add(FakePod("a"))
    entry = at.queue.pop()
    assert entry is not None
    at.queue.move_all(NODE_ADD)
    at.queue.move_all(ASSIGNED_POD_DELETE)
    at.fail(entry, FIT, pending=("Claims",))
    assert at.where() == {"active": 1}


def test_an_event_before_the_pop_is_not_asked_about() -> None:
    at = stage({FIT: [(NODE_ADD, None)]})
    at.queue.add(FakePod("earlier"))
    at.queue.pop()
    at.queue.add(FakePod("a"))
    at.queue.move_all(NODE_ADD)
    entry = at.queue.pop()
    assert entry is not None
    at.fail(entry, FIT)
    assert at.where() == {"unschedulable": 1}


def test_any_change_of_taints_retries_who_registered_added_nodes() -> None:
    at = stage({"NodeName": [(NODE_ADD, lambda *_: False)]})
    at.tried(FakePod("a"), "NodeName")
    at.queue.move_all(NODE_ADD)
    assert at.where() == {"unschedulable": 1}
    at.queue.move_all(TAINT_UPDATE)
    assert at.where() == {"backoff": 1}


def test_only_the_pods_that_the_caller_means_are_moved() -> None:
    at = stage({FIT: [(POD_DELETE, None)]})
    for uid, priority in (("low", 1), ("equal", 5), ("high", 9)):
        at.tried(FakePod(uid, priority), FIT)
    at.clock.step(5)
    at.queue.nomination_released(FakePod("nominated", 5))
    assert at.popped() == ["equal", "low"]
    assert at.where() == {"unschedulable": 1}


def test_a_hint_that_fails_moves_the_pod_and_is_reported() -> None:
    at = stage({FIT: [(NODE_ADD, lambda pod, old, new: 1 // 0)]})
    at.tried(FakePod("a"), FIT)
    at.queue.move_all(NODE_ADD)
    assert at.where() == {"backoff": 1}
    assert at.errors == [(FIT, "NodeAdd", "integer division or modulo by zero")]


# Gated pods.


def test_a_gated_pod_is_never_tried_until_its_gates_are_gone() -> None:
    at = stage({"SchedulingGates": [(GATES_GONE, is_this_pod)], FIT: [(NODE_ADD, None)]})
    gated = FakePod("a", scheduling_gates=("one", "two"))
    at.queue.add(gated)
    assert (at.where(), at.wakes, at.popped()) == ({"gated": 1}, [], [])
    assert at.queue.rejections() == {("SchedulingGates", "default-scheduler"): 1}
    fewer = gated.but(scheduling_gates=("two",))
    at.clock.step(10)
    at.queue.update(gated, fewer)
    at.queue.move_all(NODE_ADD)
    assert at.where() == {"gated": 1}
    at.queue.update(fewer, fewer.but(scheduling_gates=()))
    assert at.where() == {"active": 1}
    entry = at.queue.pop()
    assert entry is not None
    assert (entry.gated, entry.timestamp) == (False, 1000.0)
    assert entry.initial_attempt_timestamp == 1010.0  # gated time counts for no latency
    assert at.queue.rejections() == {("SchedulingGates", "default-scheduler"): 0}


def test_a_gated_pod_hears_only_events_of_its_gating_plugin_and_is_asked_again() -> None:
    asked: list[str] = []
    held = [True]

    def hold(entry: QueuedPodInfo) -> tuple[str, str] | None:
        asked.append(entry.gating_plugin)
        return ("Quota", "no quota left") if held[0] else None

    at = stage(
        {"Quota": [(POD_DELETE, lambda *_: True)], FIT: [(NODE_ADD, None)]}, pre_enqueue=hold
    )
    at.queue.add(FakePod("a"))
    at.queue.move_all(NODE_ADD)
    assert asked == [""]
    at.queue.move_all(ASSIGNED_POD_DELETE)
    assert (at.where(), asked) == ({"gated": 1}, ["", "Quota"])
    held[0] = False
    at.queue.move_all(ASSIGNED_POD_DELETE)
    assert (at.where(), asked) == ({"active": 1}, ["", "Quota", "Quota"])


def test_a_gated_pod_is_not_asked_again_by_events_of_its_other_rejectors() -> None:
    asked: list[str] = []
    held: list[bool] = []

    def hold(entry: QueuedPodInfo) -> tuple[str, str] | None:
        asked.append(entry.gating_plugin)
        return ("Quota", "no quota left") if held else None

    at = stage({"Quota": [(POD_DELETE, None)], FIT: [(NODE_ADD, None)]}, pre_enqueue=hold)
    at.tried(FakePod("a"), FIT)
    held.append(True)
    at.queue.move_all(NODE_ADD)
    assert (at.where(), asked) == ({"gated": 1}, ["", ""])
    at.queue.move_all(NODE_ADD)
    assert (at.where(), asked) == ({"gated": 1}, ["", ""])
    at.queue.move_all(ASSIGNED_POD_DELETE)
    assert (at.where(), asked) == ({"gated": 1}, ["", "", "Quota"])
    assert at.queue.incoming()["unschedulable", "NodeAdd"] == 1
    assert at.queue.incoming()["unschedulable", "AssignedPodDelete"] == 1


def test_a_waiting_pod_that_its_own_update_gets_gated_hears_of_its_gate() -> None:
    def hold(entry: QueuedPodInfo) -> tuple[str, str] | None:
        return ("Quota", "no quota left") if entry.pod.labels else None

    at = stage({"Quota": [(POD_DELETE, None)], FIT: [(LABELS, None)]}, pre_enqueue=hold)
    pod = FakePod("a")
    entry = at.tried(pod, FIT)
    at.queue.update(pod, pod.but(labels={"x": "y"}))
    assert at.where() == {"gated": 1}
    entry.replace_pod(pod)
    at.queue.move_all(ASSIGNED_POD_DELETE)
    assert at.where() == {"backoff": 1}


def test_a_pod_gated_anew_by_another_plugin_is_asked_once_about_an_event() -> None:
    asked: list[str] = []

    def hold(entry: QueuedPodInfo) -> tuple[str, str] | None:
        asked.append(entry.gating_plugin)
        return ("Second", "") if entry.gating_plugin else ("First", "")

    at = stage({"First": [(POD_DELETE, None)], "Second": [(POD_DELETE, None)]}, pre_enqueue=hold)
    at.queue.add(FakePod("a"))
    at.queue.move_all(ASSIGNED_POD_DELETE)
    assert (asked, at.where()) == (["", "First"], {"gated": 1})


# Activation.


def test_activation_ignores_backoff_and_hints() -> None:
    at = stage({FIT: [(NODE_ADD, None)], "Silent": []})
    at.tried(FakePod("backing-off"))
    at.tried(FakePod("waiting"), "Silent")
    at.wakes.clear()
    at.queue.activate([FakePod("backing-off"), FakePod("waiting"), FakePod("unknown")])
    assert (at.where(), at.wakes) == ({"active": 2}, [1000.0])
    assert at.queue.incoming()["active", "ForceActivate"] == 2
    at.queue.activate([FakePod("waiting")])
    assert at.queue.incoming()["active", "ForceActivate"] == 2


def test_activation_still_asks_pre_enqueue() -> None:
    at = stage({"SchedulingGates": [(GATES_GONE, None)]})
    at.queue.add(FakePod("a", scheduling_gates=("g",)))
    at.queue.activate([FakePod("a")])
    assert (at.where(), at.wakes) == ({"gated": 1}, [])


def test_activation_in_flight_keeps_that_pod_from_waiting_and_no_other() -> None:
    at = stage({"Silent": []})
    at.queue.add(FakePod("a"))
    at.queue.add(FakePod("b"))
    first, second = at.queue.pop(), at.queue.pop()
    assert first is not None
    assert second is not None
    at.queue.activate([FakePod("a")])
    at.fail(first, "Silent")
    at.fail(second, "Silent")
    assert at.where() == {"backoff": 1, "unschedulable": 1}


# Profiles.


def test_a_pod_is_judged_by_the_hints_of_its_own_profile() -> None:
    at = stage(
        profiles={
            "one": {FIT: [(NODE_ADD, lambda *_: False)]},
            "two": {FIT: [(ClusterEvent(NODE, ADD), lambda *_: True)]},
        }
    )
    for profile in ("one", "two"):
        at.tried(FakePod(profile, scheduler_name=profile), FIT)
    at.clock.step(5)
    at.queue.move_all(NODE_ADD)
    assert at.popped() == ["two"]
