"""The queue's rules for attempts, failures and back-off: where a pod is after each."""

from collections.abc import Callable

import pytest

from fairlead.queue.active import sort_key_of
from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.events import ALL, NODE_ADD, WILDCARD, ClusterEvent
from fairlead.queue.queue import QueueTimes
from tests.unit.queue.fakes import FakePod, stage

FIT = "NodeResourcesFit"
ON_NODE_ADD = {FIT: [(NODE_ADD, None)], "NodeName": [(NODE_ADD, None)]}


def test_a_new_pod_is_active_and_wakes_the_scheduler() -> None:
    at = stage()
    at.queue.add(FakePod("a"))
    assert (at.where(), at.wakes) == ({"active": 1}, [1000.0])
    entry = at.queue.pop()
    assert entry is not None
    assert (entry.attempts, entry.timestamp, entry.initial_attempt_timestamp) == (1, 1000, 1000)
    assert (len(at.queue), at.queue.in_flight) == (0, 1)
    at.queue.done("a")
    at.queue.done("a")
    assert at.queue.in_flight == 0
    assert at.queue.pop() is None


def test_pods_come_out_by_priority_and_then_by_age() -> None:
    at = stage()
    for uid, priority in (("old", 0), ("young", 0), ("high", 10), ("low", -1)):
        at.queue.add(FakePod(uid, priority))
        at.clock.step(1)
    assert at.popped() == ["high", "old", "young", "low"]


def test_another_queue_sort_decides_the_order() -> None:
    at = stage(sort_key=sort_key_of(lambda a, b: a.pod.uid > b.pod.uid))
    for uid in ("a", "c", "b"):
        at.queue.add(FakePod(uid))
    assert at.popped() == ["c", "b", "a"]


def test_a_failed_pod_goes_behind_newer_pods_of_its_priority() -> None:
    at = stage(ON_NODE_ADD)
    at.tried(FakePod("failed"), FIT)
    at.clock.step(5)
    at.queue.add(FakePod("newer"))
    at.clock.step(5)
    at.queue.move_all(NODE_ADD)
    assert at.popped() == ["failed", "newer"]  # its timestamp is that of the failure

    at = stage(ON_NODE_ADD)
    at.queue.add(FakePod("failed"))
    entry = at.queue.pop()
    assert entry is not None
    at.queue.add(FakePod("newer"))
    at.clock.step(1)
    at.fail(entry, FIT)
    at.clock.step(5)
    at.queue.move_all(NODE_ADD)
    assert at.popped() == ["newer", "failed"]


def test_the_first_time_in_the_active_queue_is_remembered() -> None:
    at = stage(ON_NODE_ADD)
    entry = at.tried(FakePod("a"), FIT)
    at.clock.step(50)
    at.queue.move_all(NODE_ADD)
    assert at.queue.pop() is entry
    assert entry.initial_attempt_timestamp == 1000


def test_a_rejected_pod_waits_and_an_error_backs_off() -> None:
    at = stage(ON_NODE_ADD)
    rejected = at.tried(FakePod("rejected"), FIT)
    assert at.where() == {"unschedulable": 1}
    erred = at.tried(FakePod("erred"))
    assert at.where() == {"unschedulable": 1, "backoff": 1}
    assert (rejected.unschedulable_count, rejected.consecutive_errors_count) == (1, 0)
    assert (erred.unschedulable_count, erred.consecutive_errors_count) == (0, 1)


def test_errors_and_rejections_are_counted_apart_and_a_rejection_ends_a_run_of_errors() -> None:
    at = stage(ON_NODE_ADD)
    entry = at.tried(FakePod("a"))
    for seconds, plugins in ((2, ()), (3, (FIT,))):
        at.clock.step(seconds)
        at.queue.flush_backoff()
        assert at.queue.pop() is entry
        at.fail(entry, *plugins)
    assert (entry.attempts, entry.unschedulable_count, entry.consecutive_errors_count) == (3, 1, 0)
    at.queue.move_all(NODE_ADD)
    assert at.queue.next_flush() == 1005 + 1 + 1  # the back-off of one rejection, not of three


def test_backoff_is_over_after_its_second_and_the_flush_makes_active() -> None:
    at = stage()
    at.clock.step(0.7)
    at.tried(FakePod("a"))
    assert at.queue.next_flush() == 1002
    at.clock.time = 1001.999
    at.queue.flush_backoff()
    assert at.where() == {"backoff": 1}
    at.clock.time = 1002.0
    at.wakes.clear()
    at.queue.flush_backoff()
    assert (at.where(), at.wakes) == ({"active": 1}, [1002.0])
    assert at.queue.incoming()["active", "BackoffComplete"] == 1


