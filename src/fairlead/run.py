"""① The process: from a configuration to a scheduler at work, and back to nothing.

Reads: the configuration, the cluster's access. Writes: everything, through the parts that it makes.

One thread owns the state. The loop drains the watches (their callbacks apply each change at once),
decides for at most `SLICE`, lets the sends go out, and begins again.
"""

import asyncio
import contextlib
import gc
import random
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fairlead.binding.bind import Binding, ClientIo
from fairlead.binding.eviction import Evictor
from fairlead.binding.outcome import Outcome
from fairlead.clock import SystemClock
from fairlead.cluster.state import Cluster
from fairlead.config.golang import as_format
from fairlead.config.release import RELEASE_1_36, Release
from fairlead.config.types import KubeSchedulerConfiguration
from fairlead.framework.waiting import WaitingPods
from fairlead.intake import WATCHED
from fairlead.kube.access import ClusterAccess
from fairlead.kube.client import Client
from fairlead.kube.errors import Forbidden, KubeError, Unauthorized, Unreachable
from fairlead.kube.events import CAPACITY, EventRecorder
from fairlead.kube.pipeline import Posts
from fairlead.kube.resource import NODES, PODS
from fairlead.kube.rights import Need, missing_rights
from fairlead.model.podinfo import PodInfo
from fairlead.observe.logs import get_logger
from fairlead.observe.metrics import Metrics
from fairlead.queue.events import ClusterEvent
from fairlead.scheduler import Core, Scheduler
from fairlead.watches import Watches, resource_of

log = get_logger(__name__)

SLICE = 0.002
BIND_CONNECTIONS, PATCH_CONNECTIONS, EVENT_CONNECTIONS = 14, 2, 2
FLUSH_UNSCHEDULABLE, RESEND = 30.0, 1.0
TICK = 0.25
NEEDED = (
    Need("watch", "nodes"),
    Need("watch", "pods"),
    *(Need("watch", resource_of(kind).plural, resource_of(kind).group) for kind in WATCHED),
    Need("create", "pods/binding"),
)
WANTED = (
    Need("patch", "pods/status"),
    Need("delete", "pods"),
    Need("create", "events", "events.k8s.io"),
)
REMEDY = "bind the user to the ClusterRole system:kube-scheduler"
PATIENCE = 10.0
"""How long the cluster may take for its first answers."""
DRAIN = 10.0
"""How long a stopping scheduler waits for the answers to its bindings."""


class StartError(Exception):
    """Why the scheduler did not start, in one line."""


@dataclass(slots=True)
class Listeners:
    """Who else wants to know: the demo prints what it hears."""

    bound: Callable[[PodInfo, str], None] | None = None
    failed: Callable[[PodInfo, str], None] | None = None
    ready: Callable[[], None] | None = None


@dataclass(slots=True)
class Bell:
    """Rings when there is a pod to decide, and hears of trouble."""

    rung: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: WaitingPods = field(default_factory=WaitingPods)

    def wake(self) -> None:
        self.rung.set()

    def refused(self, line: str) -> None:
        log.error(line, "An object cannot be read and is left out")

    def hint_failed(
        self, plugin: str, event: ClusterEvent, pod: object, problem: Exception
    ) -> None:
        pod_name = str(getattr(pod, "key", pod))
        log.error(problem, "A queueing hint failed", plugin=plugin, event=event.label, pod=pod_name)

    def assumed_gone(self, pod: PodInfo) -> None:
        self.waiting.reject(pod.uid, "", "removed")

    def bug(self, pod: PodInfo, problem: Exception) -> None:
        """With its traceback, whatever the verbosity: somebody has to mend it."""
        told = {"message": f"deciding pod {pod.key} failed unexpectedly", "exception": problem}
        asyncio.get_running_loop().call_exception_handler(told)


