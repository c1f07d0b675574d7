"""The one place for what differs between minor releases of kube-scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from fairlead.config.types import Plugin

EXTENSION_POINTS: Final = (
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
    "placementGenerate",
    "placementScore",
)
"""The extension points in the order in which kube-scheduler fills them."""


class Release(msgspec.Struct, frozen=True):
    """What the scheduler is held to: a minor release's defaults, and what the operator changed.

    This one value reaches the configuration's defaults, the model and, as `handle.release`, every
    plugin. Nothing else asks for a version or a feature gate.
    """

    version: str
    default_plugins: tuple[Plugin, ...]
    """What multiPoint enables where nothing else is said, in order."""
    catalogue: Mapping[str, frozenset[str]]
    """The extension points of each plugin that is built in."""
    removed_plugins: frozenset[str]
    """Names of older releases, which are refused by name."""
    scheme: str
    """How kube-scheduler's errors call the place where its configuration's kinds are known."""
    feature_gates: Mapping[str, bool]
    """The features that change verdicts: whether each is on."""
    strict: bool = False
    """Whether kube-scheduler's way is taken where docs/differences.md names a better one."""

    def enabled(self, gate: str) -> bool:
        """Whether a feature is on. Only the features that change verdicts can be asked for."""
        return self.feature_gates[gate]

    def strictly(self) -> Release:
        """The same without the listed differences."""
        return msgspec.structs.replace(self, strict=True)

    def with_gates(self, gates: Mapping[str, bool]) -> Release:
        """The same with these features on or off; those that change no verdict are left out.

        A plugin that is a feature's leaves the defaults with it, as in kube-scheduler.
        """
        known = {name: gates.get(name, on) for name, on in self.feature_gates.items()}
        plugins = [
            plugin
            for plugin in self.default_plugins
            if known.get(GATED_PLUGINS.get(plugin.name, ""), True)
        ]
        return msgspec.structs.replace(
            self, feature_gates=MappingProxyType(known), default_plugins=tuple(plugins)
        )

    def points_of(self, name: str) -> frozenset[str] | None:
        return self.catalogue.get(name)


GATED_PLUGINS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "DynamicResources": "DynamicResourceAllocation",
        "NodeDeclaredFeatures": "NodeDeclaredFeatures",
    }
)
"""The default plugins that are there only while a feature is on."""

POD_GROUP_PLUGINS: Final = frozenset(
    {"GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"}
)
"""The plugins for groups of pods, which kube-scheduler has and does not enable by default."""
POD_GROUP_GATES: Final = frozenset(
    {
        "GenericWorkload",
        "GangScheduling",
        "TopologyAwareWorkloadScheduling",
        "WorkloadAwarePreemption",
    }
)
"""The features that put pods into groups."""

_NODES: Final = frozenset({"preFilter", "filter"})
_NODES_AND_SCORE: Final = frozenset({"preFilter", "filter", "preScore", "score"})

RELEASE_1_36: Final = Release(
    version="1.36.3",
    default_plugins=(
        Plugin(name="SchedulingGates"),
        Plugin(name="PrioritySort"),
        Plugin(name="NodeUnschedulable"),
        Plugin(name="NodeName"),
        Plugin(name="TaintToleration", weight=3),
        Plugin(name="NodeAffinity", weight=2),
        Plugin(name="NodePorts"),
        Plugin(name="NodeResourcesFit", weight=1),
        Plugin(name="VolumeRestrictions"),
        Plugin(name="NodeVolumeLimits"),
        Plugin(name="VolumeBinding"),
        Plugin(name="VolumeZone"),
        Plugin(name="PodTopologySpread", weight=2),
        Plugin(name="InterPodAffinity", weight=2),
        Plugin(name="DynamicResources", weight=2),
        Plugin(name="DefaultPreemption"),
        Plugin(name="NodeResourcesBalancedAllocation", weight=1),
        Plugin(name="ImageLocality", weight=1),
        Plugin(name="DefaultBinder"),
        Plugin(name="NodeDeclaredFeatures"),
    ),
    catalogue=MappingProxyType(
        {
            "SchedulingGates": frozenset({"preEnqueue"}),
            "PrioritySort": frozenset({"queueSort"}),
            "NodeUnschedulable": frozenset({"filter"}),
            "NodeName": frozenset({"filter"}),
            "TaintToleration": frozenset({"filter", "preScore", "score"}),
            "NodeAffinity": _NODES_AND_SCORE,
            "NodePorts": _NODES,
            "NodeResourcesFit": _NODES_AND_SCORE | {"placementScore"},
            "VolumeRestrictions": _NODES,
            "NodeVolumeLimits": _NODES,
            "VolumeBinding": _NODES_AND_SCORE | {"reserve", "preBind"},
            "VolumeZone": _NODES,
            "PodTopologySpread": _NODES_AND_SCORE,
            "InterPodAffinity": _NODES_AND_SCORE,
            "DynamicResources": frozenset(
                {"preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"}
            ),
            "DefaultPreemption": frozenset({"preEnqueue", "postFilter"}),
            "NodeResourcesBalancedAllocation": frozenset({"preScore", "score"}),
            "ImageLocality": frozenset({"score"}),
            "DefaultBinder": frozenset({"bind"}),
            "NodeDeclaredFeatures": _NODES,
            "GangScheduling": frozenset({"preEnqueue", "permit"}),
            "TopologyPlacementGenerator": frozenset({"placementGenerate"}),
            "PodGroupPodsCount": frozenset({"placementScore"}),
        }
    ),
    removed_plugins=frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"}),
    scheme="pkg/scheduler/apis/config/scheme/scheme.go:29",
    feature_gates=MappingProxyType(
        {
            "DRAAdminAccess": True,
            "DRAConsumableCapacity": True,
            "DRADeviceBindingConditions": True,
            "DRADeviceTaintRules": False,
            "DRADeviceTaints": True,
            "DRAExtendedResource": True,
            "DRAPartitionableDevices": True,
            "DRAPrioritizedList": True,
            "DRAResourceClaimDeviceStatus": True,
            "DRASchedulerFilterTimeout": True,
            "DynamicResourceAllocation": True,
            "GangScheduling": False,
            "GenericWorkload": False,
            "InPlacePodLevelResourcesVerticalScaling": True,
            "InPlacePodVerticalScaling": True,
            "MatchLabelKeysInPodTopologySpread": True,
            "NodeDeclaredFeatures": True,
            "NodeInclusionPolicyInPodTopologySpread": True,
            "PodLevelResources": True,
            "SidecarContainers": True,
            "StorageCapacityScoring": False,
            "TaintTolerationComparisonOperators": False,
            "TopologyAwareWorkloadScheduling": False,
            "VolumeLimitScaling": False,
            "WorkloadAwarePreemption": False,
        }
    ),
)
