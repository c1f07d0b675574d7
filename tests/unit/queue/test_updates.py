"""What an update of a queued pod does, and nominations that come and go with it."""

from typing import Any

from fairlead.queue.events import (
    DELETE,
    NODE_ADD,
    POD,
    UPDATE,
    ActionType,
    ClusterEvent,
)
from fairlead.queue.nominator import Nominator
from tests.unit.queue.fakes import FakePod, stage

FIT = "NodeResourcesFit"
POD_DELETE = ClusterEvent(POD, DELETE)
LABELS = ClusterEvent(POD, ActionType.UPDATE_POD_LABEL)


def is_this_pod(pod: FakePod, _old: Any, new: FakePod) -> bool:
    return pod.uid == new.uid


# The pod's own updates.


def test_an_update_without_a_new_version_is_ignored() -> None:
    at = stage({FIT: [(LABELS, None)]})
    entry = at.tried(FakePod("a"), FIT)
    at.queue.update(FakePod("a"), FakePod("a", labels={"x": "y"}))
    assert (at.where(), entry.pod.labels) == ({"unschedulable": 1}, {})


def test_an_update_in_active_or_backoff_replaces_the_pod_and_moves_nothing() -> None:
    at = stage({FIT: [(LABELS, None), (NODE_ADD, None)]})
    backing_off, active = FakePod("b"), FakePod("a")
    at.tried(backing_off, FIT)
    at.queue.move_all(NODE_ADD)
    at.queue.add(active)
    for pod in (backing_off, active):
        at.queue.update(pod, pod.but(labels={"x": "y"}))
    assert at.where() == {"active": 1, "backoff": 1}
    for uid in ("a", "b"):
        entry = at.queue.pop()
        assert entry is not None
        assert (entry.pod.uid, entry.pod.labels) == (uid, {"x": "y"})


def test_an_update_of_the_priority_changes_the_turn() -> None:
    at = stage()
    first, second = FakePod("first"), FakePod("second")
    at.queue.add(first)
    at.queue.add(second)
    at.queue.update(second, second.but(priority=3))
    assert at.popped() == ["second", "first"]


def test_an_update_of_a_waiting_pod_moves_it_if_the_rejector_says_so() -> None:
    for plugin, label, place in (
        (FIT, "UnschedulablePodUpdatePodLabel", "active"),
        ("Other", "ScheduleAttemptFailure", "unschedulable"),
    ):
        at = stage({FIT: [(LABELS, is_this_pod)], "Other": [(NODE_ADD, None)]})
        pod = FakePod("a")
        at.tried(pod, plugin)
        at.clock.step(5)
        at.queue.update(pod, pod.but(labels={"x": "y"}))
        assert at.where() == {place: 1}
        assert at.queue.incoming()[place, label] == 1


def test_a_generic_update_moves_only_who_registered_updates_in_general() -> None:
    at = stage({"Specific": [(LABELS, None)], "Generic": [(ClusterEvent(POD, UPDATE), None)]})
    for plugin in ("Specific", "Generic"):
        pod = FakePod(plugin)
        at.tried(pod, plugin)
        at.clock.step(5)
        at.queue.update(pod, pod.but())
    assert at.where() == {"active": 1, "unschedulable": 1}
    assert at.queue.incoming()["active", "UnschedulablePodUpdate"] == 1


def test_a_pod_in_flight_sees_its_own_update_only_after_the_failure() -> None:
    at = stage({FIT: [(LABELS, is_this_pod)]})
    pod = FakePod("a")
    at.queue.add(pod)
    entry = at.queue.pop()
    assert entry is not None
    newer = pod.but(labels={"x": "y"})
    at.queue.update(pod, newer)
    assert entry.pod is pod
    assert (len(at.queue), at.queue.in_flight) == (0, 1)
    entry.replace_pod(newer)  # what the failure path read anew
    at.fail(entry, FIT)
    assert at.where() == {"backoff": 1}


def test_an_update_of_an_unknown_pod_queues_it() -> None:
    at = stage()
    pod = FakePod("a", nominated_node_name="n1")
    at.queue.update(pod, pod.but())
    assert at.where() == {"active": 1}
    assert at.queue.incoming() == {("active", "UnschedulablePodUpdate"): 1}
    assert at.queue.nominator.node_of("a") == "n1"


def test_the_same_name_with_another_uid_is_another_pod() -> None:
    at = stage({FIT: [(NODE_ADD, None)]})
    old = FakePod("old")
    at.tried(old, FIT)
    at.queue.update(old, FakePod("new"))
    entry = at.queue.pop()
    assert entry is not None
    assert (entry.pod.uid, entry.attempts, entry.unschedulable_count) == ("new", 1, 0)
    assert len(at.queue) == 0


# Nominations.


def test_entering_the_queue_registers_the_nomination_of_the_status() -> None:
    at = stage(nominator=Nominator(lambda pod: pod.uid != "gone"))
    for uid in ("a", "gone"):
        at.queue.add(FakePod(uid, nominated_node_name="n1"))
    assert [pod.uid for pod in at.queue.nominator.pods_of("n1")] == ["a"]
    at.queue.delete(FakePod("a"))
    assert len(at.queue.nominator) == 0


def test_entering_the_queue_takes_the_word_of_the_status_for_the_nomination() -> None:
    at = stage()
    at.queue.nominator.add(FakePod("a"), "n1")
    at.queue.add(FakePod("a"))
    assert len(at.queue.nominator) == 0


def test_nominated_pods_are_given_in_their_newest_version() -> None:
    at = stage({FIT: [(NODE_ADD, None)]})
    pod = FakePod("a", nominated_node_name="n1")
    entry = at.tried(pod, FIT)
    newer = pod.but(labels={"x": "y"})
    entry.replace_pod(newer)
    assert at.queue.nominated_pods("n1") == (newer,)
    assert at.queue.nominated_pods("n2") == ()


def test_a_changed_nomination_frees_the_node_for_pods_of_at_most_its_priority() -> None:
    at = stage({FIT: [(POD_DELETE, None)]})
    at.tried(FakePod("low", 1), FIT)
    at.tried(FakePod("high", 9), FIT)
    nominated = FakePod("nominated", 5, nominated_node_name="n1")
    at.queue.add(nominated)
    at.clock.step(5)
    at.queue.update(nominated, nominated.but(nominated_node_name="n2"))
    assert at.popped() == ["nominated", "low"]
    assert at.queue.nominator.node_of("nominated") == "n2"
