"""From a configuration to running profiles: the known plugins, their args, their order.

Built-in plugins enter by the same door as the operator's own: a name and a class.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from fairlead.config.errors import ConfigError
from fairlead.config.plugins import check_groups, check_profiles, with_extenders
from fairlead.config.release import RELEASE_1_36, Release
from fairlead.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile
from fairlead.framework.handle import Handle
from fairlead.framework.profile import Profile
from fairlead.framework.stages import points_of
from fairlead.plugins.default_binder import DefaultBinder
from fairlead.plugins.default_preemption.plugin import DefaultPreemption
from fairlead.plugins.dynamic_resources.plugin import DynamicResources
from fairlead.plugins.image_locality import ImageLocality
from fairlead.plugins.inter_pod_affinity.plugin import InterPodAffinity
from fairlead.plugins.node_affinity import NodeAffinity
from fairlead.plugins.node_declared_features import NodeDeclaredFeatures
from fairlead.plugins.node_name import NodeName
from fairlead.plugins.node_ports import NodePorts
from fairlead.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from fairlead.plugins.node_resources_fit import NodeResourcesFit
from fairlead.plugins.node_unschedulable import NodeUnschedulable
from fairlead.plugins.node_volume_limits import NodeVolumeLimits
from fairlead.plugins.pod_topology_spread.plugin import PodTopologySpread
from fairlead.plugins.priority_sort import PrioritySort
from fairlead.plugins.scheduling_gates import SchedulingGates
from fairlead.plugins.taint_toleration import TaintToleration
from fairlead.plugins.volume_binding.plugin import VolumeBinding
from fairlead.plugins.volume_restrictions import VolumeRestrictions
from fairlead.plugins.volume_zone import VolumeZone

BUILT_IN: Mapping[str, type] = MappingProxyType(
    {
        plugin.name: plugin
        for plugin in (
            SchedulingGates,
            PrioritySort,
            NodeUnschedulable,
            NodeName,
            TaintToleration,
            NodeAffinity,
            NodePorts,
            NodeResourcesFit,
            NodeResourcesBalancedAllocation,
            ImageLocality,
            VolumeRestrictions,
            NodeVolumeLimits,
            VolumeBinding,
            VolumeZone,
            PodTopologySpread,
            InterPodAffinity,
            DynamicResources,
            DefaultPreemption,
            DefaultBinder,
            NodeDeclaredFeatures,
        )
    }
)

PointsOf = Callable[[str], frozenset[str] | None]


def known_points(classes: Mapping[str, type], release: Release = RELEASE_1_36) -> PointsOf:
    """The extension points of a plugin by name: the release's own list, then the classes."""

    def ask(name: str) -> frozenset[str] | None:
        points = release.points_of(name)
        if points is None and name in classes:
            points = points_of(classes[name])
        return points

    return ask


def build_profiles(
    configuration: KubeSchedulerConfiguration, classes: Mapping[str, type], handle: Handle
) -> dict[str, Profile]:
    """One Profile for each of the configuration, by schedulerName.

    Raises ConfigError with kube-scheduler's words, and PluginError if a plugin cannot be made.
    """
    ask = known_points(classes, handle.release)
    layouts = check_profiles(configuration, ask)
    check_groups(layouts)
    profiles = with_extenders(configuration).profiles
    built: dict[str, Profile] = {}
    for layout, profile in zip(layouts, profiles, strict=True):
        one = built[layout.scheduler_name] = Profile(layout, classes, args_of(profile), handle)
        own, general = (each.percentage_of_nodes_to_score for each in (profile, configuration))
        one.percentage_of_nodes_to_score = (general if own is None else own) or 0
    return built


def missing_plugins(
    configuration: KubeSchedulerConfiguration, profiles: Mapping[str, Profile]
) -> list[str]:
    """The plugins that the configuration enables and this version does not have."""
    ask = known_points(
        {name: type(i.plugin) for p in profiles.values() for name, i in p.plugins.items()}
    )
    wanted = {
        (layout.scheduler_name, name)
        for layout in check_profiles(configuration, ask)
        for name in layout.all_names()
    }
    return sorted({name for profile, name in wanted if name not in profiles[profile].plugins})


def args_of(profile: KubeSchedulerProfile) -> Callable[[str, type], object]:
    """The args of a plugin: typed for those of the release, decoded by `Args` for all others."""
    given = {entry.name: entry.args for entry in profile.plugin_config}

    def ask(name: str, plugin: type) -> object:
        args: Any = given.get(name)
        kind: Any = getattr(plugin, "Args", None)
        if kind is None:
            return args
        raw = (
            b"{}"
            if args is None
            else args
            if isinstance(args, bytes)
            else msgspec.json.encode(args)
        )
        try:
            return msgspec.json.decode(raw, type=kind)
        except msgspec.ValidationError as problem:
            raise ConfigError(f"args of plugin {name}: {problem}") from None

    return ask
