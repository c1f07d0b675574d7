"""Which plugins run at which extension point: multiPoint expanded, and what keeps a start from it.

kube-scheduler finds these faults when it builds its profiles, after the configuration has loaded,
and it stops at the first. The order of the checks is therefore part of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from fairlead.config import field
from fairlead.config.args import NodeResourcesFitArgs
from fairlead.config.defaults import plugin_set
from fairlead.config.errors import ConfigError, Problem
from fairlead.config.golang import MAX_INT64, quote
from fairlead.config.release import EXTENSION_POINTS, POD_GROUP_PLUGINS
from fairlead.config.types import (
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin,
    PluginConfig,
)
from fairlead.config.validation_args import check_node_resources_fit

PointsOf = Callable[[str], "frozenset[str] | None"]
"""Answers which extension points a plugin has; None if there is no such plugin."""

MAX_NODE_SCORE: Final = 100
FIT: Final = "NodeResourcesFit"
WEIGHED_POINTS: Final = ("score", "placementScore")


class EnabledPlugin(msgspec.Struct, frozen=True):
    """A plugin at an extension point; the weight is 0 where nothing is scored."""

    name: str
    weight: int = 0


class ProfilePlugins(msgspec.Struct, frozen=True):
    """The plugins of one profile, in the order in which they are called."""

    scheduler_name: str
    points: Mapping[str, tuple[EnabledPlugin, ...]]
    """All extension points, also those without plugins."""

    def names(self, point: str) -> tuple[str, ...]:
        return tuple(plugin.name for plugin in self.points[point])

    def weights(self, point: str = "score") -> dict[str, int]:
        return {plugin.name: plugin.weight for plugin in self.points[point]}

    def all_names(self) -> frozenset[str]:
        """Every plugin that is called anywhere."""
        return frozenset(p.name for plugins in self.points.values() for p in plugins)


def interface_of(point: str) -> str:
    """How kube-scheduler calls the plugins of a point: PreFilterPlugin for `preFilter`."""
    return f"{point[0].upper()}{point[1:]}Plugin"


def expand(profile: KubeSchedulerProfile, points_of: PointsOf) -> ProfilePlugins:
    """The plugins of a profile that has its defaults; raises ConfigError in kube-scheduler's words.

    The text lacks the prefix that names the profile, which `check_profiles` puts before it.
    """
    specific = {point: _specific(profile, point, points_of) for point in EXTENSION_POINTS}
    listed = {
        point: _with_multi_point(profile, point, specific[point], points_of)
        for point in EXTENSION_POINTS
    }
    _check_counts(profile.scheduler_name, listed)
    score = _weights(profile, "score", points_of, "score plugins")
    placement = _weights(profile, "placementScore", points_of, "placement score plugins")
    weights = {"score": score, "placementScore": placement}
    points = {
        point: tuple(EnabledPlugin(name, weights.get(point, {}).get(name, 0)) for name in names)
        for point, names in listed.items()
    }
    return ProfilePlugins(profile.scheduler_name, MappingProxyType(points))


def _specific(profile: KubeSchedulerProfile, point: str, points_of: PointsOf) -> list[str]:
    """The plugins that the extension point itself enables."""
    names: list[str] = []
    for i, plugin in enumerate(plugin_set(profile.plugins, point).enabled):
        points = points_of(plugin.name)
        path = f"plugins.{point}.enabled[{i}]"
        if points is None:
            raise _missing(point, plugin.name, path)
        if point not in points:
            text = f"plugin {quote(plugin.name)} does not extend {interface_of(point)} plugin"
            raise _fault(text, path)
        if plugin.name in names:
            raise _registered(point, plugin.name, path)
        names.append(plugin.name)
    return names


def _with_multi_point(
    profile: KubeSchedulerProfile, point: str, specific: list[str], points_of: PointsOf
) -> list[str]:
    """The order at an extension point: what overrides multiPoint, multiPoint itself, the rest."""
    disabled = {plugin.name for plugin in plugin_set(profile.plugins, point).disabled}
    if "*" in disabled:
        return specific
    overrides: set[str] = set()
    general: list[str] = []
    for i, plugin in enumerate(profile.plugins.multi_point.enabled):
        points = points_of(plugin.name)
        path = f"plugins.multiPoint.enabled[{i}]"
        if points is None:
            raise _missing(point, plugin.name, path)
        if point not in points or plugin.name in disabled:
            continue
        if plugin.name in specific:
            overrides.add(plugin.name)
        elif plugin.name in general:
            raise _registered(point, plugin.name, path)
        else:
            general.append(plugin.name)
    first = [name for name in specific if name in overrides]
    return first + general + [name for name in specific if name not in overrides]


def _check_counts(name: str, listed: Mapping[str, list[str]]) -> None:
    shown, sorts = quote(name), len(listed["queueSort"])
    if sorts != 1:
        raise _fault(
            f"only one queue sort plugin required for profile with scheduler name {shown},"
            f" but got {sorts}",
            "plugins.queueSort",
        )
    if not listed["bind"]:
        text = f"at least one bind plugin is needed for profile with scheduler name {shown}"
        raise _fault(text, "plugins.bind")
    if len(listed["placementGenerate"]) > 1:
        text = (
            "at most one placement generate plugin is allowed for profile"
            f" with scheduler name {shown}"
        )
        raise _fault(text, "plugins.placementGenerate")


def _weights(
    profile: KubeSchedulerProfile, point: str, points_of: PointsOf, prefix: str
) -> dict[str, int]:
    """The weight of each scorer: its own if it is listed for the point, else multiPoint's.

    The trap: a plugin listed for the point without a weight weighs 1, whatever it weighs by
    default.
    """
    entries = (*plugin_set(profile.plugins, point).enabled, *profile.plugins.multi_point.enabled)
    weights: dict[str, int] = {}
    total = 0
    for plugin in entries:
        if point not in (points_of(plugin.name) or ()) or plugin.name in weights:
            continue
        weight = plugin.weight or 1
        # A negative total makes Go's difference overflow, so that negative weights end here too.
        if weight * MAX_NODE_SCORE > _wrapped(MAX_INT64 - total):
            text = f"{prefix}: total score of Score plugins could overflow"
            raise _fault(text, f"plugins.{point}")
        weights[plugin.name] = weight
        total += weight * MAX_NODE_SCORE
    return weights


def _wrapped(number: int) -> int:
    """The number as 64 bits hold it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _missing(point: str, name: str, path: str) -> ConfigError:
    return _fault(f"{interface_of(point)} {quote(name)} does not exist", path, name)


