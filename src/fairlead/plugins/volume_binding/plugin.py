"""VolumeBinding: the stages."""

from collections.abc import Sequence

import numpy as np

from fairlead.cluster.assumed import OutOfSync
from fairlead.cluster.changes import Aspect
from fairlead.cluster.columns import Int64
from fairlead.cluster.csi_nodes import migrated_plugins
from fairlead.cluster.nodes import NodeInfo
from fairlead.cluster.storage import capacity_of, volumes_of
from fairlead.config.args import VolumeBindingArgs
from fairlead.framework.depends import NOTHING, Depends
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.stages import Io, PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Code, StageFailed, Status, error
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.volume_binding.binding import Plan, Waiter, carry_out, plan_for
from fairlead.plugins.volume_binding.hints import Hints
from fairlead.plugins.volume_binding.many_nodes import Answer, solve
from fairlead.plugins.volume_binding.meaning import Claims, Meaning, Reader, Refused
from fairlead.plugins.volume_binding.one_node import (
    BIND_CONFLICT,
    MISSING,
    NODE_CONFLICT,
    NOT_ENOUGH,
    Found,
    find,
)
from fairlead.plugins.volume_binding.scoring import Scorer, column_score, row_score
from fairlead.queue.events import Registration

STATE = "VolumeBinding"
PLAN = "VolumeBinding/plan"
NOT_FOUND = error("not found")
SCORING = "StorageCapacityScoring"
NO_CLAIMS = Meaning((), ())