def test_an_idle_scheduler_pops_from_backoff_before_the_time() -> None:
    at = stage(ON_NODE_ADD)
    at.tried(FakePod("low"), FIT)
    at.tried(FakePod("high", 5), FIT)
    at.queue.move_all(NODE_ADD)
    assert at.where() == {"backoff": 2}
    at.queue.add(FakePod("new"))
    assert at.popped() == ["new", "high", "low"]
    assert at.queue.incoming()["active", "PopFromBackoffQ"] == 2


def test_an_idle_scheduler_does_not_pop_errors_before_the_time() -> None:
    at = stage()
    at.tried(FakePod("erred"))
    assert at.queue.pop() is None
    at.clock.step(2)
    at.queue.flush_backoff()
    assert at.popped() == ["erred"]


def test_no_nodes_available_is_an_error_to_the_queue() -> None:
    """The condition says Unschedulable, but no plugin rejected the pod: error back-off."""
    at = stage(ON_NODE_ADD)
    at.tried(FakePod("a"))
    assert at.queue.pop() is None
    assert at.where() == {"backoff": 1}


def test_failures_after_permit_never_wait_for_events() -> None:
    """Done was called before PreBind, so no event is replayed; the rejectors are empty."""
    at = stage(ON_NODE_ADD)
    at.queue.add(FakePod("a"))
    entry = at.queue.pop()
    assert entry is not None
    at.queue.done("a")
    at.queue.move_all(NODE_ADD)
    at.fail(entry)
    assert at.where() == {"backoff": 1}
    assert at.queue.pop() is None


def test_done_before_a_rejection_leaves_nothing_to_replay() -> None:
    at = stage(ON_NODE_ADD)
    at.queue.add(FakePod("a"))
    entry = at.queue.pop()
    assert entry is not None
    at.queue.done("a")
    at.fail(entry, FIT)
    assert at.where() == {"backoff": 1}


def test_the_largest_backoff_of_zero_means_none() -> None:
    at = stage(times=QueueTimes(initial_backoff=1, max_backoff=0))
    at.tried(FakePod("a"))
    assert at.where() == {"active": 1}


def test_a_pod_that_is_queued_is_not_taken_back_twice() -> None:
    at = stage(ON_NODE_ADD)
    entry = at.tried(FakePod("a"), FIT)
    assert not at.queue.add_unschedulable_if_not_present(entry)
    assert (entry.unschedulable_count, at.where()) == (1, {"unschedulable": 1})


def test_a_pod_added_while_it_is_in_flight_is_dropped_when_it_surfaces() -> None:
    at = stage()
    at.queue.add(FakePod("a"))
    entry = at.queue.pop()
    at.queue.add(FakePod("a"))
    at.queue.add(FakePod("b"))
    assert at.popped() == ["b"]
    assert entry is not None
    assert (entry.attempts, at.queue.in_flight) == (1, 2)


def test_adding_a_queued_pod_again_updates_it() -> None:
    at = stage()
    pod = FakePod("a")
    at.queue.add(pod)
    at.queue.add(pod.but(labels={"x": "y"}))
    entry = at.queue.pop()
    assert entry is not None
    assert (entry.pod.labels, at.queue.pop()) == ({"x": "y"}, None)


def test_a_deleted_pod_is_gone_wherever_it_was() -> None:
    at = stage(ON_NODE_ADD)
    at.tried(FakePod("erred"))
    at.tried(FakePod("rejected"), FIT)
    at.queue.add(FakePod("gated", scheduling_gates=("g",)))
    at.queue.add(FakePod("active"))
    for uid in ("erred", "rejected", "gated", "active", "unknown"):
        at.queue.delete(FakePod(uid))
    at.clock.step(1000)
    at.queue.flush_backoff()
    at.queue.flush_unschedulable()
    assert (at.where(), len(at.queue), at.popped()) == ({}, 0, [])
    assert set(at.queue.rejections().values()) == {0}


def test_what_entered_each_queue_is_counted_by_its_cause() -> None:
    at = stage(ON_NODE_ADD)
    at.tried(FakePod("a"), FIT)
    at.tried(FakePod("b"))
    at.queue.add(FakePod("c", scheduling_gates=("g",)))
    at.clock.step(20)
    at.queue.move_all(NODE_ADD)
    at.queue.flush_backoff()
    assert at.queue.incoming() == {
        ("active", "UnschedulablePodAdd"): 2,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "ScheduleAttemptFailure"): 1,
        ("unschedulable", "UnschedulablePodAdd"): 1,
        ("active", "NodeAdd"): 1,
        ("active", "BackoffComplete"): 1,
    }


