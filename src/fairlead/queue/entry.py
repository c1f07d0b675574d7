"""One pod of the queue, with what its earlier attempts left behind."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fairlead.model.podinfo import PodInfo

if TYPE_CHECKING:
    from fairlead.queue.active import PodHeap
    from fairlead.queue.waiting import Group

NO_PLUGINS: frozenset[str] = frozenset()
NOT_COMPUTED = -math.inf


class Rejection(NamedTuple):
    """Who keeps a pod waiting: all that decides which events concern it."""

    profile: str
    unschedulable_plugins: frozenset[str]
    pending_plugins: frozenset[str]
    gating_plugin: str


class QueuedPodInfo(msgspec.Struct, eq=False, weakref=False):
    """A pod in the queue or in flight; it is the same object from the pod's creation to its bind.

    `timestamp` is refreshed by each failed attempt, so that a pod that failed queues behind newer
    pods of its priority. `initial_attempt_timestamp` is the first time in the active queue: time
    spent behind a gate counts for no latency. The plugin sets are those of the last attempt; the
    failure path replaces them whole, nothing edits them in place. `shape` belongs to the engine
    and is dropped when the pod changes.
    """

    pod: PodInfo
    timestamp: float
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors_count: int = 0
    backoff_expiration: float = NOT_COMPUTED
    initial_attempt_timestamp: float | None = None
    unschedulable_plugins: frozenset[str] = NO_PLUGINS
    pending_plugins: frozenset[str] = NO_PLUGINS
    gating_plugin: str = ""
    gating_message: str = ""
    was_flushed_from_unschedulable: bool = False
    shape: Any = None
    # The place in the queue, kept by the heaps and the waiting groups alone. Both are None while
    # the pod is in flight.
    heap: "PodHeap | None" = None
    heap_item: tuple[Any, ...] | None = None
    group: "Group | None" = None

    @property
    def gated(self) -> bool:
        """Whether a PreEnqueue plugin keeps the pod from being tried at all."""
        return self.gating_plugin != ""

    @property
    def rejection(self) -> Rejection:
        """Who keeps the pod waiting now."""
        return Rejection(
            self.pod.scheduler_name,
            self.unschedulable_plugins,
            self.pending_plugins,
            self.gating_plugin,
        )

    def replace_pod(self, pod: PodInfo) -> None:
        """Take a newer version of the same pod; what was derived from the old one is dropped."""
        self.pod = pod
        self.shape = None

    def rejected_by(
        self, unschedulable_plugins: frozenset[str], pending_plugins: frozenset[str] = NO_PLUGINS
    ) -> None:
        """Record who rejected the attempt that just ended; nobody at all means it was an error."""
        self.unschedulable_plugins = unschedulable_plugins
        self.pending_plugins = pending_plugins
