"""PostFilter: nothing fits, so the plugins may try to make room."""

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.framework.profile import Profile
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Status, crash, said
from fairlead.model.podinfo import PodInfo

Statuses = Callable[[], Mapping[str, Status]]


def post_filter(profile: Profile, pod: PodInfo, state: CycleState, statuses: Statuses) -> str:
    """Ask the PostFilter plugins in order; what they say ends the message of the pod.

    The statuses of all nodes are put together only if there is somebody to read them.
    """
    if not profile.post_filter:
        return ""
    words: list[str] = []
    seen = statuses()
    for instance in profile.post_filter:
        try:
            outcome: Any = instance.plugin.post_filter(pod, state, seen)
            status = None if outcome is None else said(instance.name, "PostFilter", outcome)
        except Exception as problem:
            raise crash(instance.name, "PostFilter", problem) from problem
        if status is None or status.code == Code.SUCCESS:
            return ""
        if status.code != Code.UNSCHEDULABLE:
            return status.message
        words.extend(status.reasons)
    return ", ".join(words)