def _registered(point: str, name: str, path: str) -> ConfigError:
    return _fault(f"plugin {quote(name)} already registered as {quote(interface_of(point))}", path)


def _fault(text: str, path: str, given: str = "") -> ConfigError:
    return ConfigError(text, [Problem(text, path, given=given)])


def validate_args(name: str, args: object) -> list[Problem]:
    """What a built-in plugin refuses only when it is built; the paths begin at the arguments."""
    if name == FIT and isinstance(args, NodeResourcesFitArgs):
        return check_node_resources_fit("", args)
    return []


def check_profiles(
    config: KubeSchedulerConfiguration, points_of: PointsOf
) -> tuple[ProfilePlugins, ...]:
    """The plugins of all profiles; raises ConfigError with what kube-scheduler ends its start with.

    Users' plugins have their arguments checked by the caller, after this.
    """
    profiles = with_extenders(config).profiles
    done: list[ProfilePlugins] = []
    for i, profile in enumerate(profiles):
        try:
            _check_plugins(profile, points_of)
            done.append(expand(profile, points_of))
        except ConfigError as error:
            raise _in_profile(error, profile.scheduler_name, i) from None
        _check_together(config, done, i)
    return tuple(done)


def check_groups(profiles: Sequence[ProfilePlugins]) -> None:
    """The one refusal that is not kube-scheduler's: nothing here places groups of pods.

    Raises ConfigError. It stands apart, because the configuration is right all the same.
    """
    for i, profile in enumerate(profiles):
        for point, plugins in profile.points.items():
            for name in (plugin.name for plugin in plugins if plugin.name in POD_GROUP_PLUGINS):
                text = f"plugin {quote(name)} is for groups of pods, which are not supported"
                raise _fault(text, f"profiles[{i}].plugins.{point}")


