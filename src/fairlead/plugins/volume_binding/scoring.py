"""How well the volumes that a node would give use what there is; behind StorageCapacityScoring.

For each storage class: how much is asked of how much there is, on a broken line; the node's score
is the mean. Volumes that are there count, or, where none is, those that would be made.
"""

from collections.abc import Sequence

import numpy as np

from fairlead.cluster.columns import Int64, Mask
from fairlead.cluster.volume_classes import Candidate, amount_of
from fairlead.config.args import UtilizationShapePoint
from fairlead.plugins.scoring.strategies import RequestedToCapacityRatio, half_up, half_up_columns
from fairlead.plugins.volume_binding.many_nodes import KEPT, NOTHING, Answer
from fairlead.plugins.volume_binding.meaning import Meaning
from fairlead.plugins.volume_binding.one_node import Found

FULL = 100
DEFAULT_SHAPE = ((0, 10), (FULL, 0))


class Scorer:
    """The height of the line at each percentage."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        points = [(point.utilization, point.score) for point in shape] or DEFAULT_SHAPE
        line = RequestedToCapacityRatio(points)
        self.heights = [line.height(at) for at in range(FULL + 1)]

    def row(self, requested: int, capacity: int) -> int:
        full = not capacity or requested > capacity
        return self.heights[FULL if full else requested * FULL // capacity]

    def column(self, requested: Int64, capacity: Int64) -> Int64:
        full = (capacity == 0) | (requested > capacity)
        share = requested.astype(np.float64) * FULL // np.maximum(capacity, 1)
        at = np.where(full, FULL, np.minimum(share, FULL)).astype(np.int64)
        return np.array(self.heights, np.int64)[at]


def row_score(scorer: Scorer, meaning: Meaning, found: Found) -> int:
    """The score of one node."""
    if found.reasons or found.fault:
        return 0
    sums: dict[str, tuple[int, int]] = {}
    for i, volume in found.matches:
        claim = meaning.unbound[i]
        one = (
            amount_of(volume.volume)
            if isinstance(volume, Candidate)
            else claim.kept[volume].capacity
        )
        requested, capacity = sums.get(claim.wanted.storage_class, (0, 0))
        sums[claim.wanted.storage_class] = requested + claim.requested, capacity + one
    if not found.matches:
        for i, made_of in found.makes:
            if made_of is not None:
                claim = meaning.unbound[i]
                requested, _ = sums.get(claim.wanted.storage_class, (0, 0))
                # Not the sum: all of them are made out of the same.
                sums[claim.wanted.storage_class] = requested + claim.requested, made_of.left
    if not sums:
        return 0
    return half_up(sum(scorer.row(*each) for each in sums.values()), len(sums))


def column_score(scorer: Scorer, meaning: Meaning, answer: Answer) -> Int64:
    """The scores of many nodes."""
    static = np.zeros(answer.size, np.bool_)
    for choice in answer.taken.values():
        static |= choice != NOTHING
    score, classes = np.zeros(answer.size, np.int64), np.zeros(answer.size, np.int64)
    for name in dict.fromkeys(claim.wanted.storage_class for claim in meaning.unbound):
        for counted, requested, capacity in (
            (static, *of_volumes(meaning, answer, name)),
            (~static, *of_orders(meaning, answer, name)),
        ):
            here = counted & (requested >= 0)
            score += np.where(here, scorer.column(np.maximum(requested, 0), capacity), 0)
            classes += here
    failed = answer.node_conflict | answer.bind_conflict | answer.not_enough | answer.missing
    for fault in answer.faults:
        failed |= fault.nodes
    scores = half_up_columns(score, np.maximum(classes, 1))
    return np.where(failed | (classes == 0), 0, scores)


def of_volumes(meaning: Meaning, answer: Answer, name: str) -> tuple[Int64, Int64]:
    """What is asked of the volumes of a class that each node would give, and what they hold.

    Nothing is asked, -1, where the node has none.
    """
    amounts = np.array([amount_of(each.volume) for each in answer.volumes] or [0], np.int64)
    requested, capacity = np.full(answer.size, -1, np.int64), np.zeros(answer.size, np.int64)
    for i, choice in answer.taken.items():
        claim = meaning.unbound[i]
        if claim.wanted.storage_class != name:
            continue
        got: Mask = choice != NOTHING
        holds = amounts[np.where(got & (choice != KEPT), choice, 0)]
        if claim.repeats < len(claim.kept):
            holds = np.where(choice == KEPT, claim.kept[claim.repeats].capacity, holds)
        requested = np.where(got, np.maximum(requested, 0) + claim.requested, requested)
        capacity = capacity + np.where(got, holds, 0)
    return requested, capacity


def of_orders(meaning: Meaning, answer: Answer, name: str) -> tuple[Int64, Int64]:
    """What is asked of what drivers have left for a class, and how much that is."""
    requested, capacity = np.full(answer.size, -1, np.int64), np.zeros(answer.size, np.int64)
    for i, left in answer.left.items():
        claim = meaning.unbound[i]
        if claim.wanted.storage_class == name:
            told = left >= 0
            requested = np.where(told, np.maximum(requested, 0) + claim.requested, requested)
            capacity = np.where(told, left, capacity)
    return requested, capacity
