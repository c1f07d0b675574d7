"""Selectors of nodes asked about many nodes at once, by the columns of their labels."""

from collections.abc import Sequence

import numpy as np

from fairlead.cluster.columns import Mask
from fairlead.framework.nodeset import Ids, NodeSet
from fairlead.model.selector import (
    NAME_FIELD,
    NodeTerm,
    RequiredNodeAffinity,
    Requirement,
    Selector,
)


def selected(nodes: NodeSet, affinity: RequiredNodeAffinity) -> Mask:
    """The nodes that one of the terms matches."""
    mask = np.zeros(nodes.size, np.bool_)
    for term in affinity.terms:
        mask |= matching(nodes, term)
    return mask


def matching(nodes: NodeSet, term: NodeTerm) -> Mask:
    """The nodes that meet all demands of a term; one that is empty or not valid matches none."""
    if term.faults or term.empty:
        return np.zeros(nodes.size, np.bool_)
    mask = np.ones(nodes.size, np.bool_)
    for requirement in term.requirements:
        mask &= having(nodes, requirement)
    for field in term.fields:
        if field.key == NAME_FIELD:
            named = nodes.named(frozenset(field.values))
        else:  # a field that is not known reads as empty
            named = np.full(nodes.size, field.values[0] == "")
        mask &= named if field.operator == "In" else ~named
    return mask


def having(nodes: NodeSet, requirement: Requirement) -> Mask:
    """The nodes whose label meets one demand."""
    values, ids = nodes.label(requirement.key)
    match requirement.operator:
        case "In" | "NotIn":
            mask = among(ids, [number for v in requirement.values if (number := values.get(v))])
            return mask if requirement.operator == "In" else ~mask
        case "Exists":
            return ids != 0
        case "DoesNotExist":
            return ids == 0
        case _:
            key = requirement.key
            passing = np.zeros(len(values) + 1, np.bool_)
            for value, number in values.items():
                passing[number] = requirement.matches({key: value})
            return passing[ids]


def among(ids: Ids, numbers: Sequence[int]) -> Mask:
    if len(numbers) == 1:
        return ids == numbers[0]
    return np.isin(ids, numbers)


def reaching(nodes: NodeSet, affinity: RequiredNodeAffinity | None) -> Mask:
    """The nodes that reach a volume; its affinity is asked about labels alone, without a name."""
    if affinity is None:
        return np.ones(nodes.size, np.bool_)
    mask = np.zeros(nodes.size, np.bool_)
    for term in affinity.terms:
        if not term.faults and not term.empty:
            mask |= meeting(nodes, term.requirements)
    return mask


def labelled(nodes: NodeSet, selector: Selector) -> Mask:
    """The nodes that a label selector matches."""
    if selector.nothing:
        return np.zeros(nodes.size, np.bool_)
    return meeting(nodes, selector.requirements)


def meeting(nodes: NodeSet, requirements: Sequence[Requirement]) -> Mask:
    mask = np.ones(nodes.size, np.bool_)
    for requirement in requirements:
        mask &= having(nodes, requirement)
    return mask
