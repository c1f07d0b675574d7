"""Whether an event is worth another attempt, for a pod that certain plugins rejected.

What is registered is known at the start, so the question "which hints of these rejectors does this
event concern?" is answered once for each pair of rejection and event and kept as a plan. An empty
plan costs nothing for any number of pods.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from fairlead.model.podinfo import PodInfo
from fairlead.queue.entry import QueuedPodInfo, Rejection
from fairlead.queue.events import (
    ADD,
    DEFAULT_REGISTRATIONS,
    NODE,
    ActionType,
    ClusterEvent,
    Hint,
    QueueingHint,
    Registration,
    matches,
)


class Strategy(IntEnum):
    """Where an event takes a waiting pod, in ascending order of eagerness."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


Plan = tuple[tuple[str, Hint | None, Strategy], ...]
"""Whom to ask, in order: a plugin, its hint (None: no need to ask), what its Queue would mean."""

Registrations = Mapping[str, Mapping[str, Sequence[Registration] | None]]
"""By profile and plugin, in the plugins' order. None stands for a plugin that can reject pods and
registers nothing itself: it hears of everything. An empty list hears of nothing."""

OnHintError = Callable[[str, ClusterEvent, PodInfo, Exception], None]

_ALWAYS: Plan = (("", None, Strategy.AFTER_BACKOFF),)
_IF_MEANT: Plan = (("*", None, Strategy.AFTER_BACKOFF),)
_MANY_PLANS = 16_384


def with_additions(registrations: Sequence[Registration] | None) -> tuple[Registration, ...]:
    """What a plugin hears of: what it registered and what kube-scheduler adds unasked.

    A plugin that registers added nodes also hears of every change of a node's taints, always to
    queue: upstream's remedy for a check that once hid new nodes from the hints.
    """
    if registrations is None:
        return DEFAULT_REGISTRATIONS
    heard = ActionType(0)
    for event, _ in registrations:
        if event.resource == NODE:
            heard |= event.action
    if heard & ADD and not heard & ActionType.UPDATE_NODE_TAINT:
        return (*registrations, (ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT), None))
    return tuple(registrations)


class Hints:
    """The registrations of all profiles, and the decision about one pod and one event.

    Writes: its own plans, kept because they depend on nothing that changes.
    """

    __slots__ = ("_by_profile", "_events_of", "_interest", "_on_error", "_plans", "_ungating")

    def __init__(self, registrations: Registrations, on_error: OnHintError) -> None:
        self._on_error = on_error
        self._by_profile = {
            profile: [
                (plugin, event, hint)
                for plugin, registered in plugins.items()
                for event, hint in with_additions(registered)
            ]
            for profile, plugins in registrations.items()
        }
        self._events_of: dict[str, set[ClusterEvent]] = {}
        for heard in self._by_profile.values():
            for plugin, event, _ in heard:
                self._events_of.setdefault(plugin, set()).add(event)
        self._interest: dict[ClusterEvent, bool] = {}
        self._ungating: dict[tuple[str, ClusterEvent], bool] = {}
        self._plans: dict[tuple[Rejection, ClusterEvent], Plan] = {}

    def is_of_interest(self, event: ClusterEvent) -> bool:
        """Whether any plugin of any profile hears of the event; a wildcard concerns everybody."""
        known = self._interest.get(event)
        if known is None:
            known = event.is_wildcard or any(
                matches(registered, event)
                for events in self._events_of.values()
                for registered in events
            )
            self._interest[event] = known
        return known

    def may_ungate(self, gating_plugin: str, event: ClusterEvent) -> bool:
        """Whether the plugin that gates a pod hears of the event, in whatever profile."""
        key = (gating_plugin, event)
        known = self._ungating.get(key)
        if known is None:
            events = self._events_of.get(gating_plugin, ())
            known = self._ungating[key] = any(matches(each, event) for each in events)
        return known

    def plan(self, rejection: Rejection, event: ClusterEvent) -> Plan:
        """Whom to ask about the event for pods with this rejection; empty when it is nobody's.

        Pending plugins come first, because the Queue of one of them outranks all others. A pod
        that nobody rejected failed by an error, and any event may end that.
        """
        key = (rejection, event)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MANY_PLANS:
                self._plans.clear()
            plan = self._plans[key] = self._make_plan(rejection, event)
        return plan

    def _make_plan(self, rejection: Rejection, event: ClusterEvent) -> Plan:
        rejectors = rejection.unschedulable_plugins | rejection.pending_plugins
        heard = self._by_profile.get(rejection.profile)
        if not rejectors:
            return _ALWAYS
        if event.is_wildcard:
            return _IF_MEANT
        if heard is None:
            return _ALWAYS
        asked = [
            (
                plugin,
                hint,
                Strategy.IMMEDIATELY
                if plugin in rejection.pending_plugins
                else Strategy.AFTER_BACKOFF,
            )
            for plugin, registered, hint in heard
            if plugin in rejectors and matches(registered, event)
        ]
        asked.sort(key=lambda each: (-each[2], each[1] is not None))
        return tuple(asked)

    def ask(self, plan: Plan, pod: PodInfo, event: ClusterEvent, old: Any, new: Any) -> Strategy:
        """Follow a plan for one pod: the first Queue decides. A hint that fails means Queue.

        A wildcard event that carries an object is meant for that pod alone.
        """
        if plan is _IF_MEANT and new is not None and new.uid != pod.uid:
            return Strategy.SKIP
        for plugin, hint, strategy in plan:
            if hint is None:
                return strategy
            try:
                if hint(pod, old, new) == QueueingHint.SKIP:
                    continue
            except Exception as error:  # noqa: BLE001  a plugin's bug must not strand the pod
                self._on_error(plugin, event, pod, error)
            return strategy
        return Strategy.SKIP

    def strategy(self, entry: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any) -> Strategy:
        """Where the event takes this pod."""
        return self.ask(self.plan(entry.rejection, event), entry.pod, event, old, new)
