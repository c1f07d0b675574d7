"""⑪ to ⑬ From a decision to a bound pod: permits, PreBind, Bind.

Reads: decisions. Writes: bindings, through connections of their own.

The usual pod has nobody to wait for: its Binding is posted at once and a callback hears of it. A
pod that a plugin holds, prepares or binds itself gets a task. Whichever way, the pod stays assumed
until the outcome is known: an answer that was lost is looked up, never guessed.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fairlead.binding.outcome import BothClocks, Outcome
from fairlead.binding.plugins import bind, post_bind, pre_bind, pre_flight
from fairlead.binding.requests import binding_body, binding_path
from fairlead.cycle.decision import Eviction, Placed, Unplaced
from fairlead.framework.errands import Errand
from fairlead.framework.instance import PluginInstance
from fairlead.framework.profile import Profile
from fairlead.framework.stages import Io
from fairlead.framework.status import WRAPPED, Code, PluginError, RequestFailed, Status
from fairlead.framework.waiting import WaitingPods
from fairlead.framework.words import count_reasons, fit_message
from fairlead.kube.client import JSON, PATCH_TYPES, Client
from fairlead.kube.errors import KubeError, NotFound, Unreachable
from fairlead.kube.pipeline import Posts
from fairlead.kube.resource import PODS
from fairlead.model.podinfo import PodInfo
from fairlead.observe.logs import get_logger, ref
from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.queue import SchedulingQueue

log = get_logger(__name__)

LOOKS = (0.0, 0.5)
"""When a pod is looked up after silence: a request that was cut off may still be at work."""
Evict = Callable[[Profile, PodInfo, Eviction], None]
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0


@dataclass(slots=True)
class Flight:
    """One placed pod on its way to its node."""

    profile: Profile
    entry: QueuedPodInfo
    decision: Placed
    began: float
    landed: bool = False
    preparing: asyncio.Task[None] | None = None
    """Its task while PreBind plugins are at work: until then the pod can still be given up."""
    given_up: str = ""
    busy: Sequence[PluginInstance] = ()
    """The PreBind plugins that have something to do for the pod."""


class Binding:
    """Carries decisions out, any number of them at a time."""

    def __init__(
        self,
        queue: SchedulingQueue,
        outcome: Outcome,
        binds: Posts,
        client: Client,
        io: Io,
        clock: BothClocks,
        waiting: WaitingPods,
    ) -> None:
        self._queue = queue
        self._outcome = outcome
        self._binds = binds
        self._client = client
        self._io = io
        self._clock = clock
        self._waiting = waiting
        self._tasks: set[asyncio.Task[None]] = set()
        self._preparing: dict[str, Flight] = {}
        self.evict: Evict | None = None
        """Who makes room for pods that are promised a node."""
        self._closed = False
        self._landed = asyncio.Event()
        self.under_way = 0
        """Pods whose binding has begun and has no outcome yet; those that are held do not count."""

    def placed(
        self, profile: Profile, entry: QueuedPodInfo, decision: Placed, began: float
    ) -> None:
        flight = Flight(profile, entry, decision, began)
        if profile.pre_bind:
            assert decision.state is not None, "whoever prepares a pod left notes"
            try:
                flight.busy = pre_flight(profile, entry.pod, decision.node_name, decision.state)
            except PluginError as problem:
                self._queue.done(entry.pod.uid)
                self._give_up(flight, Unplaced(entry.pod, str(problem), unschedulable=False))
                return
        if flight.busy or decision.waits:
            # It may take long: whoever makes room on the node must know that it is promised.
            self._outcome.expected(entry.pod, decision.node_name)
        if decision.waits:
            self._hold(flight)
        else:
            self._permitted(flight)

    def failed(
        self, profile: Profile, entry: QueuedPodInfo, failure: Unplaced, began: float
    ) -> None:
        """No node was found: there is nothing to carry out but the news, and perhaps evictions."""
        if failure.eviction is not None and self.evict is not None:
            self.evict(profile, entry.pod, failure.eviction)
        self._outcome.failed(profile, entry, failure, began)

    def deleting(self, profile: Profile, entry: QueuedPodInfo) -> None:
        self._outcome.deleting(profile, entry)

    def give_up(self, uid: str, plugin: str) -> bool:
        """Give up a pod that is held or prepared, for a plugin that has a better use for its place.

        False if there is no such pod, or if its binding may be on its way already.
        """
        if self._waiting.preempt(uid, plugin):
            return True
        flight = self._preparing.pop(uid, None)
        if flight is None or flight.preparing is None:
            return False
        flight.given_up = f"preempted by {plugin}"
        flight.preparing.cancel()
        return True

    async def drain(self, seconds: float) -> bool:
        """Wait until every pod that is being bound is bound or given back.

        Held pods are not waited for: nothing has been written for them, and another scheduler
        takes them up.
        """
        try:
            async with asyncio.timeout(seconds):
                while self.under_way:
                    self._landed.clear()
                    await self._landed.wait()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """End what is still at work; nothing begins after this."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _hold(self, flight: Flight) -> None:
        """Wait for the Permit plugins that asked for time."""

        def released(plugin: str, refusal: Status | None) -> None:
            if refusal is None:
                self._permitted(flight)
                return
            if not refusal.code.rejected:
                text = f"waiting on permit for pod: {refusal.message}"
                self._give_up(flight, Unplaced(flight.entry.pod, text, unschedulable=False))
                return
            message = fit_message(1, count_reasons([(refusal.reasons, 1)]))
            rejecters = frozenset([plugin] if plugin else ())
            failure = Unplaced(flight.entry.pod, message, unschedulable_plugins=rejecters)
            self._give_up(flight, failure)

        decision = flight.decision
        self._waiting.hold(
            decision.pod, decision.node_name, decision.waits, self._clock.now(), released
        )

    def _permitted(self, flight: Flight) -> None:
        """Nothing that happens from now on concerns the queue: the pod is as good as bound."""
        self.under_way += 1
        profile = flight.profile
        self._queue.done(flight.entry.pod.uid)
        if flight.busy or not getattr(profile.bind[0].plugin, "posts_binding", False):
            self._spawn(flight, self._by_plugins(flight))
        else:
            self._post(flight)

    def errand(self, work: Errand) -> None:
        """Write what a stage without I/O has decided on."""
        if not self._closed:
            task = asyncio.ensure_future(self._run(work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, work: Errand) -> None:
        try:
            await work(self._io)
        except Exception as problem:  # noqa: BLE001 - whatever it was, it is told and over
            log.error(problem, "Writing for a plugin failed")

    def _post(self, flight: Flight) -> None:
        pod, node_name = flight.entry.pod, flight.decision.node_name

        def done(status: int, body: bytes) -> None:
            if status < 300:
                self._bound(flight)
                return
            failure = self._refusal(flight, refusal_text(status, body))
            if status == 409:
                self._spawn(flight, self._look_up(flight, failure, LOOKS[:1]))
            elif status >= 500:
                self._spawn(flight, self._look_up(flight, failure, LOOKS))
            else:
                self._failed(flight, failure)

        def failed(problem: Unreachable) -> None:
            failure = self._refusal(flight, str(problem))
            if problem.written:
                self._spawn(flight, self._look_up(flight, failure, LOOKS))
            else:
                self._failed(flight, failure)

        try:
            self._binds.post(binding_path(pod), binding_body(pod, node_name), done, failed)
        except (Unreachable, ValueError) as problem:
            self._failed(flight, self._refusal(flight, str(problem)))

    async def _by_plugins(self, flight: Flight) -> None:
        """PreBind, then the binders until one takes the pod."""
        profile, pod, node_name = flight.profile, flight.entry.pod, flight.decision.node_name
        state = flight.decision.state
        assert state is not None
        flight.preparing = asyncio.current_task()
        self._preparing[pod.uid] = flight
        try:
            refusal = await pre_bind(flight.busy, pod, node_name, state, self._io)
        except PluginError as problem:
            self._failed(flight, Unplaced(pod, str(problem), unschedulable=False))
            return
        except asyncio.CancelledError:
            if not flight.given_up:
                raise
            self._failed(flight, Unplaced(pod, flight.given_up, unschedulable=False))
            return
        finally:
            self._preparing.pop(pod.uid, None)
        if refusal is not None:
            self._failed(flight, Unplaced(pod, refusal.message))
            return
        try:
            word = await bind(profile, pod, node_name, state, self._io)
        except PluginError as problem:  # it may have bound the pod before it failed
            failure = Unplaced(pod, str(problem), unschedulable=False)
            await self._look_up(flight, failure, LOOKS)
            return
        if word.code == Code.SKIP:
            self._post(flight)
        elif word.code == Code.SUCCESS:
            self._bound(flight)
        else:
            self._failed(flight, Unplaced(pod, word.message))

    async def _look_up(self, flight: Flight, failure: Unplaced, pauses: tuple[float, ...]) -> None:
        """Ask the API server what has become of the pod; `failure` if it has no node yet."""
        pod, node_name = flight.entry.pod, flight.decision.node_name
        log.warning("Looking up the outcome of a binding", pod=ref(pod), err=failure.message)
        for pause in pauses:
            await asyncio.sleep(pause)
            found = await self._as_it_is(pod)
            if found is None or found["metadata"]["uid"] != pod.uid:
                self._over(flight, self._refusal(flight, f"pod {pod.key} is gone"))
                return
            where = found["spec"].get("nodeName", "")
            if where == node_name:
                self._bound(flight)
                return
            if where:
                why = f"pod {pod.key} was bound to {where} by somebody else"
                self._over(flight, self._refusal(flight, why))
                return
        self._failed(flight, failure)

    async def _as_it_is(self, pod: PodInfo) -> dict[str, Any] | None:
        """The pod as the API server has it, asked until it answers; None if it is gone."""
        pause = FIRST_PAUSE
        while True:
            try:
                return await self._client.get(PODS, pod.name, pod.namespace)
            except NotFound:
                return None
            except KubeError as problem:
                log.error(problem, "Cannot look up a pod; trying again", pod=ref(pod))
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _bound(self, flight: Flight) -> None:
        if not self._lands(flight):
            return
        profile, entry, node_name = flight.profile, flight.entry, flight.decision.node_name
        self._outcome.bound(profile, entry, node_name, flight.began)
        state = flight.decision.state
        if profile.post_bind and state is not None:
            self._spawn(flight, post_bind(profile, entry.pod, node_name, state, self._io))

    def _refusal(self, flight: Flight, why: str) -> Unplaced:
        name = flight.profile.bind[0].name
        text = WRAPPED["Bind"].format(name, why)
        return Unplaced(flight.entry.pod, text, unschedulable=False)

    def _failed(self, flight: Flight, failure: Unplaced) -> None:
        if self._lands(flight):
            self._give_up(flight, failure)

    def _over(self, flight: Flight, failure: Unplaced) -> None:
        """The pod is gone or somebody else's: there is nothing to try again."""
        if self._lands(flight):
            self._give_up(flight, failure, again=False)

    def _give_up(self, flight: Flight, failure: Unplaced, *, again: bool = True) -> None:
        self._outcome.undone(flight.profile, flight.entry, flight.decision, failure)
        self._outcome.failed(flight.profile, flight.entry, failure, flight.began, again=again)
        if failure.unschedulable:
            self._outcome.place_is_free(flight.decision)

    def _lands(self, flight: Flight) -> bool:
        """Whether this is the first word on what became of the pod; only the first counts."""
        if flight.landed:
            return False
        flight.landed = True
        self.under_way -= 1
        self._landed.set()
        return True

    def _spawn(self, flight: Flight, work: Coroutine[None, None, None]) -> None:
        """Work on a pod beside the loop; a bug in it is told and costs this pod an attempt."""
        if self._closed:
            work.close()
            return
        task = asyncio.ensure_future(self._guarded(flight, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, flight: Flight, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Exception as problem:  # noqa: BLE001 - whatever it was, the pod must not stay assumed
            told = {"message": "binding a pod failed unexpectedly", "exception": problem}
            asyncio.get_running_loop().call_exception_handler(told)
            self._failed(flight, self._refusal(flight, f"{type(problem).__name__}: {problem}"))


def refusal_text(status: int, body: bytes) -> str:
    """The message of the Status that the API server answered with."""
    try:
        return str(msgspec.json.decode(body)["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"HTTP {status}"


class ClientIo:
    """What plugins may do in the API: requests with the scheduler's own rights."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def request(self, method: str, path: str, body: object = None) -> object:
        """The decoded JSON of the answer. Raises RequestFailed.

        A PATCH is a strategic merge patch, which merges lists by their keys.
        """
        data = None if body is None else msgspec.json.encode(body)
        kind = PATCH_TYPES["strategic"] if method == "PATCH" else JSON
        try:
            answer = await self._client.raw(method, path, body=data, content_type=kind)
        except KubeError as problem:
            raise RequestFailed(str(problem)) from problem
        return msgspec.json.decode(answer)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def now(self) -> float:
        return asyncio.get_running_loop().time()