class Process:
    """One scheduler at work on one cluster."""

    def __init__(
        self,
        configuration: KubeSchedulerConfiguration,
        classes: Mapping[str, type],
        access: ClusterAccess,
        *,
        listeners: Listeners | None = None,
        seed: int | None = None,
        release: Release = RELEASE_1_36,
    ) -> None:
        self.configuration = configuration
        self.access = access
        self.release = release
        self.listeners = listeners or Listeners()
        self.clock = SystemClock()
        self.metrics = Metrics()
        self.bell = Bell()
        self.core = Core(
            Cluster(),
            configuration,
            classes,
            self.clock,
            None if release.strict else random.Random(seed).randrange,
            self.bell,
            release,
        )
        self.bell.waiting = self.core.waiting  # which plugins see through their handle
        self._stopping = asyncio.Event()
        self._supply_metrics()

    def stop(self) -> None:
        """Take no more pods; end when those under way are done."""
        self._stopping.set()
        self.bell.wake()

    async def run(self) -> None:
        """Work until stopped. Raises StartError if the cluster cannot be worked on."""
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client(self.access))
            if not await self._reached(client):
                return
            binds = Posts(self.access, BIND_CONNECTIONS)
            patches = Posts(self.access, PATCH_CONNECTIONS, capacity=CAPACITY)
            events = Posts(self.access, EVENT_CONNECTIONS, capacity=CAPACITY)
            for posts in (binds, patches, events):
                await posts.start()
                stack.push_async_callback(posts.close)
            recorders = self._recorders(events)
            outcome = Outcome(self.core.intake, recorders, patches, self.metrics, self.clock)
            outcome.bound_listener = self.listeners.bound
            outcome.failed_listener = self.listeners.failed
            binding = Binding(
                self.core.queue,
                outcome,
                binds,
                client,
                ClientIo(client),
                self.clock,
                self.core.waiting,
            )
            evictor = Evictor(
                self.core.queue,
                self.core.evictions,
                ClientIo(client),
                recorders,
                self.metrics,
                self.clock,
                binding.give_up,
            )
            binding.evict = evictor.begin
            stack.push_async_callback(binding.close)
            self.core.errands.carried_by(binding.errand)
            stack.push_async_callback(evictor.close)
            watches = Watches(client, self.core.intake, self.metrics)
            await self._work(binding, watches, recorders)
            for recorder in recorders.values():
                recorder.resend()
            for posts in (patches, events):
                await posts.drain(1.0)

    async def _reached(self, client: Client) -> bool:
        """Whether the cluster answers; False if we were asked to stop before it did."""
        asked = asyncio.ensure_future(self._check_access(client.within(PATIENCE)))
        stopped = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait((asked, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if asked.done():
            asked.result()
            return True
        asked.cancel()
        await asyncio.wait((asked,))
        return False

    async def _check_access(self, client: Client) -> None:
        """One small question of each kind before anything starts: most mistakes show here."""
        for resource in (NODES, PODS):
            try:
                await client.json("GET", resource.path(), params={"limit": 1})
            except Unauthorized as problem:
                raise StartError(
                    f"the API server at {self.access.server} does not know us ({problem}); check"
                    f" the credentials in {self.access.source or 'the kubeconfig'}"
                ) from problem
            except Forbidden as problem:
                raise StartError(f"missing permission: {problem}; {REMEDY}") from problem
            except Unreachable as problem:
                raise StartError(str(problem)) from problem
            except KubeError as problem:
                raise StartError(
                    f"{self.access.server} does not answer as a Kubernetes API server: {problem}"
                ) from problem
        if missing := await missing_rights(client, NEEDED):
            raise StartError(
                f"missing permission to {' and to '.join(map(str, missing))}; {REMEDY}"
            )
        if missing := await missing_rights(client, WANTED):
            rights = [str(each) for each in missing]
            log.warning("Missing permissions; pods are placed but not told of", missing=rights)

    async def _work(
        self, binding: Binding, watches: Watches, recorders: Mapping[str, EventRecorder]
    ) -> None:
        log.info("Starting Fairlead", profiles=list(self.core.profiles), server=self.access.server)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run) for run in watches.run()]
            tasks.append(group.create_task(self._tend(recorders)))
            await self._until_synced(watches)
            await self._loop(binding)
            if not await binding.drain(DRAIN):
                log.warning("Stopped before all bindings were answered", pods=binding.under_way)
            for task in tasks:
                task.cancel()

    async def _until_synced(self, watches: Watches) -> None:
        """Nothing is decided before all that exists is known."""
        synced = asyncio.ensure_future(watches.synced.wait())
        stopped = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait((synced, stopped), return_when=asyncio.FIRST_COMPLETED)
        for task in (synced, stopped):
            task.cancel()
        if self._stopping.is_set():
            return
        # What is here now stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        if self.listeners.ready is not None:
            self.listeners.ready()

    async def _loop(self, binding: Binding) -> None:
        """Decide for a slice, let the world in, decide on; sleep when the queue is empty."""
        algorithm = self.metrics.histogram("scheduler_scheduling_algorithm_duration_seconds")
        scheduler = Scheduler(self.core, binding, self.clock, algorithm.observe)
        bell = self.bell.rung
        while not self._stopping.is_set():
            bell.clear()
            if scheduler.run_for(SLICE):
                await asyncio.sleep(0)
            else:
                await bell.wait()

    async def _tend(self, recorders: Mapping[str, EventRecorder]) -> None:
        """What is due from time to time: back-offs, permits, long waits, series of events."""
        queue, now = self.core.queue, self.clock.now
        next_flush = next_resend = now()
        while True:
            queue.flush_backoff()
            self.core.waiting.expire(now())
            if now() >= next_resend:
                for recorder in recorders.values():
                    recorder.resend()
                next_resend = now() + RESEND
            if now() >= next_flush:
                queue.flush_unschedulable()
                for recorder in recorders.values():
                    recorder.flush()
                next_flush = now() + FLUSH_UNSCHEDULABLE
            await asyncio.sleep(TICK)

    def _recorders(self, events: Posts) -> dict[str, EventRecorder]:
        host = socket.gethostname()

        def rejected(status: int, body: bytes) -> None:
            log.error(body[:200].decode(errors="replace"), "An event was refused", status=status)

        spelt = as_format if self.release.strict else str
        return {
            name: EventRecorder(events, name, f"{name}-{host}", self.clock, rejected, spelt)
            for name in self.core.profiles
        }

    def _supply_metrics(self) -> None:
        """Sizes that the parts keep anyway are asked for at the scrape."""
        queue, cluster, cycle = self.core.queue, self.core.cluster, self.core.cycle
        supply, counts = self.metrics.supply, cycle.engine.counts
        supply("scheduler_pending_pods", lambda: {(q,): n for q, n in queue.pending().items()})
        supply("scheduler_queue_incoming_pods_total", queue.incoming)
        supply("scheduler_unschedulable_pods", queue.rejections)
        supply(
            "scheduler_cache_size",
            lambda: {
                ("nodes",): len(cluster.nodes),
                ("pods",): len(cluster),
                ("assumed_pods",): cluster.assumed,
            },
        )
        supply(
            "fairlead_kept_answers_total",
            lambda: {("hit",): counts.hits, ("repair",): counts.repairs, ("rebuild",): counts.anew},
        )
        supply("fairlead_kept_answer_mismatches_total", lambda: {(): counts.mismatches})
        supply("fairlead_kept_answer_bytes", lambda: {(): cycle.shapes.held})


def stop_on_signals(process: Process) -> None:
    """SIGTERM and SIGINT end it in order; a second one, of either kind, ends it at once."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def first(number: signal.Signals) -> None:
        log.info("Stopping", signal=number.name)
        for each in numbers:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        process.stop()

    for number in numbers:
        loop.add_signal_handler(number, first, number)
