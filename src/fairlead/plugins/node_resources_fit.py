"""NodeResourcesFit: a pod goes only where what it requests is left; where more is left, or less.

The verdict of a node is computed as bits, one for each resource that is short, in both forms;
the reasons are put together only for the nodes that refuse.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from fairlead.cluster.changes import Aspect
from fairlead.cluster.columns import Int64, Mask
from fairlead.cluster.devices.classes import IMPLICIT
from fairlead.cluster.nodes import NodeInfo
from fairlead.config.args import NodeResourcesFitArgs
from fairlead.framework.depends import Depends
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Status, error
from fairlead.model.node import Node
from fairlead.model.podinfo import PodInfo
from fairlead.model.resource import DeviceClass
from fairlead.model.resources import Resources, is_extended
from fairlead.plugins.scoring.allocation import Request, requests_of
from fairlead.plugins.scoring.devices import DeviceResources
from fairlead.plugins.scoring.strategies import strategy
from fairlead.queue.events import (
    ADD,
    DELETE,
    DEVICE_CLASS,
    NODE,
    POD,
    UPDATE,
    ActionType,
    ClusterEvent,
    QueueingHint,
    Registration,
)

TOO_MANY_PODS = "Too many pods"
PRE_FILTER = "PreFilterNodeResourcesFit"
NOT_FOUND = error(f'error reading "{PRE_FILTER}" from cycleState: not found')
PRE_SCORE = "PreScoreNodeResourcesFit"


class NodeResourcesFit:
    name = "NodeResourcesFit"
    depends = Depends(Aspect.REQUESTED, Aspect.ALLOCATABLE)

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        self.devices = DeviceResources(handle)
        self.ignored = frozenset(args.ignored_resources)
        self.ignored_groups = frozenset(args.ignored_resource_groups)
        self.weights = tuple((r.name, r.weight) for r in args.scoring_strategy.resources)
        self.strategy = strategy(args.scoring_strategy)

    def events_to_register(self) -> Sequence[Registration]:
        return [
            (ClusterEvent(POD, DELETE | ActionType.UPDATE_POD_SCALE_DOWN), after_pod_change),
            (ClusterEvent(NODE, ADD | ActionType.UPDATE_NODE_ALLOCATABLE), self.after_node_change),
            (ClusterEvent(DEVICE_CLASS, ADD | UPDATE), after_class_change),
        ]

    def after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
        """The pod would fit if the node were empty, and the node has more than before."""
        has, most_pods = new.allocatable_resources()
        needs = wanted(pod.request, self.counted(pod))
        as_devices = {n for n, _ in needs if has.get(n) <= 0 and self.devices.backing(n)}
        if most_pods < 1 or any(q > has.get(n) for n, q in needs if n not in as_devices):
            return QueueingHint.SKIP
        if old is None or as_devices:
            return QueueingHint.QUEUE
        had, most_pods_before = old.allocatable_resources()
        grew = any(has.get(resource) > had.get(resource) for resource, _ in needs)
        return QueueingHint(grew or most_pods > most_pods_before)

    def reads(self, pod: PodInfo) -> object:
        return pod.request, pod.score_request

    def facts(self, pod: PodInfo) -> tuple[Hashable, ...]:
        if not pod.request.scalars:
            return ()
        return self.devices.facts(requests_of(pod.score_request, self.weights))

    def pre_filter(self, pod: PodInfo, state: CycleState) -> PreFilterResult | Status | None:
        state.write(PRE_FILTER, self.counted(pod))
        return None

    def counted(self, pod: PodInfo) -> tuple[tuple[str, int], ...]:
        """The resources of the pod that have no field of their own, and that count."""
        return tuple((n, q) for n, q in pod.request.scalars if q and not self.ignores(n))

    def ignores(self, resource: str) -> bool:
        if not is_extended(resource):
            return False
        return resource in self.ignored or resource.split("/")[0] in self.ignored_groups

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        if PRE_FILTER not in state:
            return NOT_FOUND
        request = pod.request
        if (
            node.pod_count < node.allocatable_pods
            and request.cpu <= node.allocatable_cpu - node.requested_cpu
            and request.memory <= node.allocatable_memory - node.requested_memory
            and not request.ephemeral_storage
            and not request.scalars
        ):
            return None
        scalars = [
            (name, amount)
            for name, amount in noted(state)
            if node.allocatable(name) > 0 or self.devices.backing(name) is None
        ]
        return shortage(request, scalars, node)

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        if PRE_FILTER not in state:
            everywhere = np.ones(nodes.size, np.bool_)
            return nodes.reject(everywhere, *NOT_FOUND.reasons, code=NOT_FOUND.code)
        full = nodes.column("pod_count") >= nodes.column("allocatable_pods")
        short: list[tuple[str, Mask]] = [(TOO_MANY_PODS, full)] if full.any() else []
        hopeless = np.zeros(nodes.size, np.bool_)
        for resource, amount in wanted(pod.request, noted(state)):
            allocatable = nodes.allocatable(resource)
            lacking = amount > allocatable - nodes.requested(resource)
            if self.devices.backing(resource) is not None:
                lacking &= allocatable > 0  # elsewhere it is DynamicResources that looks for it
            if lacking.any():
                short.append((f"Insufficient {resource}", lacking))
                hopeless |= lacking & (amount > allocatable)
        return put_together(nodes, short, hopeless) if short else None

    def pre_score(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Status | None:
        state.write(PRE_SCORE, requests_of(pod.score_request, self.weights))
        return None

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        used: list[tuple[int, int, int]] = []
        for resource, weight, amount in self.requested(pod, state):
            capacity, taken = node.allocatable(resource), nonzero(node, resource)
            if not capacity:
                capacity, taken = self.devices.used(node, resource)
            if capacity:
                used.append((taken + amount, capacity, weight))
        return self.strategy.row(used)

    def score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        used: list[tuple[Int64, Int64, int]] = []
        for resource, weight, amount in self.requested(pod, state):
            taken, capacity = self.devices.columns(
                nodes, resource, nonzero_column(nodes, resource), nodes.allocatable(resource)
            )
            used.append((taken + amount, capacity, weight))
        return self.strategy.column(used, nodes.size)

    def requested(self, pod: PodInfo, state: CycleState) -> Sequence[Request]:
        """What pre_score left; without that stage it is computed here, as in kube-scheduler."""
        if PRE_SCORE in state:
            return state.read(PRE_SCORE)  # type: ignore[return-value]
        return requests_of(pod.score_request, self.weights)


def after_pod_change(pod: PodInfo, old: PodInfo, new: PodInfo | None) -> QueueingHint:
    """A pod has left, or takes less of something that this one wants."""
    if new is None:
        return QueueingHint(bool(old.node_name or old.nominated_node_name))
    if new.uid == pod.uid:
        return QueueingHint.QUEUE
    before, now = old.placed_request, new.placed_request
    less = any(now.get(n) < before.get(n) for n, _ in wanted(pod.request, pod.request.scalars))
    return QueueingHint(bool(new.node_name) and less)


def after_class_change(pod: PodInfo, old: DeviceClass | None, new: DeviceClass) -> QueueingHint:
    """The class has come to stand for a resource that the pod requests."""
    requested = {name for name, _ in pod.request.scalars}
    named = new.spec.extended_resource_name
    if old is not None and old.spec.extended_resource_name == named:
        return QueueingHint.SKIP
    if old is None and IMPLICIT + new.metadata.name in requested:
        return QueueingHint.QUEUE
    return QueueingHint(bool(named) and named in requested)


def noted(state: CycleState) -> Sequence[tuple[str, int]]:
    return state.read(PRE_FILTER)  # type: ignore[return-value]


def wanted(request: Resources, scalars: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """The amounts to be had, in the order in which shortages are told."""
    plain = (
        ("cpu", request.cpu),
        ("memory", request.memory),
        ("ephemeral-storage", request.ephemeral_storage),
    )
    return [*((name, amount) for name, amount in plain if amount > 0), *scalars]


def shortage(
    request: Resources, scalars: Sequence[tuple[str, int]], node: NodeInfo
) -> Status | None:
    """Everything that the node is short of; beyond remedy if one is more than it ever has."""
    reasons: list[str] = []
    code = Code.UNSCHEDULABLE
    if node.pod_count >= node.allocatable_pods:
        reasons.append(TOO_MANY_PODS)
    for resource, amount in wanted(request, scalars):
        allocatable = node.allocatable(resource)
        if amount > allocatable - node.requested(resource):
            reasons.append(f"Insufficient {resource}")
            if amount > allocatable:
                code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    return Status(code, *reasons) if reasons else None


def put_together(nodes: NodeSet, short: Sequence[tuple[str, Mask]], hopeless: Mask) -> Verdicts:
    """One code and one tuple of reasons for each node, from the masks of what is short."""
    bits = np.zeros(nodes.size, np.int64)
    for at, (_, mask) in enumerate(short):
        bits |= mask.astype(np.int64) << at
    distinct, of_node = np.unique(bits, return_inverse=True)
    ids = np.array(
        [
            nodes.reason_id(*(reason for at, (reason, _) in enumerate(short) if which >> at & 1))
            for which in distinct.tolist()
        ],
        np.int32,
    )
    codes = np.where(bits != 0, np.int8(Code.UNSCHEDULABLE), np.int8(Code.SUCCESS))
    codes[hopeless] = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    return Verdicts(codes, ids[of_node])


def nonzero(node: NodeInfo, resource: str) -> int:
    """What counts as used for a score: pods that request no cpu or memory count a little."""
    if resource == "cpu":
        return node.nonzero_cpu
    if resource == "memory":
        return node.nonzero_memory
    return node.requested(resource)


def nonzero_column(nodes: NodeSet, resource: str) -> Int64:
    if resource in ("cpu", "memory"):
        return nodes.column(f"nonzero_{resource}")
    return nodes.requested(resource)
