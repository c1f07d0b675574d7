"""Where to evict: the node on which it does the least harm."""

from collections.abc import Callable, Mapping

from fairlead.framework.stages import Victims
from fairlead.plugins.default_preemption.victims import started

LOWEST = 2**31
"""Added to each priority, so that few victims count less than many, whatever their priorities."""


def best(candidates: Mapping[str, Victims], choose: Callable[[int], int]) -> str:
    """The name of the best node; among equal ones any."""
    names = list(candidates)
    if len(names) == 1:
        return names[0]
    for harm in HARMS:
        found = {name: harm(candidates[name]) for name in names}
        least = min(found.values())
        names = [name for name in names if found[name] == least]
        if len(names) == 1:
            return names[0]
    newest = {name: earliest_start(candidates[name]) for name in names}
    latest = max(newest.values())
    names = [name for name in names if newest[name] == latest]
    return names[0 if len(names) == 1 else choose(len(names))]


def violations(victims: Victims) -> int:
    return victims.violations


def highest_priority(victims: Victims) -> int:
    return victims.pods[0].priority


def sum_of_priorities(victims: Victims) -> int:
    return sum(pod.priority + LOWEST for pod in victims.pods)


def number(victims: Victims) -> int:
    return len(victims.pods)


HARMS: tuple[Callable[[Victims], int], ...] = (
    violations,
    highest_priority,
    sum_of_priorities,
    number,
)
"""What counts, before everything that follows; less is better."""


def earliest_start(victims: Victims) -> str:
    """When the oldest of the most important victims was started; later is better."""
    highest = max(pod.priority for pod in victims.pods)
    return min(started(pod) for pod in victims.pods if pod.priority == highest)
