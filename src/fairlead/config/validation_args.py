"""Checks the arguments of the in-tree plugins, in kube-scheduler's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from fairlead.config import field
from fairlead.config.args import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from fairlead.config.corev1 import NodeSelectorRequirement, NodeSelectorTerm
from fairlead.config.errors import Problem
from fairlead.config.golang import MAX_INT64, MIN_INT64, Duration, quote_json

STRATEGIES: Final = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")
MAX_UTILIZATION: Final = 100
MAX_SCORE: Final = 10
MAX_WEIGHT: Final = 100


def check_default_preemption(path: str, args: DefaultPreemptionArgs) -> list[Problem]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = f"{path}.minCandidateNodesPercentage"
    absolute_path = f"{path}.minCandidateNodesAbsolute"
    problems: list[Problem] = []
    if not 0 <= percentage <= 100:
        problems.append(field.invalid(percentage_path, percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        problems.append(field.invalid(absolute_path, absolute, "not in valid range [0, inf)"))
    if percentage == 0 and absolute == 0:
        words = "cannot be zero at the same time as"
        problems += [
            field.invalid(percentage_path, percentage, f"{words} minCandidateNodesAbsolute"),
            field.invalid(absolute_path, absolute, f"{words} minCandidateNodesPercentage"),
        ]
    return problems


def check_inter_pod_affinity(path: str, args: InterPodAffinityArgs) -> list[Problem]:
    weight = args.hard_pod_affinity_weight
    if 0 <= weight <= 100:
        return []
    return [field.invalid(f"{path}.hardPodAffinityWeight", weight, "not in valid range [0, 100]")]


def check_pod_topology_spread(path: str, args: PodTopologySpreadArgs) -> list[Problem]:
    problems: list[Problem] = []
    type_path = f"{path}.defaultingType"
    if args.defaulting_type not in ("System", "List"):
        problems.append(
            field.unsupported(type_path, args.defaulting_type, ("System", "List")),
        )
    elif args.defaulting_type == "System" and args.default_constraints:
        shown = quote_json(args.defaulting_type)
        problems.append(
            field.invalid_json(type_path, shown, "when .defaultConstraints are not empty")
        )
    for i in range(len(args.default_constraints)):
        problems += _check_constraint(f"{path}.defaultConstraints[{i}]", args, i)
    return problems


def _check_constraint(path: str, args: PodTopologySpreadArgs, index: int) -> list[Problem]:
    constraint = args.default_constraints[index]
    key, action = constraint.topology_key, constraint.when_unsatisfiable
    problems: list[Problem] = []
    if constraint.max_skew <= 0:
        problems.append(
            field.invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
        )
    if not key:
        problems.append(field.required(f"{path}.topologyKey", "can not be empty"))
    else:
        problems += field.check_label_name(key, f"{path}.topologyKey")
    if not action:
        problems.append(field.required(f"{path}.whenUnsatisfiable", "can not be empty"))
    elif action not in ("DoNotSchedule", "ScheduleAnyway"):
        problems.append(
            field.unsupported(
                f"{path}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway")
            )
        )
    if constraint.label_selector is not None:
        words = "constraint must not define a selector, as they deduced for each pod"
        problems.append(field.forbidden(f"{path}.labelSelector", words))
    for other in args.default_constraints[:index]:
        if (other.topology_key, other.when_unsatisfiable) == (key, action):
            problems.append(field.duplicate(path, f"{{{key}, {action}}}"))
            break
    return problems


def check_balanced_allocation(
    path: str, args: NodeResourcesBalancedAllocationArgs
) -> list[Problem]:
    problems: list[Problem] = []
    seen: set[str] = set()
    for i, resource in enumerate(args.resources):
        if resource.name in seen:
            problems.append(field.duplicate(f"{path}.resources[{i}].name", resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            problems.append(
                field.invalid(f"{path}.resources[{i}].weight", resource.weight, "must be 1")
            )
    return problems


def check_node_affinity(path: str, args: NodeAffinityArgs) -> list[Problem]:
    affinity = args.added_affinity
    if affinity is None:
        return []
    problems: list[Problem] = []
    base = f"{path}.addedAffinity"
    required = affinity.required_during_scheduling_ignored_during_execution
    terms = required.node_selector_terms if required is not None else ()
    for i, term in enumerate(terms):
        where = f"{base}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{i}]"
        problems += _check_term(where, term)
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for i, wish in enumerate(preferred):
        if wish.weight != 0:
            where = f"{base}.preferredDuringSchedulingIgnoredDuringExecution[{i}]"
            problems += _check_term(where, wish.preference)
    return problems


def _check_term(path: str, term: NodeSelectorTerm) -> list[Problem]:
    problems: list[Problem] = []
    for i, expression in enumerate(term.match_expressions):
        problems += _check_expression(f"{path}.matchExpressions[{i}]", expression)
    for i, expression in enumerate(term.match_fields):
        where = f"{path}.matchFields[{i}]"
        if expression.operator not in ("In", "NotIn"):
            problems.append(
                field.unsupported(f"{where}.operator", expression.operator, ("In", "NotIn"))
            )
        elif len(expression.values or ()) != 1:
            shown = _shown(expression.values)
            problems.append(field.invalid_json(f"{where}.values", shown, "must have one element"))
    return problems


def _check_expression(path: str, expression: NodeSelectorRequirement) -> list[Problem]:
    key, operator, values = expression.key, expression.operator, expression.values or ()
    if operator not in _OPERATORS:
        return [field.unsupported(f"{path}.operator", operator, _OPERATORS)]
    problems: list[Problem] = []
    if faults := field.label_key_faults(key):
        problems.append(field.invalid(f"{path}.key", key, "; ".join(faults)))
    wrong = ""
    if operator in ("In", "NotIn") and not values:
        wrong = "for 'in', 'notin' operators, values set can't be empty"
    elif operator in ("Exists", "DoesNotExist") and values:
        wrong = "values set must be empty for exists and does not exist"
    elif operator in ("Gt", "Lt") and len(values) != 1:
        wrong = "for 'Gt', 'Lt' operators, exactly one value is required"
    if wrong:
        shown = _shown(expression.values)
        problems.append(field.invalid_json(f"{path}.values", shown, wrong))
    if operator in ("Gt", "Lt"):
        problems += [
            field.invalid(
                f"{path}.values[{i}]",
                value,
                "for 'Gt', 'Lt' operators, the value must be an integer",
            )
            for i, value in enumerate(values)
            if not _is_integer(value)
        ]
    for i, value in enumerate(values):
        if faults := field.label_value_faults(value):
            problems.append(field.invalid(f"{path}.values[{i}][{key}]", value, "; ".join(faults)))
    return problems


def _is_integer(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and MIN_INT64 <= int(text) <= MAX_INT64


def _shown(values: tuple[str, ...] | None) -> str:
    if values is None:
        return "null"
    return f"[{','.join(quote_json(value) for value in values)}]"


def check_volume_binding(path: str, args: VolumeBindingArgs) -> list[Problem]:
    problems: list[Problem] = []
    if args.bind_timeout_seconds < 0:
        problems.append(
            field.invalid(
                f"{path}.bindTimeoutSeconds",
                args.bind_timeout_seconds,
                "invalid BindTimeoutSeconds, should not be a negative value",
            )
        )
    if args.shape is not None:
        shown = field.compact(
            [{"Utilization": p.utilization, "Score": p.score} for p in args.shape]
        )
        problems.append(
            field.invalid_json(
                f"{path}.shape",
                shown,
                "unexpected field `shape`, remove it or turn on the feature gate"
                " StorageCapacityScoring",
            )
        )
    return problems


def check_dynamic_resources(path: str, args: DynamicResourcesArgs) -> list[Problem]:
    problems: list[Problem] = []
    if args.filter_timeout < Duration(0):
        shown = quote_json(str(args.filter_timeout))
        problems.append(
            field.invalid_json(f"{path}.filterTimeout", shown, "must be zero or positive")
        )
    if args.binding_timeout < Duration.of(1):
        shown = quote_json(str(args.binding_timeout))
        problems.append(
            field.invalid_json(f"{path}.bindingTimeout", shown, "must be at least 1 second")
        )
    return problems


def check_node_resources_fit(path: str, args: NodeResourcesFitArgs) -> list[Problem]:
    """Checks what kube-scheduler checks only when it builds the plugin, not with the rest."""
    prefix = f"{path}." if path else ""
    problems: list[Problem] = []
    for i, resource in enumerate(args.ignored_resources):
        problems += field.check_label_name(resource, f"{prefix}ignoredResources[{i}]")
    for i, group in enumerate(args.ignored_resource_groups):
        where = f"{prefix}ignoredResourceGroups[{i}]"
        if "/" in group:
            problems.append(field.invalid(where, group, "resource group name can't contain '/'"))
        problems += field.check_label_name(group, where)
    return problems + _check_strategy(f"{prefix}scoringStrategy", args.scoring_strategy)


def _check_strategy(path: str, strategy: ScoringStrategy) -> list[Problem]:
    problems: list[Problem] = []
    if strategy.type not in STRATEGIES:
        problems.append(field.unsupported(f"{path}.type", strategy.type, STRATEGIES))
    for i, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= MAX_WEIGHT:
            words = f"resource weight of {resource.name} not in valid range (0, {MAX_WEIGHT}]"
            problems.append(field.invalid(f"{path}.resources[{i}].weight", resource.weight, words))
    ratio, where = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if strategy.type == "RequestedToCapacityRatio":
        if ratio is None:
            words = "must be specified when type is RequestedToCapacityRatio"
            problems.append(field.required(where, words))
        else:
            problems += _check_shape(f"{where}.shape", ratio.shape)
    elif ratio is not None:
        words = "must be nil when type is not RequestedToCapacityRatio"
        problems.append(field.forbidden(where, words))
    return problems


def _check_shape(path: str, shape: tuple[UtilizationShapePoint, ...]) -> list[Problem]:
    if not shape:
        return [field.required(path, "at least one point must be specified")]
    problems: list[Problem] = []
    for i in range(1, len(shape)):
        if shape[i - 1].utilization >= shape[i].utilization:
            where = f"{path}[{i}].utilization"
            words = "values must be sorted in increasing order"
            problems.append(field.invalid(where, shape[i].utilization, words))
            break
    for i, point in enumerate(shape):
        for name, value, most in (
            ("utilization", point.utilization, MAX_UTILIZATION),
            ("score", point.score, MAX_SCORE),
        ):
            if not 0 <= value <= most:
                words = f"not in valid range [0, {most}]"
                problems.append(field.invalid(f"{path}[{i}].{name}", value, words))
    return problems


CHECKS: Final[Mapping[str, Callable[[str, Any], list[Problem]]]] = MappingProxyType(
    {
        "DefaultPreemption": check_default_preemption,
        "DynamicResources": check_dynamic_resources,
        "InterPodAffinity": check_inter_pod_affinity,
        "NodeAffinity": check_node_affinity,
        "NodeResourcesBalancedAllocation": check_balanced_allocation,
        "PodTopologySpread": check_pod_topology_spread,
        "VolumeBinding": check_volume_binding,
    }
)
"""The checks that are made with the configuration's own, by plugin. NodeResourcesFit is not among
them: kube-scheduler looks its check up by another name, so that only the plugin itself finds out.
"""
