"""A pod's claims asked about many nodes at once: the same answers as `one_node`, by columns.

What a node can take follows from its labels: volumes that can be had stand in buckets by label
value, so a table by value has the few that matter, and the column of the label spreads it over
the nodes. No node is looked at by itself, and no volume once for each node.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairlead.cluster.columns import Int64, Mask
from fairlead.cluster.csi_nodes import CSINodes
from fairlead.cluster.storage import Storage
from fairlead.cluster.volume_classes import Candidate, VolumeClass
from fairlead.framework.nodeset import NodeSet
from fairlead.framework.selecting import labelled, meeting, reaching
from fairlead.model.selector import RequiredNodeAffinity
from fairlead.plugins.volume_binding.meaning import Meaning, Provision, Unbound

NOTHING = 2**40
KEPT = -1
"""Instead of the number of a volume: none, or the one that is kept for the claim."""


class Fault(NamedTuple):
    """Nodes for which the question cannot be answered."""

    nodes: Mask
    reason: str


class Answer:
    """Why nodes cannot take the claims, and which volumes they would give them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.node_conflict = np.zeros(size, np.bool_)
        self.bind_conflict = np.zeros(size, np.bool_)
        self.not_enough = np.zeros(size, np.bool_)
        self.missing = np.zeros(size, np.bool_)
        self.faults: list[Fault] = []
        self.volumes: list[Candidate] = []
        """The volumes that any node would take, smallest first: a node's choice is a place."""
        self.taken: dict[int, Int64] = {}
        """By claim, each node's choice."""
        self.left: dict[int, Int64] = {}
        """By claim for which a volume is to be made, how much the driver has left; -1: untold."""


def solve(meaning: Meaning, nodes: NodeSet, storage: Storage, csi_nodes: CSINodes) -> Answer:
    answer = Answer(nodes.size)
    _reach(meaning, nodes, csi_nodes, answer)
    if meaning.unbound:
        _take(meaning, nodes, storage, answer)
    return answer


def _reach(meaning: Meaning, nodes: NodeSet, csi_nodes: CSINodes, answer: Answer) -> None:
    """The claims that are bound; the first that a node does not reach says why."""
    open_ = np.ones(answer.size, np.bool_)
    for bound in meaning.bound:
        if bound.missing:
            answer.missing |= open_
            return
        reached = reaching(nodes, bound.affinity)
        moved = csi_nodes.migrated(bound.plugin) if bound.plugin else None
        if moved is not None:
            there = moved if nodes.rows is None else moved[nodes.rows]
            if bound.fault:
                answer.faults.append(Fault(open_ & there, bound.fault))
                open_ &= ~there
            else:
                reached = np.where(there, reaching(nodes, bound.moved_affinity), reached)
        answer.node_conflict |= open_ & ~reached
        open_ &= reached


def _take(meaning: Meaning, nodes: NodeSet, storage: Storage, answer: Answer) -> None:
    unbound, to_match = meaning.unbound, meaning.to_match
    open_ = np.ones(answer.size, np.bool_)
    for i in meaning.begun:
        selected = unbound[i].selected_node
        open_ &= nodes.named(frozenset([selected or ""]))
    answer.bind_conflict |= ~open_
    fault = next((unbound[i].fault for i in to_match if unbound[i].fault), "")
    if fault:
        answer.faults.append(Fault(open_, fault))
        return
    by_class: dict[str, list[int]] = {}
    for i in to_match:
        by_class.setdefault(unbound[i].wanted.storage_class, []).append(i)
    for name, claims in by_class.items():
        _match(unbound, claims, nodes, storage.volume_class(name), answer)
    for i in (*meaning.begun, *to_match):
        needs = open_ if i not in answer.taken else open_ & (answer.taken[i] == NOTHING)
        open_ = open_ & ~_make(unbound[i], i, needs, nodes, storage, answer)


def _make(
    claim: Unbound, i: int, needs: Mask, nodes: NodeSet, storage: Storage, answer: Answer
) -> Mask:
    """Of the nodes that need a volume made for the claim, those where it cannot be."""
    provision = claim.provision
    inside = possible(provision, nodes)
    failed = needs & ~inside
    answer.bind_conflict |= failed
    left = np.full(answer.size, -1, np.int64)
    if provision.tracked and provision.size is not None:
        enough = np.zeros(answer.size, np.bool_)
        for capacity in storage.capacities(claim.wanted.storage_class):
            if capacity.nodes is not None and capacity.holds(provision.size):
                here = labelled(nodes, capacity.nodes) & ~enough
                left[here] = capacity.left
                enough |= here
        short = needs & inside & ~enough
        answer.not_enough |= short
        failed = failed | short
    left[~needs] = -1
    answer.left[i] = left
    return failed