def test_queued_pods_are_counted_under_their_rejectors() -> None:
    at = stage(ON_NODE_ADD)
    entry = at.tried(FakePod("a"), FIT, "NodeName")
    at.tried(FakePod("b"), FIT)
    assert at.queue.rejections() == {
        (FIT, "default-scheduler"): 2,
        ("NodeName", "default-scheduler"): 1,
    }
    at.clock.step(20)
    at.queue.move_all(NODE_ADD)
    assert at.queue.rejections()[FIT, "default-scheduler"] == 2  # until it is popped
    assert at.queue.pop() is entry
    assert at.queue.rejections() == {
        (FIT, "default-scheduler"): 1,
        ("NodeName", "default-scheduler"): 0,
    }


@pytest.mark.parametrize("clock_step", [299.999, 300.0])
def test_five_minutes_are_not_yet_too_long(clock_step: float) -> None:
    at = stage(ON_NODE_ADD)
    at.tried(FakePod("a"), FIT)
    at.clock.step(clock_step)
    at.queue.flush_unschedulable()
    assert at.where() == {"unschedulable": 1}


def test_what_waited_longer_than_five_minutes_is_tried_without_asking() -> None:
    at = stage({FIT: [(NODE_ADD, lambda *_: False)]})
    entry = at.tried(FakePod("a"), FIT)
    at.queue.add(FakePod("gated", scheduling_gates=("g",)))
    at.clock.step(300.5)
    at.queue.flush_unschedulable()
    assert at.where() == {"active": 1, "gated": 1}
    assert entry.was_flushed_from_unschedulable
    assert at.queue.incoming()["active", "UnschedulableTimeout"] == 1
    assert at.queue.pop() is entry
    at.fail(entry, FIT)
    assert not entry.was_flushed_from_unschedulable


def test_the_flush_of_the_overdue_still_honours_backoff() -> None:
    at = stage(ON_NODE_ADD, times=QueueTimes(initial_backoff=1000, max_backoff=1000))
    at.tried(FakePod("a"), FIT)
    at.clock.step(301)
    at.queue.flush_unschedulable()
    assert at.where() == {"backoff": 1}


def test_the_flush_reaches_a_pod_that_was_in_flight() -> None:
    at = stage(ON_NODE_ADD)
    at.tried(FakePod("overdue"), FIT)
    at.clock.step(301)
    at.queue.add(FakePod("a"))
    entry = at.queue.pop()
    assert entry is not None
    at.queue.flush_unschedulable()
    at.fail(entry, FIT)
    assert at.where() == {"active": 1, "backoff": 1}


def test_gated_pods_of_a_plugin_that_hears_everything_are_flushed() -> None:
    held = [True]

    def hold(_entry: QueuedPodInfo) -> tuple[str, str] | None:
        return ("Quota", "no quota left") if held[0] else None

    at = stage({"Quota": [(ClusterEvent(WILDCARD, ALL), None)]}, pre_enqueue=hold)
    at.queue.add(FakePod("a"))
    at.clock.step(301)
    at.queue.flush_unschedulable()
    assert at.where() == {"gated": 1}
    held[0] = False
    at.queue.flush_unschedulable()
    assert at.where() == {"active": 1}


def counting(hold: Callable[[QueuedPodInfo], tuple[str, str] | None], asked: list[str]):
    def pre_enqueue(entry: QueuedPodInfo) -> tuple[str, str] | None:
        asked.append(entry.pod.uid)
        return hold(entry)

    return pre_enqueue


def test_pre_enqueue_is_asked_on_every_way_in_except_from_backoff() -> None:
    asked: list[str] = []
    at = stage(ON_NODE_ADD, pre_enqueue=counting(lambda _entry: None, asked))
    at.tried(FakePod("a"), FIT)
    assert asked == ["a"]
    at.queue.move_all(NODE_ADD)
    assert (at.where(), asked) == ({"backoff": 1}, ["a", "a"])
    at.clock.step(2)
    at.queue.flush_backoff()
    assert (at.where(), asked) == ({"active": 1}, ["a", "a"])


def test_a_pod_gated_on_the_way_to_backoff_waits() -> None:
    held: list[bool] = []

    def hold(_entry: QueuedPodInfo) -> tuple[str, str] | None:
        return ("Quota", "no quota left") if held else None

    at = stage(ON_NODE_ADD, pre_enqueue=hold)
    entry = at.tried(FakePod("a"), FIT)
    held.append(True)
    at.queue.move_all(NODE_ADD)
    assert at.where() == {"gated": 1}
    assert (entry.gating_plugin, entry.gating_message) == ("Quota", "no quota left")
    assert entry.unschedulable_plugins == {FIT, "Quota"}


def test_the_shape_is_dropped_when_the_pod_changes() -> None:
    at = stage()
    pod = FakePod("a")
    at.queue.add(pod)
    entry = at.queue.get("a")
    assert entry is not None
    entry.shape = ("kept",)
    at.queue.update(pod, pod.but(labels={"x": "y"}))
    assert entry.shape is None
