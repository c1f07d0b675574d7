"""Room for a pod: its victims are told to go, beside the loop, while the pod waits.

Reads: decisions that promise a node. Writes: a condition, a deletion and an event for each victim,
and the nominations of less important pods, which must look elsewhere.

    DisruptionTarget ──► DELETE ──► event Preempted      all victims but one, then the last one

While this goes on the pod is held back by its plugin (`Evictions`); what frees its node wakes it.
A victim that is not bound yet is no object to delete: its binding is given up, in memory.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

from fairlead.binding.outcome import BothClocks, regarding
from fairlead.binding.requests import clear_nomination, deletion, disruption, pod_path, status_path
from fairlead.cycle.decision import Eviction
from fairlead.framework.evictions import Evictions
from fairlead.framework.profile import Profile
from fairlead.framework.stages import Io
from fairlead.kube.errors import Conflict, KubeError, NotFound, ServerError, Unreachable
from fairlead.kube.events import EventRecorder
from fairlead.model.podinfo import PodInfo
from fairlead.observe.logs import get_logger, ref
from fairlead.observe.metrics import Metrics
from fairlead.queue.queue import SchedulingQueue

log = get_logger(__name__)

PAUSES = (0.01, 0.05, 0.25)
"""A status is written once more after each of these when the server is not well."""

Work = Coroutine[None, None, bool]
GiveUp = Callable[[str, str], bool]
"""Give up the binding of a pod, by uid, for a plugin; False if it is bound or about to be."""


class Evictor:
    """Carries evictions out, any number of them at a time."""

    def __init__(
        self,
        queue: SchedulingQueue,
        evictions: Evictions,
        io: Io,
        recorders: Mapping[str, EventRecorder],
        metrics: Metrics,
        clock: BothClocks,
        give_up: GiveUp,
    ) -> None:
        self._queue = queue
        self._evictions = evictions
        self._io = io
        self._recorders = recorders
        self._metrics = metrics
        self._clock = clock
        self._give_up = give_up
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, profile: Profile, pod: PodInfo, eviction: Eviction) -> None:
        """Start to make room for the pod; victims that are on their way already need no word."""
        victims = [victim for victim in eviction.victims if not victim.deleting]
        if not victims:
            return
        self._metrics.histogram("scheduler_preemption_victims").observe(len(eviction.victims))
        self._evictions.begin(pod.uid)
        work = self._evict(profile.scheduler_name, pod, eviction, victims)
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End what is at work; whoever schedules next will see what is left to do."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _evict(
        self, scheduler_name: str, pod: PodInfo, eviction: Eviction, victims: Sequence[PodInfo]
    ) -> None:
        began = self._clock.now()
        *others, last = victims
        done = False
        try:
            cleared = await self._all_done(
                self._clear(lower)
                for lower in self._queue.nominated_pods(eviction.node_name)
                if lower.priority < pod.priority and lower.nominated_node_name
            )
            done = await self._all_done(
                self._tell(scheduler_name, pod, eviction, victim) for victim in others
            )
            if done:
                self._evictions.await_last(pod.uid, last)
                done = await self._all_done([self._tell(scheduler_name, pod, eviction, last)])
            done = done and cleared
        finally:
            self._evictions.end(pod.uid)
            if not done:  # nothing that is still to come may wake the pod
                self._queue.activate([pod])
            result = "success" if done else "error"
            self._metrics.cell("scheduler_preemption_goroutines_execution_total", result).value += 1
            self._metrics.histogram(
                "scheduler_preemption_goroutines_duration_seconds", result
            ).observe(self._clock.now() - began)

    async def _all_done(self, work: Iterable[Work]) -> bool:
        """Do it all at once; whether all of it succeeded. What did not is in the log."""
        return all(await asyncio.gather(*work))

    async def _clear(self, pod: PodInfo) -> bool:
        """Take a promise back from a less important pod: it is tried elsewhere at once."""
        try:
            await self._patch_status(pod, clear_nomination(pod))
        except NotFound:
            return True
        except KubeError as problem:
            log.error(problem, "Cannot clear 'NominatedNodeName' of a pod", pod=ref(pod))
            return False
        return True

    async def _tell(
        self, scheduler_name: str, pod: PodInfo, eviction: Eviction, victim: PodInfo
    ) -> bool:
        """Tell one victim to go; one that is gone already is no failure, and no news."""
        note = f"Preempted by pod {pod.uid} on node {eviction.node_name}"
        if self._give_up(victim.uid, eviction.plugin):
            note += " (in kube-scheduler memory)."
        else:
            now = self._clock.wall()
            try:
                await self._patch_status(victim, disruption(victim, scheduler_name, now))
                await self._io.request("DELETE", pod_path(victim), deletion(victim))
            except (NotFound, Conflict):  # it is gone, or another pod has its name
                return True
            except KubeError as problem:
                log.error(problem, "Tried to preempt a pod", pod=ref(victim), preemptor=ref(pod))
                return False
        log.info(
            "Preemptor Pod preempted victim Pod",
            v=2,
            preemptor=ref(pod),
            victim=ref(victim),
            node=eviction.node_name,
        )
        recorder = self._recorders[scheduler_name]
        recorder.record(regarding(victim), "Normal", "Preempted", "Preempting", note)
        return True

    async def _patch_status(self, pod: PodInfo, body: object) -> None:
        for pause in PAUSES:
            try:
                await self._io.request("PATCH", status_path(pod), body)
            except (ServerError, Unreachable) as problem:
                log.warning("Writing a pod's status again", pod=ref(pod), err=str(problem))
                await asyncio.sleep(pause)
            else:
                return
        await self._io.request("PATCH", status_path(pod), body)
