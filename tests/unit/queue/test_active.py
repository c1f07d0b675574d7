"""The heap of the active queue: order, removal, and that the dead do not pile up."""

from fairlead.queue.active import PodHeap, priority_sort_key, sort_key_of
from fairlead.queue.entry import QueuedPodInfo
from tests.unit.queue.fakes import FakePod


def entry(uid: str, priority: int = 0, timestamp: float = 0.0) -> QueuedPodInfo:
    return QueuedPodInfo(FakePod(uid, priority), timestamp)


def drained(heap: PodHeap) -> list[str]:
    uids: list[str] = []
    while (each := heap.pop()) is not None:
        uids.append(each.pod.uid)
    return uids


def test_priority_then_timestamp_then_first_come() -> None:
    heap = PodHeap(priority_sort_key)
    for each in (entry("d"), entry("e"), entry("c", 0, -1.0), entry("b", 5, 9.0), entry("a", 7)):
        heap.add(each)
    assert drained(heap) == ["a", "b", "c", "d", "e"]


def test_an_order_given_by_less_alone_is_first_come_among_ties() -> None:
    heap = PodHeap(sort_key_of(lambda a, b: len(a.pod.uid) < len(b.pod.uid)))
    for uid in ("ccc", "bb", "aa", "a", "aaa"):
        heap.add(entry(uid))
    assert drained(heap) == ["a", "bb", "aa", "ccc", "aaa"]


def test_a_removed_entry_does_not_come_out_and_may_come_back() -> None:
    heap = PodHeap(priority_sort_key)
    kept, gone = entry("kept"), entry("gone", 9)
    heap.add(gone)
    heap.add(kept)
    heap.remove(gone)
    assert (len(heap), heap.peek(), list(heap)) == (1, kept, [kept])
    heap.add(gone)
    assert drained(heap) == ["gone", "kept"]
    assert heap.pop() is heap.peek() is None


def test_reordering_follows_the_key_and_keeps_the_turn_among_equals() -> None:
    heap = PodHeap(priority_sort_key)
    entries = [entry("a"), entry("b"), entry("c")]
    for each in entries:
        heap.add(each)
    entries[0].pod = entries[0].pod.but(labels={"x": "y"})
    heap.reorder(entries[0])
    entries[2].pod = entries[2].pod.but(priority=4)
    heap.reorder(entries[2])
    assert len(heap) == 3
    entries[2].pod = entries[2].pod.but(priority=0)
    heap.reorder(entries[2])
    assert drained(heap) == ["a", "b", "c"]


def test_many_removals_leave_no_more_dead_than_living() -> None:
    heap = PodHeap(priority_sort_key)
    kept = [entry(f"kept-{number}", timestamp=float(number)) for number in range(100)]
    for each in kept:
        heap.add(each)
    for number in range(5000):
        each = entry(f"gone-{number}", priority=-1)
        heap.add(each)
        heap.remove(each)
        assert len(heap._items) <= 2 * len(heap) + 65  # pyright: ignore[reportPrivateUsage]
    assert drained(heap) == [each.pod.uid for each in kept]
