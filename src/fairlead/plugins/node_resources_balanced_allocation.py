"""NodeResourcesBalancedAllocation: prefers nodes whose resources are used evenly with the pod."""

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from fairlead.cluster.changes import Aspect
from fairlead.cluster.columns import Int64
from fairlead.cluster.nodes import NodeInfo
from fairlead.config.args import NodeResourcesBalancedAllocationArgs
from fairlead.framework.depends import Depends
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet
from fairlead.framework.stages import MAX_NODE_SCORE
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Status
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.scoring.allocation import Request, requests_of
from fairlead.plugins.scoring.devices import DeviceResources

HALF = MAX_NODE_SCORE // 2
PRE_SCORE = "PreScoreNodeResourcesBalancedAllocation"

Float64 = NDArray[np.float64]


class NodeResourcesBalancedAllocation:
    name = "NodeResourcesBalancedAllocation"
    depends = Depends(Aspect.REQUESTED, Aspect.ALLOCATABLE)

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self.devices = DeviceResources(handle)
        self.weights = tuple((r.name, r.weight) for r in args.resources)

    def reads(self, pod: PodInfo) -> object:
        return pod.balanced_request

    def facts(self, pod: PodInfo) -> tuple[Hashable, ...]:
        if not pod.balanced_request.scalars:
            return ()
        return self.devices.facts(requests_of(pod.balanced_request, self.weights))

    def pre_score(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Status | None:
        """A pod that requests none of the resources cannot be balanced."""
        requests = requests_of(pod.balanced_request, self.weights)
        if not any(amount for _, _, amount in requests):
            return SKIP
        state.write(PRE_SCORE, requests)
        return None

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        before: list[float] = []
        after: list[float] = []
        requests = self.requested(pod, state)
        if requests is None:
            return 0
        for resource, _, amount in requests:
            capacity, used = node.allocatable(resource), node.requested(resource)
            if not capacity:
                capacity, used = self.devices.used(node, resource)
            if capacity:
                before.append(min(float(used) / float(capacity), 1.0))
                after.append(min(float(used + amount) / float(capacity), 1.0))
        return HALF + (HALF + balance(after) - balance(before)) // 2

    def score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        before: list[Float64] = []
        after: list[Float64] = []
        present: list[NDArray[np.bool_]] = []
        requests = self.requested(pod, state)
        if requests is None:
            return 0
        for resource, _, amount in requests:
            used, capacity = self.devices.columns(
                nodes, resource, nodes.requested(resource), nodes.allocatable(resource)
            )
            there = np.maximum(capacity, 1)
            before.append(np.minimum(used / there, 1.0))
            after.append(np.minimum((used + amount) / there, 1.0))
            present.append(capacity != 0)
        balanced = balance_columns(after, present) - balance_columns(before, present)
        return HALF + (HALF + balanced) // 2

    def requested(self, pod: PodInfo, state: CycleState) -> Sequence[Request] | None:
        """What pre_score left; without that stage, None for a pod that requests nothing."""
        if PRE_SCORE in state:
            return state.read(PRE_SCORE)  # type: ignore[return-value]
        requests = requests_of(pod.balanced_request, self.weights)
        return requests if any(amount for _, _, amount in requests) else None


def balance(fractions: Sequence[float]) -> int:
    """100 when all are alike, less the more they differ. Floats, added in the order of the list."""
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = sum_in_order(fractions) / len(fractions)
        squares = sum_in_order([(f - mean) * (f - mean) for f in fractions])
        deviation = math.sqrt(squares / len(fractions))
    else:
        deviation = 0.0
    return int((1 - deviation) * MAX_NODE_SCORE)


def sum_in_order(values: Sequence[float]) -> float:
    """A plain left-to-right sum: newer Pythons compensate in `sum`, and Go does not."""
    total = 0.0
    for value in values:
        total += value
    return total


def balance_columns(fractions: Sequence[Float64], present: Sequence[NDArray[np.bool_]]) -> Int64:
    """`balance` for each node, over the resources that it has."""
    if len(fractions) == 2:
        deviation = np.abs((fractions[0] - fractions[1]) / 2)
        if not (present[0].all() and present[1].all()):
            deviation = np.where(present[0] & present[1], deviation, 0.0)
        return ((1 - deviation) * MAX_NODE_SCORE).astype(np.int64)
    size = len(fractions[0])
    count, total, squares = np.zeros(size, np.int64), np.zeros(size), np.zeros(size)
    ordinary: list[Float64] = [np.zeros(size), np.zeros(size)]
    for fraction, has in zip(fractions, present, strict=True):
        for nth, kept in enumerate(ordinary):
            kept[:] = np.where(has & (count == nth), fraction, kept)
        total += np.where(has, fraction, 0.0)
        count += has
    mean = total / np.maximum(count, 1)
    for fraction, has in zip(fractions, present, strict=True):
        squares += np.where(has, (fraction - mean) * (fraction - mean), 0.0)
    deviation = np.where(
        count == 2,
        np.abs((ordinary[0] - ordinary[1]) / 2),
        np.where(count > 2, np.sqrt(squares / np.maximum(count, 1)), 0.0),
    )
    return ((1 - deviation) * MAX_NODE_SCORE).astype(np.int64)
