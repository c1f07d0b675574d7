"""A clock that tests move, and pods and a queue with only what the queue reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairlead.model.resources import NO_RESOURCES, Resources
from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.events import ClusterEvent, Registration
from fairlead.queue.hints import Hints
from fairlead.queue.queue import SchedulingQueue

PROFILE = "default-scheduler"


class FakeClock:
    """Time that stands still until a test moves it."""

    def __init__(self, now: float = 1000.0) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def step(self, seconds: float) -> None:
        self.time += seconds


@dataclass(frozen=True)
class FakePod:
    uid: str
    priority: int = 0
    scheduler_name: str = PROFILE
    node_name: str = ""
    nominated_node_name: str = ""
    resource_version: str = "1"
    labels: Mapping[str, str] = field(default_factory=dict)
    placed_request: Resources = NO_RESOURCES
    scheduling_gates: tuple[str, ...] = ()
    tolerations: tuple[str, ...] = ()
    resource_claim_statuses: bytes = b""
    extended_resource_claim_status: bytes = b""

    def but(self, **changes: Any) -> "FakePod":
        """The next version of the same pod."""
        version = str(int(self.resource_version) + 1)
        return replace(self, resource_version=version, **changes)


def gates_hold(entry: QueuedPodInfo) -> tuple[str, str] | None:
    """PreEnqueue of SchedulingGates alone."""
    gates = entry.pod.scheduling_gates
    return ("SchedulingGates", f"waiting for scheduling gates: {list(gates)}") if gates else None


@dataclass
class Stage:
    """A queue with a clock and with what it told the outside."""

    queue: SchedulingQueue
    clock: FakeClock
    wakes: list[float]
    errors: list[tuple[str, str, str]]

    def popped(self) -> list[str]:
        """The uids of all that can be popped now, in order; they stay in flight."""
        uids: list[str] = []
        while (entry := self.queue.pop()) is not None:
            uids.append(entry.pod.uid)
        return uids

    def fail(self, entry: QueuedPodInfo, *plugins: str, pending: tuple[str, ...] = ()) -> None:
        """End an attempt with these rejectors; none means an error."""
        entry.rejected_by(frozenset(plugins), frozenset(pending))
        assert self.queue.add_unschedulable_if_not_present(entry)

    def tried(self, pod: FakePod, *plugins: str, pending: tuple[str, ...] = ()) -> QueuedPodInfo:
        """Add a pod, pop it and let the attempt fail."""
        self.queue.add(pod)
        entry = self.queue.pop()
        assert entry is not None
        assert entry.pod.uid == pod.uid
        self.fail(entry, *plugins, pending=pending)
        return entry

    def where(self) -> dict[str, int]:
        """The queues that hold anything, and how much."""
        return {name: size for name, size in self.queue.pending().items() if size}


def stage(
    registrations: Mapping[str, list[Registration] | None] | None = None,
    *,
    pre_enqueue: Callable[[QueuedPodInfo], tuple[str, str] | None] = gates_hold,
    profiles: Mapping[str, Mapping[str, list[Registration] | None]] | None = None,
    **options: Any,
) -> Stage:
    """A queue for one profile with these registrations, or for these profiles."""
    clock, wakes = FakeClock(), list[float]()
    errors: list[tuple[str, str, str]] = []

    def on_error(plugin: str, event: ClusterEvent, pod: Any, error: Exception) -> None:
        errors.append((plugin, event.label, str(error)))

    queue = SchedulingQueue(
        clock,
        Hints(profiles or {PROFILE: registrations or {}}, on_error),
        pre_enqueue=pre_enqueue,
        wake=lambda: wakes.append(clock.time),
        **options,
    )
    return Stage(queue, clock, wakes, errors)
