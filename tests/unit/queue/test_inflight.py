"""Events kept for pods in flight: which ones each pod sees, and when they are dropped."""

from fairlead.queue.events import FORCE_ACTIVATED, NODE_ADD, NODE_DELETE
from fairlead.queue.inflight import InFlight


def seen(in_flight: InFlight, uid: str) -> list[object]:
    return [new for _, _, new in in_flight.events_since_pop(uid)]


def test_a_pod_sees_what_came_after_its_pop() -> None:
    in_flight = InFlight()
    in_flight.add("a")
    in_flight.record(NODE_ADD, None, 1)
    in_flight.add("b")
    in_flight.record(NODE_DELETE, None, 2)
    assert seen(in_flight, "a") == [1, 2]
    assert seen(in_flight, "b") == [2]


def test_nothing_is_kept_while_nothing_is_in_flight() -> None:
    in_flight = InFlight()
    in_flight.record(NODE_ADD, None, 1)
    assert in_flight.kept_events == 0


def test_events_before_the_oldest_pod_are_dropped() -> None:
    in_flight = InFlight()
    for uid in ("a", "b", "c"):
        in_flight.add(uid)
        in_flight.record(NODE_ADD, None, uid)
    in_flight.done("b")
    assert in_flight.kept_events == 3
    in_flight.done("a")
    assert in_flight.kept_events == 1
    assert seen(in_flight, "c") == ["c"]
    in_flight.done("c")
    assert in_flight.kept_events == len(in_flight) == 0


def test_positions_hold_after_events_were_dropped() -> None:
    in_flight = InFlight()
    for turn in range(5):
        in_flight.add(f"pod-{turn}")
        in_flight.record(NODE_ADD, None, turn)
        if turn:
            in_flight.done(f"pod-{turn - 1}")
        assert seen(in_flight, f"pod-{turn}") == [turn]


def test_done_twice_does_nothing_more() -> None:
    in_flight = InFlight()
    in_flight.add("a")
    in_flight.add("b")
    in_flight.record(NODE_ADD, None, 1)
    in_flight.done("a")
    in_flight.done("a")
    assert seen(in_flight, "b") == [1]


def test_events_about_one_pod_are_kept_only_if_it_is_in_flight() -> None:
    in_flight = InFlight()
    in_flight.add("a")
    assert not in_flight.record_for("other", (FORCE_ACTIVATED,), None, 1)
    assert in_flight.record_for("a", (FORCE_ACTIVATED, NODE_ADD), None, 2)
    assert seen(in_flight, "a") == [2, 2]
