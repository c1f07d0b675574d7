"""⑤ The scheduler: a table of contents.

    intake ③ ──► queue ④ ──► cycle ⑥ to ⑩ ──► binding ⑪ to ⑭
       ▲                                            │
       └───────────────── the watch ② ◄─────────────┘

`Core` is all of it that decides, without any I/O: what runs in a process, in a test, behind a
file of cases. `Scheduler` takes pods from the queue, one decision after the other, and hands what
came of them to whoever carries it out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from fairlead.clock import Clock
from fairlead.cluster.state import Cluster
from fairlead.config.release import RELEASE_1_36, Release
from fairlead.config.types import KubeSchedulerConfiguration
from fairlead.cycle.decision import Placed, Unplaced
from fairlead.cycle.schedule_one import Choose, SchedulingCycle
from fairlead.framework.handle import Handle
from fairlead.framework.profile import Profile
from fairlead.framework.status import Code, crash, said
from fairlead.intake import Intake
from fairlead.model.podinfo import PodInfo
from fairlead.profiles import build_profiles
from fairlead.queue.active import SortKey, sort_key_of
from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.events import ClusterEvent, Registration
from fairlead.queue.hints import Hints
from fairlead.queue.queue import QueueTimes, SchedulingQueue

REJECTING = frozenset(["preEnqueue", "preFilter", "filter", "reserve", "permit"])
"""A plugin at one of these points can keep a pod waiting, so events must be able to wake it."""


class Told(Protocol):
    """Who hears of what goes wrong on the way, and of work to be done."""

    def wake(self) -> None: ...

    def refused(self, line: str) -> None: ...

    def hint_failed(
        self, plugin: str, event: ClusterEvent, pod: object, problem: Exception
    ) -> None: ...

    def assumed_gone(self, pod: PodInfo) -> None: ...

    def bug(self, pod: PodInfo, problem: Exception) -> None: ...


class Core:
    """One configuration, live: cluster, profiles, queue, cycle, intake."""

    def __init__(
        self,
        cluster: Cluster,
        configuration: KubeSchedulerConfiguration,
        classes: Mapping[str, type],
        clock: Clock,
        choose: Choose | None,
        told: Told,
        release: Release = RELEASE_1_36,
    ) -> None:
        self.cluster, self.told = cluster, told
        wall: Callable[[], float] = getattr(clock, "wall", clock.now)
        handle = Handle(cluster.nodes, cluster.objects, release, choose, wall)
        self.waiting, self.errands = handle.waiting, handle.errands
        self.evictions = handle.evictions
        self.profiles = build_profiles(configuration, classes, handle)
        self.queue = SchedulingQueue(
            clock,
            Hints(registrations(self.profiles), told.hint_failed),
            pre_enqueue=self._pre_enqueue,
            wake=told.wake,
            sort_key=sort_key(next(iter(self.profiles.values()))),
            times=QueueTimes(
                float(configuration.pod_initial_backoff_seconds),
                float(configuration.pod_max_backoff_seconds),
            ),
        )
        self.cycle = SchedulingCycle(cluster, handle, choose, self.queue)
        self.intake = Intake(cluster, self.queue, self.profiles, told, release)

    def _pre_enqueue(self, entry: QueuedPodInfo) -> tuple[str, str] | None:
        """May the pod be tried at all? The plugin that holds it back now is asked first."""
        plugins = self.profiles[entry.pod.scheduler_name].pre_enqueue
        if entry.gating_plugin:
            plugins = sorted(plugins, key=lambda each: each.name != entry.gating_plugin)
        for instance in plugins:
            try:
                outcome: Any = instance.plugin.pre_enqueue(entry.pod)
                status = None if outcome is None else said(instance.name, "PreEnqueue", outcome)
            except Exception as problem:  # noqa: BLE001 - any crash of a plugin is its own
                return instance.name, str(crash(instance.name, "PreEnqueue", problem))
            if status is not None and status.code != Code.SUCCESS:
                return instance.name, status.message
        return None


class Carrier(Protocol):
    """Who carries decisions out. `began` is when the attempt did."""

    def placed(
        self, profile: Profile, entry: QueuedPodInfo, decision: Placed, began: float
    ) -> None: ...

    def failed(
        self, profile: Profile, entry: QueuedPodInfo, failure: Unplaced, began: float
    ) -> None: ...

    def deleting(self, profile: Profile, entry: QueuedPodInfo) -> None: ...


class Scheduler:
    """Takes pods from the queue and decides them, for at most a given time at once."""

    def __init__(
        self, core: Core, carrier: Carrier, clock: Clock, algorithm: Callable[[float], None]
    ) -> None:
        """`algorithm` is told how long each decision took."""
        self.core = core
        self.carrier = carrier
        self._now = clock.now
        self._algorithm = algorithm

    def run_for(self, seconds: float) -> bool:
        """Decide pods until the time is over; False if the queue ran empty before."""
        end = self._now() + seconds
        pop = self.core.queue.pop
        while (entry := pop()) is not None:
            self.schedule(entry)
            if self._now() >= end:
                return True
        return False

    def schedule(self, entry: QueuedPodInfo) -> None:
        """One pod, popped: decided and handed on, or dropped if there is nothing to decide."""
        core, pod = self.core, entry.pod
        profile = core.profiles[pod.scheduler_name]
        if pod.deleting:
            core.queue.done(pod.uid)
            self.carrier.deleting(profile, entry)
            return
        if core.cluster.placed(pod.uid) is not None:
            core.queue.done(pod.uid)
            return
        began = self._now()
        try:
            decision = core.cycle.schedule_one(profile, entry)
        except Exception as problem:  # noqa: BLE001 - a bug of ours; one pod must not stop the others
            decision = self._broken(pod, problem)
        self._algorithm(self._now() - began)
        if isinstance(decision, Placed):
            core.queue.nominator.delete(pod)
            self.carrier.placed(profile, entry, decision, began)
        else:
            self.carrier.failed(profile, entry, decision, began)

    def _broken(self, pod: PodInfo, problem: Exception) -> Unplaced:
        """A decision broke off: nothing that it may have left half done is kept."""
        self.core.told.bug(pod, problem)
        self.core.cluster.forget(pod.uid)
        self.core.cycle.shapes.clear()
        what = f"internal error: {type(problem).__name__}: {problem}"
        return Unplaced(pod, what, unschedulable=False)


def registrations(
    profiles: Mapping[str, Profile],
) -> dict[str, dict[str, Sequence[Registration] | None]]:
    """Which events each plugin wants its rejected pods to be tried again on.

    Raises PluginError for one that cannot say it.
    """
    found: dict[str, dict[str, Sequence[Registration] | None]] = {}
    for name, profile in profiles.items():
        found[name] = {}
        for instance in profile.plugins.values():
            register: Callable[[], Sequence[Registration]] | None = getattr(
                instance.plugin, "events_to_register", None
            )
            if register is not None:
                try:
                    found[name][instance.name] = [(event, hint) for event, hint in register()]
                except Exception as problem:
                    raise crash(instance.name, "EventsToRegister", problem) from problem
            elif instance.points & REJECTING:
                found[name][instance.name] = None
    return found


def sort_key(profile: Profile) -> SortKey:
    """The queue's order, by the QueueSort plugin of the first profile."""
    plugin = profile.queue_sort[0].plugin
    key = getattr(plugin, "sort_key", None)
    if key is not None:
        return key
    return sort_key_of(plugin.less)
