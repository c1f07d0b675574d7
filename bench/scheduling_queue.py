"""What the queue costs for one plain pod: added, popped, done.

    python bench/scheduling_queue.py

Prints microseconds for a pod that goes straight through, at several sizes of the backlog, and for
an event that concerns none, and all, of 20,000 waiting pods.
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fairlead.clock import SystemClock
from fairlead.queue.events import (
    ADD,
    ASSIGNED_POD_DELETE,
    DELETE,
    NODE,
    NODE_ADD,
    POD,
    ClusterEvent,
)
from fairlead.queue.hints import Hints
from fairlead.queue.queue import SchedulingQueue
from tests.unit.queue.fakes import PROFILE, FakePod, gates_hold

REGISTRATIONS = {
    PROFILE: {
        "NodeResourcesFit": [
            (ClusterEvent(NODE, ADD), None),
            (ClusterEvent(POD, DELETE), lambda _pod, _old, _new: False),
        ],
        "NodeAffinity": [(ClusterEvent(NODE, ADD), None)],
    }
}


def a_queue() -> SchedulingQueue:
    hints = Hints(REGISTRATIONS, lambda *_: None)
    return SchedulingQueue(SystemClock(), hints, pre_enqueue=gates_hold, wake=lambda: None)


def through(backlog: int) -> float:
    """Microseconds for add, pop and done of one pod when so many are added before any is popped."""
    pods = [FakePod(f"uid-{number}") for number in range(backlog)]
    queue = a_queue()
    start = time.perf_counter()
    for pod in pods:
        queue.add(pod)
    while (entry := queue.pop()) is not None:
        queue.done(entry.pod.uid)
    return (time.perf_counter() - start) / backlog * 1e6


def event_on_waiting(event: ClusterEvent, plugin: str, waiting: int = 20_000) -> float:
    """Milliseconds for one event while so many pods wait that this plugin rejected."""
    queue = a_queue()
    for number in range(waiting):
        queue.add(FakePod(f"uid-{number}"))
    entries = []
    while (entry := queue.pop()) is not None:
        entries.append(entry)
    for entry in entries:
        entry.rejected_by(frozenset({plugin}))
        queue.add_unschedulable_if_not_present(entry)
    start = time.perf_counter()
    queue.move_all(event)
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    for backlog in (1, 100, 1_000, 20_000):
        rounds = max(5, 20_000 // backlog)
        spent = statistics.median(through(backlog) for _ in range(rounds))
        print(f"add + pop + done, backlog {backlog:>6}: {spent:6.2f} µs a pod")
    for name, event, plugin in (
        ("concerns none", ASSIGNED_POD_DELETE, "NodeAffinity"),
        ("asks all, moves none", ASSIGNED_POD_DELETE, "NodeResourcesFit"),
        ("moves all", NODE_ADD, "NodeAffinity"),
    ):
        print(f"event on 20,000 waiting, {name}: {event_on_waiting(event, plugin):8.3f} ms")


if __name__ == "__main__":
    main()
