"""Fills in what a configuration leaves out, as kube-scheduler does before it checks anything."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from fairlead.config.args import (
    ARGS_KINDS,
    DEFAULT_RESOURCES,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
)
from fairlead.config.golang import Duration
from fairlead.config.release import EXTENSION_POINTS, Release
from fairlead.config.types import (
    API_VERSION,
    ClientConnectionConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)

POINT_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "multiPoint": "multi_point",
        "preEnqueue": "pre_enqueue",
        "queueSort": "queue_sort",
        "preFilter": "pre_filter",
        "filter": "filter",
        "postFilter": "post_filter",
        "preScore": "pre_score",
        "score": "score",
        "reserve": "reserve",
        "permit": "permit",
        "preBind": "pre_bind",
        "bind": "bind",
        "postBind": "post_bind",
        "placementGenerate": "placement_generate",
        "placementScore": "placement_score",
    }
)
"""The attribute of `Plugins` for each extension point and for multiPoint."""

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def plugin_set(plugins: Plugins, point: str) -> PluginSet:
    """The plugin set of an extension point, or of `multiPoint`."""
    found = getattr(plugins, POINT_ATTRIBUTES[point])
    assert isinstance(found, PluginSet)
    return found


def set_defaults(
    config: KubeSchedulerConfiguration, release: Release, *, first_profile_named: bool
) -> KubeSchedulerConfiguration:
    """The configuration with nothing left open.

    A name that is set to the empty text stays empty, and is an error later; hence the caller says
    whether the first profile has one.
    """
    profiles = list(config.profiles) or [KubeSchedulerProfile()]
    if len(profiles) == 1 and not (config.profiles and first_profile_named):
        profiles[0] = replace(profiles[0], scheduler_name="default-scheduler")
    contention = config.enable_contention_profiling
    return replace(
        config,
        profiles=tuple(_default_profile(profile, release) for profile in profiles),
        leader_election=_default_election(config.leader_election),
        client_connection=_default_connection(config.client_connection),
        enable_contention_profiling=config.enable_profiling if contention is None else contention,
    )


def _default_election(election: LeaderElectionConfiguration) -> LeaderElectionConfiguration:
    return _fill(
        election,
        resource_lock="leases",
        resource_name="kube-scheduler",
        resource_namespace="kube-system",
        lease_duration=Duration.of(15),
        renew_deadline=Duration.of(10),
        retry_period=Duration.of(2),
    )


def _default_connection(connection: ClientConnectionConfiguration) -> ClientConnectionConfiguration:
    return _fill(
        connection, content_type="application/vnd.kubernetes.protobuf", qps=50.0, burst=100
    )


def _fill(value: _Struct, **defaults: object) -> _Struct:
    """Puts a default where a field is zero or empty: Go does not tell that from unset."""
    empty = ("", 0, Duration(0))
    return replace(
        value, **{name: new for name, new in defaults.items() if getattr(value, name) in empty}
    )


def _default_profile(profile: KubeSchedulerProfile, release: Release) -> KubeSchedulerProfile:
    defaults = Plugins(multi_point=PluginSet(enabled=release.default_plugins))
    plugins = Plugins(
        **{
            attribute: _merge(plugin_set(defaults, point), plugin_set(profile.plugins, point))
            for point, attribute in POINT_ATTRIBUTES.items()
        }
    )
    configured = [
        PluginConfig(name=entry.name, args=_default_entry(entry)) for entry in profile.plugin_config
    ]
    existing = {entry.name for entry in configured}
    for name in sorted(_enabled_names(plugins) - existing):
        kind = f"{name}Args"
        if kind in ARGS_KINDS:
            args = default_args(ARGS_KINDS[kind](kind=kind, api_version=API_VERSION))
            configured.append(PluginConfig(name=name, args=args))
    return replace(profile, plugins=plugins, plugin_config=tuple(configured))


def _default_entry(entry: PluginConfig) -> PluginArgs | msgspec.Raw | None:
    if entry.args is None or isinstance(entry.args, msgspec.Raw):
        return entry.args
    return default_args(entry.args)


def default_args(args: PluginArgs) -> PluginArgs:
    """The arguments with the defaults that the fields' own do not cover."""
    if isinstance(args, NodeResourcesFitArgs):
        strategy = args.scoring_strategy
        resources = _weighted(strategy.resources or DEFAULT_RESOURCES)
        return replace(args, scoring_strategy=replace(strategy, resources=resources))
    if isinstance(args, NodeResourcesBalancedAllocationArgs):
        return replace(args, resources=_weighted(args.resources or DEFAULT_RESOURCES))
    if isinstance(args, PodTopologySpreadArgs) and not args.defaulting_type:
        return replace(args, defaulting_type="System")
    return args


def _weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(replace(spec, weight=spec.weight or 1) for spec in resources)


def _enabled_names(plugins: Plugins) -> set[str]:
    return {
        plugin.name
        for point in ("multiPoint", *EXTENSION_POINTS)
        for plugin in plugin_set(plugins, point).enabled
    }


def _merge(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """The defaults with the user's changes: disabled ones left out, named ones replaced in place.

    The disabled names are kept, since they also keep multiPoint's plugins out of this point. A
    plugin listed twice stays listed twice, and is an error later.
    """
    disabled = tuple(Plugin(name=p.name) for p in (*custom.disabled, *defaults.disabled))
    names = {plugin.name for plugin in disabled}
    last = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    replaced: set[int] = set()
    enabled: list[Plugin] = []
    for plugin in () if "*" in names else defaults.enabled:
        if plugin.name in names:
            continue
        if plugin.name in last:
            replaced.add(last[plugin.name])
            plugin = custom.enabled[last[plugin.name]]
        enabled.append(plugin)
    enabled.extend(p for index, p in enumerate(custom.enabled) if index not in replaced)
    return PluginSet(enabled=tuple(enabled), disabled=disabled)
