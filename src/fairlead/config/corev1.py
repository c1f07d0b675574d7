"""The parts of core/v1 that plugin arguments hold: node selectors and spread constraints."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from fairlead.config.scalars import (
    Int32,
    LabelSelectorOperator,
    NodeInclusionPolicy,
    NodeSelectorOperator,
    UnsatisfiableConstraintAction,
)


class NodeSelectorRequirement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One expression over a node's label or field."""

    go_package: ClassVar[str] = "v1"

    key: str = ""
    operator: NodeSelectorOperator = ""
    values: tuple[str, ...] | None = None
    """None if unset, which errors spell `null`; an empty list is `[]`."""


class NodeSelectorTerm(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Expressions that must all hold; a term without any selects nothing."""

    go_package: ClassVar[str] = "v1"

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Terms of which one must hold."""

    go_package: ClassVar[str] = "v1"

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A term that adds its weight to the score of a node it selects."""

    go_package: ClassVar[str] = "v1"

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which nodes are wanted, and which would be nice to have."""

    go_package: ClassVar[str] = "v1"

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class LabelSelectorRequirement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One expression over an object's label."""

    go_package: ClassVar[str] = "v1"

    key: str = ""
    operator: LabelSelectorOperator = ""
    values: tuple[str, ...] = ()


class LabelSelector(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Labels and expressions that must all hold."""

    go_package: ClassVar[str] = "v1"

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class TopologySpreadConstraint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How evenly matching pods are to be spread over the values of a node label."""

    go_package: ClassVar[str] = "v1"

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: UnsatisfiableConstraintAction = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: NodeInclusionPolicy | None = None
    node_taints_policy: NodeInclusionPolicy | None = None
    match_label_keys: tuple[str, ...] = ()
