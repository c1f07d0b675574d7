"""Reserve and Permit: the chosen node, and the last words before the pod is bound."""

from typing import Any

from fairlead.framework.profile import Profile
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, PluginError, Refusal, Status, crash, failed, said
from fairlead.model.podinfo import PodInfo

LONGEST_WAIT = 15 * 60.0
"""No Permit plugin holds a pod longer, whatever it asks for."""


def reserve(profile: Profile, pod: PodInfo, node_name: str, state: CycleState) -> Refusal | None:
    """Ask the Reserve plugins in order; the first refusal ends it."""
    for instance in profile.reserve:
        try:
            outcome: Any = instance.plugin.reserve(pod, node_name, state)
            status = None if outcome is None else said(instance.name, "Reserve", outcome)
        except Exception as problem:
            raise crash(instance.name, "Reserve", problem) from problem
        if status is not None and status.code != Code.SUCCESS:
            return refusal(instance.name, "Reserve", status)
    return None


def unreserve(profile: Profile, pod: PodInfo, node_name: str, state: CycleState) -> None:
    """Take back, in reverse order, from all of them: each must bear it without having reserved.

    One that crashes is raised after the others had their turn.
    """
    failure: PluginError | None = None
    for instance in reversed(profile.reserve):
        undo = getattr(instance.plugin, "unreserve", None)
        if undo is not None:
            try:
                undo(pod, node_name, state)
            except Exception as problem:  # noqa: BLE001 - raised below
                failure = failure or crash(instance.name, "Unreserve", problem)
    if failure is not None:
        raise failure


def permit(
    profile: Profile, pod: PodInfo, node_name: str, state: CycleState, waits: dict[str, float]
) -> Refusal | None:
    """Ask the Permit plugins in order; those that want time are noted in `waits`."""
    for instance in profile.permit:
        try:
            outcome: Any = instance.plugin.permit(pod, node_name, state)
            status = None if outcome is None else said(instance.name, "Permit", outcome)
        except Exception as problem:
            raise crash(instance.name, "Permit", problem) from problem
        if status is None or status.code == Code.SUCCESS:
            continue
        if status.code == Code.WAIT:
            waits[instance.name] = min(status.timeout, LONGEST_WAIT)
            continue
        return refusal(instance.name, "Permit", status)
    return None


def refusal(plugin: str, point: str, status: Status) -> Refusal:
    if status.code.rejected:
        return Refusal(plugin, status)
    raise failed(plugin, point, status.message)
