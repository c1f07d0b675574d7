"""How long a pod backs off, in which order pods come out, and which may come out early."""

import pytest

from fairlead.queue.active import priority_sort_key
from fairlead.queue.backoff import BackoffQueue
from fairlead.queue.entry import QueuedPodInfo
from tests.unit.queue.fakes import FakePod

REJECTED = frozenset({"NodeResourcesFit"})


def a_queue(initial: float = 1, largest: float = 10) -> BackoffQueue:
    return BackoffQueue(priority_sort_key, initial, largest)


def rejected(uid: str, timestamp: float, count: int = 1, priority: int = 0) -> QueuedPodInfo:
    return QueuedPodInfo(
        FakePod(uid, priority),
        timestamp,
        unschedulable_count=count,
        unschedulable_plugins=REJECTED,
    )


@pytest.mark.parametrize(
    ("initial", "largest", "series"),
    [
        (1, 10, [1, 2, 4, 8, 10, 10, 10]),
        (1, 1, [1, 1, 1]),
        (3, 10, [3, 6, 10, 10]),
        (20, 10, [10, 10]),
        (0, 10, [0, 0, 0]),
    ],
)
def test_the_duration_doubles_up_to_the_largest(
    initial: float, largest: float, series: list[float]
) -> None:
    queue = a_queue(initial, largest)
    assert [queue.duration(count) for count in range(1, len(series) + 1)] == series
    assert queue.duration(0) == 0


def test_no_count_is_too_large() -> None:
    assert a_queue().duration(5000) == 10


def test_the_expiry_is_rounded_down_and_its_second_still_counts() -> None:
    queue = a_queue()
    entry = rejected("a", 100.9)
    assert queue.expiration(entry) == 101
    assert queue.is_backing_off(entry, 100.95)
    assert queue.is_backing_off(entry, 101.999)
    assert not queue.is_backing_off(entry, 102)


def test_consecutive_errors_count_before_rejections_and_attempts_never() -> None:
    queue = a_queue()
    entry = rejected("a", 100.0, count=4)
    entry.attempts = 9
    assert queue.expiration(entry) == 108
    erring = rejected("b", 100.0, count=4)
    erring.consecutive_errors_count = 1
    assert queue.expiration(erring) == 101


def test_a_pod_that_never_failed_does_not_back_off() -> None:
    queue = a_queue()
    assert not queue.is_backing_off(QueuedPodInfo(FakePod("a"), 100.0), 100.0)


def test_a_largest_backoff_of_zero_switches_it_off() -> None:
    queue = a_queue(1, 0)
    assert not queue.is_backing_off(rejected("a", 100.0, count=5), 100.0)


def test_the_expiry_is_kept_until_it_is_reset() -> None:
    queue = a_queue()
    entry = rejected("a", 100.0)
    assert queue.expiration(entry) == 101
    entry.timestamp = 200.0
    assert queue.expiration(entry) == 101


def test_within_one_second_priority_decides_then_the_timestamp() -> None:
    queue = a_queue()
    for entry in (
        rejected("late", 101.0, priority=99),
        rejected("low", 100.1),
        rejected("younger", 100.6, priority=5),
        rejected("older", 100.5, priority=5),
    ):
        queue.add(entry)
    order = [queue.pop(), queue.pop(), queue.pop(), queue.pop()]
    assert [entry.pod.uid for entry in order if entry] == ["older", "younger", "low", "late"]


def test_errors_are_never_popped_early() -> None:
    queue = a_queue()
    queue.add(QueuedPodInfo(FakePod("error"), 100.0, consecutive_errors_count=1))
    assert len(queue) == 1
    assert queue.pop() is None
    assert [entry.pod.uid for entry in queue.pop_completed(102.0)] == ["error"]
    assert len(queue) == 0


def test_what_is_completed_comes_out_at_once_and_the_next_time_is_known() -> None:
    queue = a_queue()
    assert queue.next_completion() is None
    queue.add(rejected("first", 100.3))
    queue.add(rejected("second", 100.3, count=2))
    queue.add(QueuedPodInfo(FakePod("error"), 100.3, consecutive_errors_count=1))
    assert queue.next_completion() == 102
    assert queue.pop_completed(101.9) == []
    assert [entry.pod.uid for entry in queue.pop_completed(102.0)] == ["first", "error"]
    assert queue.next_completion() == 103