class VolumeBinding:
    """The answer for a node follows from its labels and name, its CSINode, the volumes that only
    it reaches, and, by class, the volumes and capacities that many nodes reach."""

    name = "VolumeBinding"
    depends = Depends(Aspect.LABELS, Aspect.STORAGE)

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        self.handle = handle
        self.storage = handle.storage
        self.csi_nodes = handle.csi_nodes
        self.bind_timeout = args.bind_timeout_seconds
        self.reader = Reader(handle.objects, handle.volumes, handle.storage)
        self.scorer = Scorer(args.shape or ()) if handle.release.enabled(SCORING) else None
        self._known: tuple[PodInfo, int, Claims | Refused, Meaning] | None = None

    def events_to_register(self) -> Sequence[Registration]:
        return Hints(self.handle.volumes).registrations()

    def reads(self, pod: PodInfo) -> object:
        if not pod.volumes:
            return NOTHING
        found = self._look(pod)
        return self._meaning if isinstance(found, Claims) else found

    def facts(self, pod: PodInfo) -> tuple[object, ...]:
        if not pod.volumes or not isinstance(self._look(pod), Claims):
            return ()
        facts: dict[object, None] = {}
        for claim in self._meaning.unbound:
            facts[volumes_of(claim.wanted.storage_class)] = None
            if claim.provision.tracked:
                facts[capacity_of(claim.wanted.storage_class)] = None
        return tuple(facts)

    def pre_filter(self, pod: PodInfo, state: CycleState) -> PreFilterResult | Status | None:
        if not pod.volumes:
            state.write(STATE, NO_CLAIMS)
            return SKIP
        found = self._look(pod)
        if isinstance(found, Refused):
            return Status(found.code, found.reason)
        state.write(STATE, self._meaning)
        return None if found.bound or found.unbound else SKIP

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        if STATE not in state:
            return NOT_FOUND
        found = self._find(noted(state), node)
        if found.fault:
            return error(found.fault)
        if found.reasons:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, *found.reasons)
        return None

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        if STATE not in state:
            everywhere = np.ones(nodes.size, np.bool_)
            return nodes.reject(everywhere, *NOT_FOUND.reasons, code=NOT_FOUND.code)
        return verdicts(solve(noted(state), nodes, self.storage, self.csi_nodes), nodes)

    def pre_score(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Status | None:
        if self.scorer is None:
            return SKIP
        return None if STATE in state else NOT_FOUND

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        if self.scorer is None or not pod.volumes:
            return 0
        meaning = scored(state)
        return row_score(self.scorer, meaning, self._find(meaning, node))

    def score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        if self.scorer is None or not pod.volumes:
            return 0
        meaning = scored(state)
        answer = solve(meaning, nodes, self.storage, self.csi_nodes)
        return column_score(self.scorer, meaning, answer)

    def reserve(self, pod: PodInfo, node_name: str, state: CycleState) -> Status | None:
        if STATE not in state:
            return NOT_FOUND
        if not pod.volumes:
            return None
        found = self._look(pod)
        if isinstance(found, Refused) or not found.unbound:
            return None
        node = self.handle.node(node_name)
        assert node is not None, "the pod is assumed on it"
        try:
            plan = plan_for(
                pod, node_name, found, self._find(self._meaning, node), self.reader, self.storage
            )
        except OutOfSync as problem:
            return error(str(problem))
        state.write(PLAN, plan)
        return None

    def unreserve(self, pod: PodInfo, node_name: str, state: CycleState) -> None:
        if PLAN in state:
            planned(state).undo(self.storage)

    def pre_bind_pre_flight(self, pod: PodInfo, node_name: str, state: CycleState) -> Status | None:
        if STATE not in state:
            return NOT_FOUND
        return None if PLAN in state else SKIP

    async def pre_bind(
        self, pod: PodInfo, node_name: str, state: CycleState, io: Io
    ) -> Status | None:
        if PLAN not in state:
            return None
        plan = planned(state)
        await carry_out(plan, io)
        waiter = Waiter(pod, node_name, plan, self.handle)
        await waiter.wait(io, self.bind_timeout)
        return None

    @property
    def _meaning(self) -> Meaning:
        """What the claims of the pod that was looked at last mean."""
        assert self._known is not None, "a pod was looked at before"
        return self._known[3]

    def _look(self, pod: PodInfo) -> Claims | Refused:
        """The claims of the pod as of now; looked up once for all stages of an attempt."""
        known, now = self._known, self.handle.changes.facts
        if known is not None and known[0] is pod and known[1] == now:
            return known[2]
        found = self.reader.refused(pod) or self.reader.claims(pod)
        meaning = self.reader.meaning(found) if isinstance(found, Claims) else NO_CLAIMS
        self._known = (pod, now, found, meaning)
        return found

    def _find(self, meaning: Meaning, node: NodeInfo) -> Found:
        moved = migrated_plugins(self.csi_nodes.get(node.name))
        return find(meaning, self.storage, node.name, node.labels, moved)


def verdicts(answer: Answer, nodes: NodeSet) -> Verdicts | None:
    """Each node with its reasons, in kube-scheduler's order; a fault comes before all."""
    parts = (
        (answer.node_conflict, NODE_CONFLICT),
        (answer.bind_conflict, BIND_CONFLICT),
        (answer.not_enough, NOT_ENOUGH),
        (answer.missing, MISSING),
    )
    pattern = np.zeros(nodes.size, np.int64)
    for bit, (mask, _) in enumerate(parts):
        pattern += mask.astype(np.int64) << bit
    found: Verdicts | None = None
    for fault in answer.faults:
        verdict = nodes.reject(fault.nodes, fault.reason, code=Code.ERROR)
        found = found.over(verdict) if found and verdict else found or verdict
    for number in np.unique(pattern[pattern > 0]).tolist():
        reasons = [reason for bit, (_, reason) in enumerate(parts) if number >> bit & 1]
        verdict = nodes.reject(
            pattern == number, *reasons, code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        )
        found = found.over(verdict) if found and verdict else found or verdict
    return found


def noted(state: CycleState) -> Meaning:
    return state.read(STATE)  # type: ignore[return-value]


def scored(state: CycleState) -> Meaning:
    if STATE not in state:
        raise StageFailed("not found")
    return noted(state)


def planned(state: CycleState) -> Plan:
    return state.read(PLAN)  # type: ignore[return-value]
