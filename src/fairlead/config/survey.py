"""Finds all that is wrong with the plugins of a configuration, where kube-scheduler stops at one.

Beside the faults there are two kinds of remarks: what ends a start although the configuration is
right, and what lets it start but is hardly meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from fairlead.config.defaults import plugin_set
from fairlead.config.errors import ConfigError, Problem
from fairlead.config.golang import quote
from fairlead.config.plugins import (
    ProfilePlugins,
    check_profiles,
    expand,
    interface_of,
    validate_args,
    with_extenders,
)
from fairlead.config.release import EXTENSION_POINTS
from fairlead.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile

Points = Mapping[str, frozenset[str]]
"""The extension points of each plugin that is known."""

PROTECTING_FILTERS: Final = ("NodeResourcesFit", "TaintToleration", "NodeUnschedulable")
JITTER_FACTOR: Final = 1.2


def plugin_faults(config: KubeSchedulerConfiguration, points: Points) -> list[Problem]:
    """Every fault of the plugins, each with its path and the names that would have been right."""
    faults: list[Problem] = []
    for i, profile in enumerate(config.profiles):
        found = [*_argument_faults(profile), *_name_faults(profile, points)]
        if not found:
            found = _caught(lambda profile=profile: expand(profile, points.get))
        faults += [msgspec.structs.replace(p, path=f"profiles[{i}].{p.path}") for p in found]
    faults += _caught(lambda: with_extenders(config))
    return faults or _caught(lambda: check_profiles(config, points.get))


def _caught(check: Callable[[], object]) -> list[Problem]:
    try:
        check()
    except ConfigError as error:
        return list(error.problems)
    return []


def _argument_faults(profile: KubeSchedulerProfile) -> list[Problem]:
    return [
        msgspec.structs.replace(
            problem,
            path=f"pluginConfig[{i}].args.{problem.path}",
            message=f"initializing plugin {quote(entry.name)}: {problem.message}",
        )
        for i, entry in enumerate(profile.plugin_config)
        for problem in validate_args(entry.name, entry.args)
    ]


def _name_faults(profile: KubeSchedulerProfile, points: Points) -> list[Problem]:
    """Names that are unknown, at the wrong extension point, or listed twice."""
    faults: list[Problem] = []
    for point in (*EXTENSION_POINTS, "multiPoint"):
        seen: set[str] = set()
        for i, plugin in enumerate(plugin_set(profile.plugins, point).enabled):
            path = f"plugins.{point}.enabled[{i}]"
            # In multiPoint, kube-scheduler names the first extension point that it fills.
            interface = interface_of(EXTENSION_POINTS[0] if point == "multiPoint" else point)
            name = quote(plugin.name)
            has = points.get(plugin.name)
            message = ""
            if has is None:
                message = f"{interface} {name} does not exist"
            elif point != "multiPoint" and point not in has:
                message = f"plugin {name} does not extend {interface} plugin"
            elif plugin.name in seen:
                message = f"plugin {name} is listed twice at {point}"
            if message:
                known = _names_at(points, point)
                given = plugin.name if has is None else ""
                faults.append(Problem(message, path, given=given, known=known))
            seen.add(plugin.name)
    return faults


def _names_at(points: Points, point: str) -> tuple[str, ...]:
    return tuple(name for name, has in points.items() if point == "multiPoint" or point in has)


def unknown_names(config: KubeSchedulerConfiguration, points: Points) -> list[Problem]:
    """Names that kube-scheduler passes over silently: disabled or configured, but not known."""
    remarks: list[Problem] = []
    for i, profile in enumerate(config.profiles):
        for point in ("multiPoint", *EXTENSION_POINTS):
            for j, plugin in enumerate(plugin_set(profile.plugins, point).disabled):
                if plugin.name != "*" and plugin.name not in points:
                    path = f"profiles[{i}].plugins.{point}.disabled[{j}]"
                    text = f"there is no plugin {quote(plugin.name)} to disable"
                    remarks.append(Problem(text, path, given=plugin.name, known=tuple(points)))
        for j, entry in enumerate(profile.plugin_config):
            if entry.name not in points:
                path = f"profiles[{i}].pluginConfig[{j}]"
                text = f"there is no plugin {quote(entry.name)} to configure"
                remarks.append(Problem(text, path, given=entry.name, known=tuple(points)))
    return remarks


def overfill_warnings(profiles: Iterable[ProfilePlugins]) -> list[Problem]:
    """Profiles without a filter that keeps nodes from being overfilled or taints respected."""
    return [
        Problem(
            f"profile {quote(profile.scheduler_name)} does not run the Filter of {name}:"
            " nodes may be overfilled",
            f"profiles[{i}].plugins.filter",
        )
        for i, profile in enumerate(profiles)
        for name in PROTECTING_FILTERS
        if name not in profile.names("filter")
    ]


def election_faults(config: KubeSchedulerConfiguration) -> list[Problem]:
    """What kube-scheduler refuses only when it begins to elect a leader."""
    election = config.leader_election
    if not election.leader_elect:
        return []
    if election.renew_deadline.nanoseconds > JITTER_FACTOR * election.retry_period.nanoseconds:
        return []
    text = (
        "couldn't create leader elector: renewDeadline must be greater than"
        " retryPeriod*JitterFactor"
    )
    return [Problem(text, "leaderElection.renewDeadline")]
