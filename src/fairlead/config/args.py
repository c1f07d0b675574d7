"""The arguments of the in-tree plugins, with kube-scheduler's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

import msgspec

from fairlead.config.corev1 import NodeAffinity, TopologySpreadConstraint
from fairlead.config.golang import Duration
from fairlead.config.scalars import (
    DurationPointer,
    Int32,
    Int64,
    PodTopologySpreadConstraintsDefaulting,
    ScoringStrategyType,
    TypeMetaText,
)


class ResourceSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A resource and how much it counts."""

    go_package: ClassVar[str] = "v1"

    name: str = ""
    weight: Int64 = 0


DEFAULT_RESOURCES: Final = (
    ResourceSpec(name="cpu", weight=1),
    ResourceSpec(name="memory", weight=1),
)


class UtilizationShapePoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A point of the line that turns utilization into a score."""

    go_package: ClassVar[str] = "v1"

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The line that RequestedToCapacityRatio scores by."""

    go_package: ClassVar[str] = "v1"

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How NodeResourcesFit scores; a strategy that is given must name its type."""

    go_package: ClassVar[str] = "v1"

    type: ScoringStrategyType = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many nodes preemption tries."""

    go_package: ClassVar[str] = "v1"

    kind: TypeMetaText = ""
    api_version: TypeMetaText = ""
    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class DynamicResourcesArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long the search for devices on one node, and the binding of them, may take."""

    go_package: ClassVar[str] = "v1"

    kind: TypeMetaText = ""
    api_version: TypeMetaText = ""
    filter_timeout: DurationPointer = Duration.of(10)
    binding_timeout: DurationPointer = Duration.of(600)


class InterPodAffinityArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What required affinity weighs in scoring, and whether placed pods' wishes count."""

    go_package: ClassVar[str] = "v1"

    kind: TypeMetaText = ""
    api_version: TypeMetaText = ""
    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node affinity that every pod of the profile gets on top of its own."""

    go_package: ClassVar[str] = "v1"

    kind: TypeMetaText = ""
    api_version: TypeMetaText = ""
    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel"
):
    """The resources whose shares are to be alike."""

    go_package: ClassVar[str] = "v1"

    kind: TypeMetaText = ""
    api_version: TypeMetaText = ""
    resources: tuple[ResourceSpec, ...] = ()


class NodeResourcesFitArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which extended resources are not looked at, and how nodes that fit are scored."""

    go_package: ClassVar[str] = "v1"

    kind: TypeMetaText = ""
    api_version: TypeMetaText = ""
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(
        type="LeastAllocated", resources=DEFAULT_RESOURCES
    )


class PodTopologySpreadArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The constraints of pods that have none of their own."""

    go_package: ClassVar[str] = "v1"

    kind: TypeMetaText = ""
    api_version: TypeMetaText = ""
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: PodTopologySpreadConstraintsDefaulting = ""
    """`System` or `List`; `System` if it is not set."""


class VolumeBindingArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long binding of volumes may take."""

    go_package: ClassVar[str] = "v1"

    kind: TypeMetaText = ""
    api_version: TypeMetaText = ""
    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None
    """Refused while the feature StorageCapacityScoring is off, even if it is empty."""


PluginArgs = (
    DefaultPreemptionArgs
    | DynamicResourcesArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
)

ARGS_KINDS: Final[Mapping[str, type[PluginArgs]]] = MappingProxyType(
    {
        "DefaultPreemptionArgs": DefaultPreemptionArgs,
        "DynamicResourcesArgs": DynamicResourcesArgs,
        "InterPodAffinityArgs": InterPodAffinityArgs,
        "NodeAffinityArgs": NodeAffinityArgs,
        "NodeResourcesBalancedAllocationArgs": NodeResourcesBalancedAllocationArgs,
        "NodeResourcesFitArgs": NodeResourcesFitArgs,
        "PodTopologySpreadArgs": PodTopologySpreadArgs,
        "VolumeBindingArgs": VolumeBindingArgs,
    }
)
"""The kinds that plugin arguments may have; the arguments of plugin P have the kind `PArgs`."""