def possible(provision: Provision, nodes: NodeSet) -> Mask:
    """The nodes for which a volume could be made, as far as its class goes."""
    if not provision.possible:
        return np.zeros(nodes.size, np.bool_)
    if provision.topologies is None:
        return np.ones(nodes.size, np.bool_)
    mask = np.zeros(nodes.size, np.bool_)
    for term in provision.topologies:
        mask |= meeting(nodes, term)
    return mask


def _match(
    unbound: tuple[Unbound, ...],
    claims: list[int],
    nodes: NodeSet,
    of_class: VolumeClass | None,
    answer: Answer,
) -> None:
    """Give each of the claims of one class the smallest volume that the earlier ones left."""
    offers = [offers_to(unbound[i], of_class, len(claims)) for i in claims]
    offered = {id(each): each for offer in offers for each in offer.all()}
    first = len(answer.volumes)
    answer.volumes += sorted(offered.values(), key=lambda each: each.key)
    numbers = {id(each): first + at for at, each in enumerate(answer.volumes[first:])}
    taken: list[Int64] = []
    for i, offer in zip(claims, offers, strict=True):
        choices = spread(offer, numbers, nodes)
        for earlier in taken:
            choices[choices == earlier] = NOTHING  # also where both are: it changes nothing
        choice: Int64 = choices.min(axis=0, initial=NOTHING)
        if unbound[i].kept:
            choice = keeping(unbound[i], nodes, choice)
        taken.append(choice)
        answer.taken[i] = choice


def keeping(claim: Unbound, nodes: NodeSet, otherwise: Int64) -> Int64:
    """The choice for a claim with volumes that are kept for it: the next of them, or none."""
    reached = np.ones(nodes.size, np.bool_)
    for kept in claim.kept[: claim.repeats + 1]:
        reached &= reaching(nodes, kept.affinity)
    if claim.repeats >= len(claim.kept):
        return np.where(reached, otherwise, NOTHING)
    return np.where(reached, KEPT, NOTHING).astype(np.int64)


class Offers:
    """The smallest volumes that suit a claim: for every node, by label value, by affinity.

    As many of each as there are claims, since the others may have taken all but one.
    """

    def __init__(self, most: int, *, all_exact: bool) -> None:
        self.most = most
        self.all_exact = all_exact
        self.anywhere: list[Candidate] = []
        self.by_label: dict[str, dict[str, list[Candidate]]] = {}
        self.others: dict[RequiredNodeAffinity, dict[int, Candidate]] = {}

    def all(self) -> Iterator[Candidate]:
        yield from self.anywhere
        for by_value in self.by_label.values():
            for candidates in by_value.values():
                yield from candidates
        for candidates in self.others.values():
            yield from candidates.values()

    def collect(self, candidates: list[Candidate], claim: Unbound) -> list[Candidate]:
        """The smallest that suit; those with more to their affinity than a label go elsewhere."""
        found: list[Candidate] = []
        for each in candidates:
            if each.exact and len(found) == self.most:
                if self.all_exact:
                    break
                continue
            if not each.suits(claim.wanted):
                continue
            if each.exact:
                found.append(each)
            elif each.affinity is not None:
                alike = self.others.setdefault(each.affinity, {})
                if len(alike) < self.most:
                    alike[id(each)] = each
        return found


def offers_to(claim: Unbound, of_class: VolumeClass | None, most: int) -> Offers:
    offers = Offers(most, all_exact=of_class is None or not of_class.inexact)
    if of_class is None:
        return offers
    offers.anywhere = offers.collect(of_class.anywhere, claim)
    for key, by_value in of_class.buckets.items():
        table = {value: offers.collect(bucket, claim) for value, bucket in by_value.items()}
        offers.by_label[key] = {value: found for value, found in table.items() if found}
    return offers


def spread(offers: Offers, numbers: dict[int, int], nodes: NodeSet) -> Int64:
    """The numbers of the volumes that each node reaches: a few rows, one column for each node."""
    rows: list[Int64] = [
        np.full(nodes.size, numbers[id(each)], np.int64) for each in offers.anywhere
    ]
    for key, by_value in offers.by_label.items():
        values, ids = nodes.label(key)
        table = np.full((offers.most, len(values) + 1), NOTHING, np.int64)
        for value, candidates in by_value.items():
            number = values.get(value)
            if number is not None:
                for at, each in enumerate(candidates):
                    table[at, number] = numbers[id(each)]
        rows += list(table[:, ids])
    for affinity, alike in offers.others.items():
        reached = reaching(nodes, affinity)
        rows += [np.where(reached, numbers[key], NOTHING) for key in alike]
    return np.array(rows, np.int64).reshape(len(rows), nodes.size)
