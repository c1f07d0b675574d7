"""⑭ What came of a pod, told to the world and to the queue.

Reads: the newest version of the pod that the watch has told of. Writes: events, the PodScheduled
condition, the queue, and the assumption when it must be taken back.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from fairlead.binding.requests import condition_body, nomination_body, status_path
from fairlead.clock import Clock, WallClock
from fairlead.cluster.state import Cluster
from fairlead.cycle.decision import Placed, Unplaced
from fairlead.cycle.reserve import unreserve
from fairlead.framework.profile import Profile
from fairlead.framework.status import PluginError
from fairlead.kube.client import PATCH_TYPES
from fairlead.kube.errors import Unreachable
from fairlead.kube.events import EventRecorder, Regarding
from fairlead.kube.pipeline import Posts
from fairlead.model.podinfo import PodInfo
from fairlead.observe.logs import get_logger, ref
from fairlead.observe.metrics import Histogram, Metrics, attempts_label
from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.events import ASSIGNED_POD_DELETE
from fairlead.queue.queue import SchedulingQueue

log = get_logger(__name__)

PREEMPTION = "DefaultPreemption"


class BothClocks(Clock, WallClock, Protocol):
    """Monotonic time for durations, the time of day for what is written."""


class World(Protocol):
    """What is known of pods and nodes; `pending` is the newest version of each pod without one."""

    @property
    def cluster(self) -> Cluster: ...
    @property
    def queue(self) -> SchedulingQueue: ...
    @property
    def pending(self) -> Mapping[str, PodInfo]: ...


class Outcome:
    """The end of an attempt, whichever way it went."""

    def __init__(
        self,
        world: World,
        recorders: Mapping[str, EventRecorder],
        patches: Posts,
        metrics: Metrics,
        clock: BothClocks,
    ) -> None:
        self._pending = world.pending
        self._cluster = world.cluster
        self._queue = world.queue
        self._recorders = recorders
        self._patches = patches
        self._metrics = metrics
        self._clock = clock
        self._attempts: Histogram = metrics.histogram("scheduler_pod_scheduling_attempts")
        self.bound_listener: Callable[[PodInfo, str], None] | None = None
        self.failed_listener: Callable[[PodInfo, str], None] | None = None

    def bound(self, profile: Profile, entry: QueuedPodInfo, node_name: str, began: float) -> None:
        """The API server has taken the binding."""
        pod = entry.pod
        name = profile.scheduler_name
        self._recorders[name].scheduled(regarding(pod), node_name)
        self._count("scheduled", name, began)
        self._attempts.observe(entry.attempts)
        if entry.initial_attempt_timestamp is not None:
            took = self._clock.now() - entry.initial_attempt_timestamp
            label = attempts_label(entry.attempts)
            self._metrics.histogram("scheduler_pod_scheduling_sli_duration_seconds", label).observe(
                took
            )
        if log.enabled(2):
            log.info(
                "Successfully bound pod to node",
                v=2,
                pod=ref(pod),
                node=node_name,
                evaluatedNodes=len(self._cluster.nodes),
            )
        if self.bound_listener is not None:
            self.bound_listener(pod, node_name)

    def undone(
        self, profile: Profile, entry: QueuedPodInfo, decision: Placed, failure: Unplaced
    ) -> None:
        """A placed pod was not bound: its place is given back.

        After an error the others hear of the free place at once. After a refusal the caller tells
        them when the pod itself is queued again, or it would be woken by its own leaving.
        """
        pod, state = entry.pod, decision.state
        if state is not None:
            try:
                unreserve(profile, pod, decision.node_name, state)
            except PluginError as problem:
                log.error(problem, "Unreserve failed", pod=ref(pod), node=decision.node_name)
        self._cluster.forget(pod.uid)
        if not failure.unschedulable:
            self._queue.move_all(ASSIGNED_POD_DELETE, pod.on(decision.node_name), None)

    def place_is_free(self, decision: Placed) -> None:
        """Wake the others that wait for a place such as the pod's."""
        gone = decision.pod.on(decision.node_name)
        self._queue.move_all(ASSIGNED_POD_DELETE, gone, None, only=lambda p: p.uid != gone.uid)

    def failed(
        self,
        profile: Profile,
        entry: QueuedPodInfo,
        failure: Unplaced,
        began: float,
        *,
        again: bool = True,
    ) -> None:
        """No node, or no binding: say why, and queue the pod again as it is now.

        A pod that is gone, or that has a node by now, is neither queued nor told that it has none.
        """
        pod = entry.pod
        if PREEMPTION in failure.post_filtered:
            self._metrics.cell("scheduler_preemption_attempts_total").value += 1
        result = "unschedulable" if failure.unschedulable else "error"
        self._count(result, profile.scheduler_name, began)
        if failure.unschedulable:
            log.info(
                "Unable to schedule pod; no fit; waiting", v=2, pod=ref(pod), err=failure.message
            )
        else:
            log.error(failure.message, "Error scheduling pod; retrying", pod=ref(pod))
        newest = self._pending.get(pod.uid) if again else None
        if newest is None:
            self._queue.done(pod.uid)
        else:
            entry.replace_pod(newest)
            entry.rejected_by(failure.unschedulable_plugins, failure.pending_plugins)
            self._queue.add_unschedulable_if_not_present(entry)
            self._queue.nominator.add(newest, failure.nominated_node_name)
            self._say(newest, failure)
        recorder = self._recorders[profile.scheduler_name]
        recorder.failed_scheduling(regarding(pod), failure.message)
        if self.failed_listener is not None:
            self.failed_listener(pod, failure.message)

    def expected(self, pod: PodInfo, node_name: str) -> None:
        """The pod is to be bound to the node, but not at once."""
        body = nomination_body(pod, node_name)
        if body is not None:
            self._patch(pod, body)

    def deleting(self, profile: Profile, entry: QueuedPodInfo) -> None:
        """A pod that is being deleted is left alone."""
        pod = entry.pod
        message = f"skip schedule deleting pod: {pod.key}"
        self._recorders[profile.scheduler_name].failed_scheduling(regarding(pod), message)
        log.info("Skip schedule deleting pod", v=3, pod=ref(pod))

    def _say(self, pod: PodInfo, failure: Unplaced) -> None:
        body = condition_body(
            pod, failure.reason, failure.message, self._clock.wall(), failure.nominated_node_name
        )
        if body is not None:
            self._patch(pod, body)

    def _patch(self, pod: PodInfo, body: bytes) -> None:
        def done(status: int, answer: bytes) -> None:
            # 404 and 409: the pod is gone, or another one has its name.
            if status >= 300 and status not in (404, 409):
                text = answer[:200].decode(errors="replace")
                log.error(f"HTTP {status}: {text}", "Error updating pod", pod=ref(pod))

        def lost(problem: Unreachable) -> None:
            log.error(problem, "Error updating pod", pod=ref(pod))

        try:
            self._patches.send(
                "PATCH", status_path(pod), body, PATCH_TYPES["strategic"], done, lost
            )
        except Unreachable as problem:  # the connections are closed: the process is ending
            lost(problem)

    def _count(self, result: str, profile: str, began: float) -> None:
        self._metrics.cell("scheduler_schedule_attempts_total", result, profile).value += 1
        self._metrics.histogram(
            "scheduler_scheduling_attempt_duration_seconds", result, profile
        ).observe(self._clock.now() - began)


def regarding(pod: PodInfo) -> Regarding:
    return Regarding("Pod", pod.namespace, pod.name, pod.uid, pod.resource_version)
