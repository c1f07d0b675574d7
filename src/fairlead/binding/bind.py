"""⑪ to ⑬ From a decision to a bound pod: permits, PreBind, Bind.

Reads: decisions. Writes: bindings, through connections of their own.

The usual pod has nobody to wait for: its Binding is posted at once and a callback hears of it. A
pod that a plugin holds, prepares or binds itself gets a task. Whichever way, the pod stays assumed
until the outcome is known: an answer that was lost is looked up, never guessed.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

import msgspec

from fairlead.binding.outcome import BothClocks, Outcome
from fairlead.binding.plugins import bind, post_bind, pre_bind
from fairlead.binding.requests import binding_body, binding_path
from fairlead.cycle.decision import Placed, Unplaced
from fairlead.cycle.diagnosis import count_reasons, fit_message
from fairlead.framework.profile import Profile
from fairlead.framework.stages import Io
from fairlead.framework.status import WRAPPED, PluginError, Status
from fairlead.framework.waiting import WaitingPods
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError, NotFound, Unreachable
from fairlead.kube.pipeline import Posts
from fairlead.kube.resource import PODS
from fairlead.observe.logs import get_logger, ref
from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.queue import SchedulingQueue

log = get_logger("bind")

FIRST_LOOK, LONGEST_PAUSE = 0.2, 5.0


@dataclass(slots=True)
class Flight:
    """One placed pod on its way to its node."""

    profile: Profile
    entry: QueuedPodInfo
    decision: Placed
    began: float


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
        self._landed = asyncio.Event()
        self.under_way = 0

    def placed(
        self, profile: Profile, entry: QueuedPodInfo, decision: Placed, began: float
    ) -> None:
        flight = Flight(profile, entry, decision, began)
        self.under_way += 1
        if decision.waits:
            self._hold(flight)
        else:
            self._permitted(flight)

    def failed(
        self, profile: Profile, entry: QueuedPodInfo, failure: Unplaced, began: float
    ) -> None:
        """No node was found: there is nothing to carry out but the news."""
        self._outcome.failed(profile, entry, failure, began)

    def deleting(self, profile: Profile, entry: QueuedPodInfo) -> None:
        self._outcome.deleting(profile, entry)

    async def drain(self, seconds: float) -> bool:
        """Wait until every pod under way is bound or given back."""
        try:
            async with asyncio.timeout(seconds):
                while self.under_way:
                    self._landed.clear()
                    await self._landed.wait()
        except TimeoutError:
            return False
        return True

    def _hold(self, flight: Flight) -> None:
        """Wait for the Permit plugins that asked for time."""

        def released(plugin: str, refusal: Status | None) -> None:
            if refusal is None:
                self._permitted(flight)
                return
            message = fit_message(1, count_reasons([(refusal.reasons, 1)]))
            rejecters = frozenset([plugin] if plugin else ())
            self._failed(
                flight, Unplaced(flight.entry.pod, message, unschedulable_plugins=rejecters)
            )

        decision = flight.decision
        self._waiting.hold(
            decision.pod, decision.node_name, decision.waits, self._clock.now(), released
        )

    def _permitted(self, flight: Flight) -> None:
        """Nothing that happens from now on concerns the queue: the pod is as good as bound."""
        profile = flight.profile
        self._queue.done(flight.entry.pod.uid)
        first = profile.bind[0].plugin
        plain = getattr(first, "posts_binding", False)
        if plain and not profile.pre_bind and not profile.post_bind:
            self._post(flight, lambda: None)
        else:
            self._spawn(self._by_plugins(flight))

    def _post(self, flight: Flight, then: Callable[[], None]) -> None:
        pod, node_name = flight.entry.pod, flight.decision.node_name

        def done(status: int, body: bytes) -> None:
            if status < 300:
                self._bound(flight)
                then()
            elif status == 409 or status >= 500:
                self._spawn(self._look_up(flight, refusal_text(status, body)))
            else:
                self._refused(flight, refusal_text(status, body))

        def failed(problem: Unreachable) -> None:
            if problem.written:
                self._spawn(self._look_up(flight, str(problem)))
            else:
                self._refused(flight, str(problem))

        try:
            self._binds.post(binding_path(pod), binding_body(pod, node_name), done, failed)
        except (Unreachable, ValueError) as problem:
            self._refused(flight, str(problem))

    async def _by_plugins(self, flight: Flight) -> None:
        """PreBind, then the binders until one takes the pod, then PostBind."""
        profile, pod, node_name = flight.profile, flight.entry.pod, flight.decision.node_name
        state = flight.decision.state
        assert state is not None
        try:
            await pre_bind(profile, pod, node_name, state, self._io)
            by_us = await bind(profile, pod, node_name, state, self._io)
        except PluginError as problem:
            self._failed(flight, Unplaced(pod, str(problem), unschedulable=False))
            return

        def after() -> None:
            self._spawn(post_bind(profile, pod, node_name, state, self._io))

        if by_us:
            self._post(flight, after)
        else:
            self._bound(flight)
            after()

    async def _look_up(self, flight: Flight, doubt: str) -> None:
        """Ask the API server what has become of the pod until it answers."""
        pod, node_name = flight.entry.pod, flight.decision.node_name
        pause = FIRST_LOOK
        log.warning("Outcome of a binding is unknown; looking it up", pod=ref(pod), err=doubt)
        while True:
            try:
                found = await self._client.get(PODS, pod.name, pod.namespace)
                break
            except NotFound:
                found = None
                break
            except KubeError as problem:
                log.error(problem, "Cannot look up a pod; trying again", pod=ref(pod))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        if found is None or found["metadata"]["uid"] != pod.uid:
            self._refused(flight, f"pod {pod.key} is gone")
        elif (where := found["spec"].get("nodeName", "")) == node_name:
            self._bound(flight)
        elif where:
            self._refused(flight, f"pod {pod.key} was bound to {where} by somebody else")
        else:
            self._refused(flight, doubt)

    def _bound(self, flight: Flight) -> None:
        self.under_way -= 1
        self._landed.set()
        self._outcome.bound(flight.profile, flight.entry, flight.decision.node_name, flight.began)

    def _refused(self, flight: Flight, why: str) -> None:
        name = flight.profile.bind[0].name
        text = WRAPPED["Bind"].format(name, why)
        self._failed(flight, Unplaced(flight.entry.pod, text, unschedulable=False))

    def _failed(self, flight: Flight, failure: Unplaced) -> None:
        self.under_way -= 1
        self._landed.set()
        decision = flight.decision
        self._outcome.undone(
            flight.profile, flight.entry, decision.node_name, decision.state, failure, flight.began
        )

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


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
        """The decoded JSON of the answer. Raises ApiError or Unreachable."""
        data = None if body is None else msgspec.json.encode(body)
        return await self._client.json(method, path, body=data)
