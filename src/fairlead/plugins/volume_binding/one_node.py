"""A pod's claims asked about one node: why it cannot have them there, or which volumes it gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fairlead.cluster.storage import Capacity, Storage
from fairlead.cluster.volume_classes import Candidate
from fairlead.plugins.volume_binding.meaning import Bound, Meaning, Provision, Unbound

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class Match(NamedTuple):
    """A claim, by its place among the unbound ones, and the volume that it takes.

    A number is the place of the volume among those that are kept for the claim.
    """

    claim: int
    volume: Candidate | int


class Make(NamedTuple):
    """A claim for which a volume is to be made, and out of what, if the driver tells."""

    claim: int
    capacity: Capacity | None


@dataclass(slots=True)
class Found:
    """What the node has to say; without reasons and fault the pod can go there."""

    reasons: list[str] = field(default_factory=list[str])
    matches: list[Match] = field(default_factory=list[Match])
    makes: list[Make] = field(default_factory=list[Make])
    fault: str = ""


def find(
    meaning: Meaning,
    storage: Storage,
    name: str,
    labels: Mapping[str, str],
    moved: frozenset[str],
) -> Found:
    """The claims on a node of this name and labels, where these old kinds have moved to CSI."""
    found = Found()
    bound_reason = ""
    for each in meaning.bound:
        bound_reason, found.fault = reach(each, labels, moved)
        if found.fault:
            return found
        if bound_reason:
            break
    unbound_reason = ""
    if meaning.unbound:
        unbound_reason = take(meaning, storage, name, labels, found)
    order = (NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH, MISSING)
    found.reasons = [reason for reason in order if reason in (bound_reason, unbound_reason)]
    return found


def reach(bound: Bound, labels: Mapping[str, str], moved: frozenset[str]) -> tuple[str, str]:
    """Why the node does not reach the volume of a claim, and why that cannot be told."""
    if bound.missing:
        return MISSING, ""
    affinity = bound.affinity
    if bound.plugin in moved:
        if bound.fault:
            return "", bound.fault
        affinity = bound.moved_affinity
    return ("" if affinity is None or affinity.matches(labels, "") else NODE_CONFLICT), ""


def take(
    meaning: Meaning, storage: Storage, name: str, labels: Mapping[str, str], found: Found
) -> str:
    """Give each claim a volume, or the order to make one; the reason if that fails."""
    unbound = meaning.unbound
    if any(unbound[i].selected_node != name for i in meaning.begun):
        return BIND_CONFLICT
    to_make = meaning.begun
    chosen: set[int] = set()
    for i in meaning.to_match:
        if unbound[i].fault:
            found.fault = unbound[i].fault
            return ""
        volume = match(unbound[i], storage, labels, chosen)
        if volume is None:
            to_make.append(i)
        else:
            found.matches.append(Match(i, volume))
            if isinstance(volume, Candidate):
                chosen.add(id(volume))
    for i in to_make:
        reason, capacity = make(
            unbound[i].wanted.storage_class, unbound[i].provision, storage, labels
        )
        if reason:
            found.makes.clear()
            return reason
        found.makes.append(Make(i, capacity))
    return ""


def match(
    claim: Unbound, storage: Storage, labels: Mapping[str, str], chosen: set[int]
) -> Candidate | int | None:
    """The volume that a claim takes: the next one that is kept for it, or else the smallest.

    A node that does not reach a volume that is kept for the claim has no other one for it.
    """
    for kept in claim.kept[: claim.repeats + 1]:
        if kept.affinity is not None and not kept.affinity.matches(labels, ""):
            return None
    if claim.repeats < len(claim.kept):
        return claim.repeats
    return smallest(claim, storage, labels, chosen)


def smallest(
    claim: Unbound, storage: Storage, labels: Mapping[str, str], chosen: set[int]
) -> Candidate | None:
    of_class = storage.volume_class(claim.wanted.storage_class)
    best: Candidate | None = None
    for candidates in () if of_class is None else of_class.within_reach(labels):
        for each in candidates:
            if best is not None and each.key >= best.key:
                break
            if id(each) not in chosen and each.suits(claim.wanted) and each.reached(labels):
                best = each
                break
    return best


def make(
    storage_class: str, provision: Provision, storage: Storage, labels: Mapping[str, str]
) -> tuple[str, Capacity | None]:
    """Why no volume can be made for a node, or what it is made of."""
    topologies = provision.topologies
    if not provision.possible or (
        topologies is not None
        and not any(all(demand.matches(labels) for demand in term) for term in topologies)
    ):
        return BIND_CONFLICT, None
    if not provision.tracked or provision.size is None:
        return "", None
    for capacity in storage.capacities(storage_class):
        if capacity.holds(provision.size) and capacity.reached(labels):
            return "", capacity
    return NOT_ENOUGH, None