def with_extenders(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """The configuration as the extenders change it.

    The resources that extenders take care of replace those that NodeResourcesFit ignores, in every
    profile; they are not added to them.
    """
    for i, extender in enumerate(config.extenders):
        _check_tls(extender, f"extenders[{i}].tlsConfig")
    ignored = tuple(
        resource.name
        for extender in config.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    if not ignored:
        return config
    profiles = tuple(_ignoring(profile, ignored, i) for i, profile in enumerate(config.profiles))
    return msgspec.structs.replace(config, profiles=profiles)


def _check_tls(extender: Extender, path: str) -> None:
    tls = extender.tls_config
    if tls is not None and tls.insecure and (tls.ca_file or tls.ca_data):
        raise _fault(
            "couldn't build extenders: specifying a root certificates file"
            " with the insecure flag is not allowed",
            path,
        )


def _ignoring(
    profile: KubeSchedulerProfile, ignored: tuple[str, ...], index: int
) -> KubeSchedulerProfile:
    entries = list(profile.plugin_config)
    for i, entry in enumerate(entries):
        if entry.name == FIT and isinstance(entry.args, NodeResourcesFitArgs):
            args = msgspec.structs.replace(entry.args, ignored_resources=ignored)
            entries[i] = PluginConfig(name=FIT, args=args)
            return msgspec.structs.replace(profile, plugin_config=tuple(entries))
    raise _fault(
        "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config",
        f"profiles[{index}]",
    )


def _needed(profile: KubeSchedulerProfile) -> frozenset[str]:
    enabled: list[Plugin] = []
    for point in ("multiPoint", *EXTENSION_POINTS):
        enabled += plugin_set(profile.plugins, point).enabled
    return frozenset(plugin.name for plugin in enabled)


def _check_plugins(profile: KubeSchedulerProfile, points_of: PointsOf) -> None:
    """What the plugins refuse when they are built, which is before their names are looked at."""
    needed = _needed(profile)
    for i, entry in enumerate(profile.plugin_config):
        if entry.name not in needed or points_of(entry.name) is None:
            continue
        problems = validate_args(entry.name, entry.args)
        if problems:
            prefix = f"initializing plugin {quote(entry.name)}: "
            located = [
                msgspec.structs.replace(p, path=f"pluginConfig[{i}].args.{p.path}")
                for p in problems
            ]
            raise ConfigError(prefix + field.aggregate(problems), located)


def _in_profile(error: ConfigError, name: str, index: int) -> ConfigError:
    problems = [
        msgspec.structs.replace(p, path=f"profiles[{index}].{p.path}") for p in error.problems
    ]
    text = f"initializing profiles: creating profile for scheduler name {name}: {error}"
    return ConfigError(text, problems)


def _check_together(
    config: KubeSchedulerConfiguration, done: list[ProfilePlugins], index: int
) -> None:
    """One queue serves all profiles, so that they must sort it by one plugin alike."""
    first, last = done[0], done[-1]
    name = last.scheduler_name
    sort, first_sort = last.names("queueSort")[0], first.names("queueSort")[0]
    where = f"profiles[{index}].plugins.queueSort"
    if sort != first_sort:
        text = (
            f"initializing profiles: different queue sort plugins for profile {quote(name)}:"
            f" {quote(sort)}, first: {quote(first_sort)}"
        )
        raise _fault(text, where)
    if _args_of(config.profiles[index], sort) != _args_of(config.profiles[0], sort):
        text = f"initializing profiles: different queue sort plugin args for profile {quote(name)}"
        raise _fault(text, where)


def _args_of(profile: KubeSchedulerProfile, name: str) -> object:
    for entry in profile.plugin_config:
        if entry.name == name:
            return bytes(entry.args) if isinstance(entry.args, msgspec.Raw) else entry.args
    return None
