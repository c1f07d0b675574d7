"""PostFilter: nothing fits, so the plugins may try to make room."""

from collections.abc import Callable
from typing import Any

from fairlead.cycle.decision import Eviction, PostFiltered, Unplaced
from fairlead.framework.instance import PluginInstance
from fairlead.framework.profile import Profile
from fairlead.framework.stages import PostFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Status, crash, said
from fairlead.framework.statuses import NodeStatuses
from fairlead.model.podinfo import PodInfo

Outcome = PostFilterResult | Status | None
Statuses = Callable[[], NodeStatuses]


def post_filter(
    profile: Profile, pod: PodInfo, state: CycleState, statuses: Statuses
) -> PostFiltered:
    """Ask the PostFilter plugins in order; what they say ends the message of the pod.

    The first that makes room, or says that there is no hope, ends it. The statuses of all nodes
    are put together only if there is somebody to read them.
    """
    found = PostFiltered()
    if not profile.post_filter:
        found.nominated_node_name = ""
        return found
    words: list[str] = []
    seen = statuses()
    for instance in profile.post_filter:
        found.asked += (instance.name,)
        outcome = ask(instance, pod, state, seen)
        result = outcome if isinstance(outcome, PostFilterResult) else None
        status = outcome.status if isinstance(outcome, PostFilterResult) else outcome
        code = Code.SUCCESS if status is None else status.code
        if result is not None and result.tried is not None:
            found.tried = result.tried
        if code != Code.ERROR and result is not None:
            found.nominated_node_name = result.node_name
        if status is None or code != Code.UNSCHEDULABLE:
            end(found, instance, code, status, result)
            return found
        words.extend(status.reasons)
    found.words = ", ".join(words)
    return found


def ask(instance: PluginInstance, pod: PodInfo, state: CycleState, seen: NodeStatuses) -> Outcome:
    try:
        outcome: Any = instance.plugin.post_filter(pod, state, seen)
        if outcome is None or isinstance(outcome, PostFilterResult):
            return outcome
        return said(instance.name, "PostFilter", outcome)
    except Exception as problem:
        raise crash(instance.name, "PostFilter", problem) from problem


def end(
    found: PostFiltered,
    instance: PluginInstance,
    code: Code,
    status: Status | None,
    result: PostFilterResult | None,
) -> None:
    """This plugin had the last word; what others said before it is not told."""
    found.code = code
    found.words = "" if status is None else status.message
    if code not in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE) or result is None:
        found.nominated_node_name = None
    elif code == Code.SUCCESS and result.victims:
        found.eviction = Eviction(instance.name, result.node_name, result.victims)


def followed_by(decision: Unplaced, found: PostFiltered) -> Unplaced:
    """The decision, with what came of making room."""
    decision.nominated_node_name = found.nominated_node_name
    decision.eviction = found.eviction
    decision.post_filtered = found.asked
    return decision
