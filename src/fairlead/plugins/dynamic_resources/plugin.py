"""DynamicResources: a pod goes only where its claims are, or where devices are left for them.

Reads: claims, slices, classes (`handle.devices`). Writes: what is being allocated, until PreBind
has written it. Nothing is kept from pod to pod by way of signatures, because a claim has a state
of its own; what claims that ask for the same find on a node is kept in `answers`.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from fairlead.cluster.columns import Int64, Mask
from fairlead.cluster.nodes import NodeInfo
from fairlead.config.args import DynamicResourcesArgs
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.normalize import default_normalize
from fairlead.framework.stages import Io
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Code, Status, error, unresolvable, unschedulable
from fairlead.model.meta import ObjectMeta, OwnerReference
from fairlead.model.podinfo import PodInfo
from fairlead.model.resource import ResourceClaim
from fairlead.plugins.dynamic_resources.answers import BROKEN, FITS, UNKNOWN, Kinds
from fairlead.plugins.dynamic_resources.binding import Binding
from fairlead.plugins.dynamic_resources.conditions import must_wait
from fairlead.plugins.dynamic_resources.extended import backed
from fairlead.plugins.dynamic_resources.hints import registrations
from fairlead.plugins.dynamic_resources.names import ClaimFault, claims_of
from fairlead.plugins.dynamic_resources.notes import (
    BROKEN_POOLS,
    CANNOT_ALLOCATE,
    IN_MEMORY,
    UNAVAILABLE,
    Notes,
    Outcome,
    Tools,
)
from fairlead.plugins.dynamic_resources.plan import alternatives
from fairlead.plugins.dynamic_resources.writing import deallocate, delete
from fairlead.queue.events import Registration

NOTES = "DynamicResources"
NOT_FOUND = error("not found")
NOTHING_TO_DO = unschedulable("no new claims to deallocate")
STILL_NOT = unschedulable("still not schedulable")
STEPS_PER_SECOND = 20_000
"""A search is limited in steps, not by a clock: the same question has the same answer."""
NEVER = 10**12


class DynamicResources:
    name = "DynamicResources"

    def __init__(self, args: DynamicResourcesArgs, handle: Handle) -> None:
        self.handle = handle
        self.features = handle.features
        seconds = args.filter_timeout.seconds
        limited = seconds > 0 and self.features.get("DRASchedulerFilterTimeout", False)
        self.tools = Tools(
            handle.devices,
            handle.features,
            now=handle.wall,
            patience=args.binding_timeout.seconds,
            steps=int(seconds * STEPS_PER_SECOND) if limited else NEVER,
            strict=handle.release.strict,
        )
        handle.devices.obey(handle.features)
        self.claims = handle.devices.claims
        self.classes = handle.devices.classes
        self.kinds = Kinds(handle.devices, handle.changes)

    def events_to_register(self) -> Sequence[Registration]:
        return registrations(self.claims)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if not pod.resource_claims:
            return None
        try:
            for _claim in claims_of(pod, self.claims):
                pass
        except ClaimFault as problem:
            return unresolvable(str(problem))
        return None

    def pre_filter(self, pod: PodInfo, state: CycleState) -> Status | None:
        state.write(NOTES, None)
        scalars = pod.request.scalars
        devices = bool(scalars) and self.features.get("DRAExtendedResource", False)
        if not pod.resource_claims and not (devices and backed(pod, self.classes)):
            return SKIP
        try:
            claims = list(claims_of(pod, self.claims)) if pod.resource_claims else []
        except ClaimFault as problem:
            return unresolvable(str(problem))
        extended: ResourceClaim | None = None
        if devices and backed(pod, self.classes):
            extended = self.claims.made_for(pod.uid, pod.name) or in_memory(pod)
        if not claims and extended is None:
            return SKIP
        for claim in claims:
            if claim.status.allocation is None and (fault := self._fault(claim)) is not None:
                return fault
        state.write(NOTES, Notes(self.tools, pod, claims, extended))
        return None

    def _fault(self, claim: ResourceClaim) -> Status | None:
        """What keeps a claim from being allocated now, on whatever node."""
        meta = claim.metadata
        name = f"{meta.namespace}/{meta.name}"
        if self.claims.in_flight(meta.uid):
            return unresolvable(f"resource claim {name} is in the process of being allocated")
        for given in claim.spec.devices.requests:
            if given.exactly is None and not given.first_available:
                what = f"resource claim {name}, request {given.name}: unknown request type"
                return unresolvable(what)
            if given.exactly is None and not self.features.get("DRAPrioritizedList"):
                what = "has subrequests, but the DRAPrioritizedList feature is disabled"
                return unresolvable(f"resource claim {name}, request {given.name}: {what}")
            for request in alternatives(given):
                of_class = request.device_class
                if not of_class:
                    return error(f"request {request.full_name}: unsupported request type")
                if self.classes.get(of_class) is None:
                    what = f"device class {of_class} does not exist"
                    return unresolvable(f"request {request.full_name}: {what}")
        return None

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        if NOTES not in state:
            return NOT_FOUND
        notes = noted(state)
        if notes is None:
            return None
        outcome = notes.outcome(node)
        if outcome.status is not None:
            return outcome.status
        missing = notes.missing(node)
        notes.unavailable.update(dict.fromkeys(missing))
        return UNAVAILABLE if missing else None

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        if NOTES not in state:
            everywhere = np.ones(nodes.size, np.bool_)
            return nodes.reject(everywhere, *NOT_FOUND.reasons, code=NOT_FOUND.code)
        notes = noted(state)
        if notes is None:
            return None
        codes, reasons = np.zeros(nodes.size, np.int8), np.zeros(nodes.size, np.int32)
        if notes.to_allocate or notes.extended is not None:
            self._allocate(notes, nodes, Verdicts(codes, reasons))
        if notes.bound_to or notes.refused:
            away = missed(notes, nodes, codes == 0)
            codes[away] = UNAVAILABLE.code
            reasons[away] = nodes.reason_id(*UNAVAILABLE.reasons)
        return Verdicts(codes, reasons)

    def _allocate(self, notes: Notes, nodes: NodeSet, into: Verdicts) -> None:
        """The word of the search on each node: as it is kept, or found now."""
        key = notes.key
        answers = None if key is None else self.kinds.of(key, nodes.table.columns.room)
        if answers is None:
            for at, info in enumerate(nodes.infos()):
                if info is not None:
                    write(notes.outcome(info), at, nodes, into)
            return
        known = answers.words if nodes.rows is None else answers.words[nodes.rows]
        refused = (known != UNKNOWN) & (known != FITS)
        broken = known == BROKEN
        into.codes[refused] = CANNOT_ALLOCATE.code
        into.reasons[refused] = nodes.reason_id(*CANNOT_ALLOCATE.reasons)
        into.reasons[broken] = nodes.reason_id(*BROKEN_POOLS.reasons)
        unknown = (known == UNKNOWN).nonzero()[0].tolist()
        infos = nodes.infos() if unknown else []
        for at in unknown:
            info = infos[at]
            if info is not None:
                outcome = notes.outcome(info)
                answers.note(info.row, outcome)
                write(outcome, at, nodes, into)

    def indifferent(self, pod: PodInfo, state: CycleState) -> bool:
        """Whether Score is zero everywhere."""
        notes = noted(state) if NOTES in state else None
        return notes is None or not notes.to_allocate

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        notes = noted(state) if NOTES in state else None
        if notes is None or not notes.to_allocate or not self.features.get("DRAPrioritizedList"):
            return 0
        outcome = notes.outcome(node)
        return 0 if outcome.search is None else outcome.score + notes.allocated_score()

    def score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        notes = noted(state) if NOTES in state else None
        if notes is None or not notes.to_allocate or not self.features.get("DRAPrioritizedList"):
            return 0
        if notes.key is None:
            scores = [0 if i is None else self.score(pod, i, state) for i in nodes.infos()]
            return np.array(scores, np.int64)
        answers = self.kinds.of(notes.key, nodes.table.columns.room)
        known = answers.words if nodes.rows is None else answers.words[nodes.rows]
        if (known == UNKNOWN).any():
            for info in nodes.infos():
                if info is not None and answers.words[info.row] == UNKNOWN:
                    answers.note(info.row, notes.outcome(info))
        kept = answers.scores if nodes.rows is None else answers.scores[nodes.rows]
        return kept + notes.allocated_score()

    def normalize_score(self, pod: PodInfo, scores: Int64, state: CycleState) -> Int64:
        return default_normalize(scores)

    def post_filter_reads(self, pod: PodInfo) -> Hashable | None:
        """A pod that has to do with devices is looked at each time."""
        devices = pod.request.scalars and backed(pod, self.classes)
        return None if pod.resource_claims or devices else ()

    def post_filter(self, pod: PodInfo, state: CycleState, statuses: object) -> Status | None:
        """Give up devices that are of no use to the pod, so that it may get others."""
        if NOTES not in state:
            return NOT_FOUND
        notes = noted(state)
        if notes is None:
            return NOTHING_TO_DO
        for at in notes.unavailable:
            claim = notes.claims[at]
            users = claim.status.reserved_for
            if claim is notes.extended:
                continue
            if not users or (len(users) == 1 and users[0].uid == pod.uid):
                self.handle.errands.ask(lambda io, of=claim: deallocate(io, of, pod.uid))
                return unschedulable("deallocation of ResourceClaim completed")
        own = notes.extended
        if own is not None and own.metadata.name != IN_MEMORY:
            self.handle.errands.ask(lambda io: delete(io, own))
            return unschedulable("deletion of ResourceClaim completed")
        return STILL_NOT

    def reserve(self, pod: PodInfo, node_name: str, state: CycleState) -> Status | None:
        binding = self._begin(pod, node_name, state)
        return None if binding is None else binding.reserve(self.handle.node(node_name))

    def unreserve(self, pod: PodInfo, node_name: str, state: CycleState) -> None:
        if Binding.KEY in state:
            binding: Binding = state.read(Binding.KEY)  # type: ignore[assignment]
            binding.unreserve(self.handle.errands)

    def _begin(self, pod: PodInfo, node_name: str, state: CycleState) -> Binding | None:
        notes = noted(state) if NOTES in state else None
        if notes is None:
            return None
        binding = Binding(notes, node_name)
        state.write(Binding.KEY, binding)
        return binding

    def pre_bind_pre_flight(self, pod: PodInfo, node_name: str, state: CycleState) -> Status | None:
        return None if Binding.KEY in state else SKIP

    async def pre_bind(
        self, pod: PodInfo, node_name: str, state: CycleState, io: Io
    ) -> Status | None:
        if Binding.KEY not in state:
            return None
        binding: Binding = state.read(Binding.KEY)  # type: ignore[assignment]
        refusal = await binding.write(io)
        if refusal is None and any(map(must_wait, binding.notes.claims)):
            refusal = await binding.await_devices(io)
        return refusal


def noted(state: CycleState) -> Notes | None:
    """What PreFilter noted: None for a pod without claims."""
    return state.read(NOTES)  # type: ignore[return-value]


def write(outcome: Outcome, at: int, nodes: NodeSet, into: Verdicts) -> None:
    if outcome.status is not None and outcome.status.code != Code.SUCCESS:
        into.codes[at] = outcome.status.code
        into.reasons[at] = nodes.reason_id(*outcome.status.reasons)


def missed(notes: Notes, nodes: NodeSet, left: Mask) -> Mask:
    """Those of the nodes left that cannot use a claim that is allocated; which is noted."""
    away = np.zeros(nodes.size, np.bool_)
    infos = nodes.infos() if notes.bound_to else ()
    for at in notes.bound_to:
        reached = [info is None or notes.reaches(at, info) for info in infos]
        unreached = left & ~np.array(reached, np.bool_)
        if unreached.any():
            notes.unavailable[at] = None
            away |= unreached
    if notes.refused and left.any():
        notes.unavailable.update(dict.fromkeys(notes.refused))
        away |= left
    return away


def in_memory(pod: PodInfo) -> ResourceClaim:
    """The claim for a pod's extended resources, before it is known what it asks for."""
    owner = OwnerReference("v1", "Pod", pod.name, pod.uid, True)
    meta = ObjectMeta(IN_MEMORY, pod.namespace, f"{pod.uid}{IN_MEMORY}", owner_references=(owner,))
    return ResourceClaim(meta)
