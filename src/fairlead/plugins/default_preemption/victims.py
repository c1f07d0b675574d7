"""Who would have to leave a node: as few as possible, and the least important ones."""

from collections.abc import Iterable

from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.stages import Victims
from fairlead.framework.status import Code, PluginError, Refusal, Status, unresolvable
from fairlead.framework.trial import Trial, Trials
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.default_preemption.budgets import Budgets

NO_VICTIMS = "No preemption victims found for incoming pod"
NOBODY = Refusal("", unresolvable(NO_VICTIMS))
NOW = "~"
"""Stands for the present as the time of a start: behind every time that has been written down."""


def importance(pod: PodInfo) -> tuple[int, str]:
    """Sorts the most important pods first: by priority, then those that have run longest."""
    return -pod.priority, started(pod)


def started(pod: PodInfo) -> str:
    """When the pod was started; one that was not yet is as good as started now."""
    return pod.start_time or NOW


def victims_on(trials: Trials, node: NodeInfo, budgets: Budgets) -> Victims | Refusal:
    """The pods to evict from this node, or why that would not help.

    All pods of lower priority leave first. If there is room then, they come back one by one, those
    that a budget protects before the others, and each stays for which there is room.
    """
    priority = trials.pod.priority
    lower = [pod for pod in node.pods if pod.priority < priority]
    if not lower:
        return NOBODY
    trial = trials.on(node)
    try:
        for pod in lower:
            trial.remove(pod)
        refusal = trial.refusal()
        if refusal is not None:
            return refusal
        lower.sort(key=importance)
        protected, others = budgets.split(lower)
        violating = reprieved(trial, protected)
        victims = violating + reprieved(trial, others)
    except PluginError as problem:
        return Refusal("", Status(Code.ERROR, str(problem)))
    if protected and others:
        victims.sort(key=importance)
    if not victims:
        what = f'expected at least one victim pod on node "{node.name}"'
        return Refusal("", Status(Code.ERROR, what))
    return Victims(victims, len(violating))


def reprieved(trial: Trial, pods: Iterable[PodInfo]) -> list[PodInfo]:
    """Bring these pods back; those for which there is no room are returned."""
    victims: list[PodInfo] = []
    for pod in pods:
        trial.add(pod)
        if not trial.still_fits():
            trial.remove(pod)
            victims.append(pod)
    return victims
