"""The three ways to score how full a node would be, each for one node and for a column of nodes.

They are given `(used, capacity, weight)` for each resource that the node has: used is what its
pods and the new one come to. Integer division throughout, as in kube-scheduler; the one rounding
that is there rounds halves up.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fairlead.cluster.columns import Int64
from fairlead.config.args import ScoringStrategy
from fairlead.framework.stages import MAX_NODE_SCORE

Used = Sequence[tuple[int, int, int]]
UsedColumns = Sequence[tuple[Int64, Int64, int]]
SHAPE_SCALE = 10
"""Scores of a shape go to 10, scores of a node to 100."""


class Strategy(Protocol):
    def row(self, used: Used) -> int: ...

    def column(self, used: UsedColumns, size: int) -> Int64 | int: ...


class LeastAllocated:
    """The emptier the better."""

    def row(self, used: Used) -> int:
        score = weights = 0
        for amount, capacity, weight in used:
            weights += weight
            if amount <= capacity:
                score += (capacity - amount) * MAX_NODE_SCORE // capacity * weight
        return score // weights if weights else 0

    def column(self, used: UsedColumns, size: int) -> Int64 | int:
        return weighed(used, lambda amount, capacity: np.maximum(capacity - amount, 0))


class MostAllocated:
    """The fuller the better."""

    def row(self, used: Used) -> int:
        score = weights = 0
        for amount, capacity, weight in used:
            weights += weight
            score += min(amount, capacity) * MAX_NODE_SCORE // capacity * weight
        return score // weights if weights else 0

    def column(self, used: UsedColumns, size: int) -> Int64 | int:
        return weighed(used, np.minimum)


class RequestedToCapacityRatio:
    """As good as a broken line over the utilization says."""

    def __init__(self, shape: Sequence[tuple[int, int]]) -> None:
        self.shape = [(utilization, score * SHAPE_SCALE) for utilization, score in shape]

    def row(self, used: Used) -> int:
        score = weights = 0
        for amount, capacity, weight in used:
            at = MAX_NODE_SCORE if amount > capacity else amount * MAX_NODE_SCORE // capacity
            height = self.height(at)
            if height > 0:
                score += height * weight
                weights += weight
        return half_up(score, weights) if weights else 0

    def column(self, used: UsedColumns, size: int) -> Int64 | int:
        heights = np.array([self.height(at) for at in range(MAX_NODE_SCORE + 1)], np.int64)
        score, weights = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for amount, capacity, weight in used:
            there = np.maximum(capacity, 1)
            at = np.where(amount > capacity, MAX_NODE_SCORE, amount * MAX_NODE_SCORE // there)
            height = np.where(capacity > 0, heights[np.clip(at, 0, MAX_NODE_SCORE)], 0)
            score += np.where(height > 0, height * weight, 0)
            weights += np.where(height > 0, weight, 0)
        return np.where(weights > 0, half_up_columns(score, np.maximum(weights, 1)), 0)

    def height(self, at: int) -> int:
        """The line at this utilization; between two points it is cut toward zero."""
        low, height = self.shape[0]
        if at <= low:
            return height
        for high, above in self.shape[1:]:
            if at <= high:
                rise = (above - height) * (at - low)
                run = high - low
                return height + (rise // run if rise >= 0 else -(-rise // run))
            low, height = high, above
        return height


def weighed(used: UsedColumns, part: "Part") -> Int64 | int:
    """The weighted mean, over the resources that each node has, of the part in hundredths."""
    if not used:
        return 0
    score, weights = np.int64(0), np.int64(0)
    for amount, capacity, weight in used:
        has = capacity > 0
        there = np.maximum(capacity, 1)
        share = part(amount, capacity) * MAX_NODE_SCORE // there
        score = score + np.where(has, share * weight, 0)
        weights = weights + has * weight
    return score // np.maximum(weights, 1)


class Part(Protocol):
    def __call__(self, amount: Int64, capacity: Int64, /) -> Int64: ...


def half_up(score: int, weights: int) -> int:
    """The quotient rounded, halves up: what rounding a float of it gives for such sizes."""
    return (2 * score + weights) // (2 * weights)


def half_up_columns(score: Int64, weights: Int64) -> Int64:
    return (2 * score + weights) // (2 * weights)


def strategy(chosen: ScoringStrategy) -> Strategy:
    match chosen.type:
        case "LeastAllocated":
            return LeastAllocated()
        case "MostAllocated":
            return MostAllocated()
        case _:
            ratio = chosen.requested_to_capacity_ratio
            assert ratio is not None, "validated with the configuration"
            return RequestedToCapacityRatio([(p.utilization, p.score) for p in ratio.shape])
