"""A pod's claims from the chosen node to the API server.

Reserve: in flight ──► PreBind: written, reserved for the pod, awaited ──► bound
              └──────── Unreserve: given back, what was written undone ◄───┘
"""

from typing import Any

from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.errands import Errands
from fairlead.framework.stages import Io
from fairlead.framework.status import Status, error
from fairlead.model.resource import ResourceClaim
from fairlead.plugins.dynamic_resources.conditions import BindingFailed, ready, timed_out
from fairlead.plugins.dynamic_resources.extended import Extended
from fairlead.plugins.dynamic_resources.notes import IN_MEMORY, Notes
from fairlead.plugins.dynamic_resources.result import Allocation, allocation
from fairlead.plugins.dynamic_resources.writing import (
    NotWritten,
    create,
    delete,
    reserve_for,
    tell_pod,
    unreserve,
)

LOOK_AGAIN, PATIENCE = 1.0, 120
"""How often, and how many times, a claim of our own is looked for in what the watch has told."""
POLL = 5.0


class Binding:
    """One placed pod. Its notes have the claims as they are written, one after the other."""

    KEY = "ReserveDynamicResources"

    def __init__(self, notes: Notes, node_name: str) -> None:
        self.notes = notes
        self.node_name = node_name
        self.claims = notes.tools.claims
        self.given: dict[int, Allocation] = {}
        self.extended: Extended | None = None
        own = notes.extended
        self._own_uid = "" if own is None else own.metadata.uid

    def reserve(self, node: NodeInfo | None) -> Status | None:
        """Take the devices that the search finds on the node, until they are written."""
        notes = self.notes
        if not notes.to_allocate:
            return None
        outcome = None if node is None else notes.outcome(node)
        if outcome is None or outcome.status is not None:
            return error("claim allocation not found for node")
        if outcome.search is None:
            return None  # the node gives the resources in its own way
        self.extended = outcome.extended
        for nth, at in enumerate(notes.to_allocate):
            claim = notes.claims[at]
            made = allocation(outcome.search, nth, claim, self.node_name)
            self.given[at] = made
            self.claims.reserve(claim.metadata.uid, made.struct)
        return None

    def unreserve(self, errands: Errands) -> None:
        """Give back what is in flight, and undo what was written. May be called again."""
        notes, pod = self.notes, self.notes.pod
        for at in list(self.given):
            claim = notes.claims[at]
            uid = self._own_uid if self._is_own(at) else claim.metadata.uid
            if self.claims.release(uid):
                self.claims.restore(claim.metadata.namespace, claim.metadata.name)
        self.given.clear()
        for at, claim in enumerate(notes.claims):
            if self._is_own(at):
                if claim.metadata.name != IN_MEMORY:
                    errands.ask(lambda io, of=claim: delete(io, of))
            elif claim.status.allocation is not None and reserved(claim, pod.uid):
                errands.ask(lambda io, of=claim: unreserve(io, of, pod.uid))

    async def write(self, io: Io) -> Status | None:
        """Write the allocation and reservation of each claim that has none for this pod."""
        for at, claim in enumerate(self.notes.claims):
            if reserved(claim, self.notes.pod.uid):
                continue
            try:
                await self._write(at, claim, io)
            except NotWritten as problem:
                return error(str(problem))
        return None

    async def await_devices(self, io: Io) -> Status | None:
        """Wait until the drivers have made the devices ready on the node."""
        tools, claims = self.notes.tools, self.notes.claims
        until = io.now() + tools.patience
        while True:
            try:
                for at, known in enumerate(claims):
                    meta = known.metadata
                    claim = self.claims.get(meta.namespace, meta.name)
                    if claim is None:
                        return error(f'could not find ResourceClaim "{meta.namespace}/{meta.name}"')
                    claims[at] = claim
                if all(ready(claim) for claim in claims):
                    return None
            except BindingFailed as problem:
                return error(str(problem))
            late = [c for c in claims if timed_out(c, tools.now(), tools.patience)]
            if late:
                return error(f"device binding timeout: claim={late[0].metadata.name}")
            if io.now() >= until:
                return error("device binding timeout: context deadline exceeded")
            await io.sleep(POLL)

    async def _write(self, at: int, claim: ResourceClaim, io: Io) -> None:
        given, own = self.given.get(at), self._is_own(at)
        if own and given is None and not claim.spec.devices.requests:
            return  # the node gives the resources in its own way
        pod, features = self.notes.pod, self.notes.tools.features
        uid = claim.metadata.uid
        stamped = features.get("DRADeviceBindingConditions") and features.get(
            "DRAResourceClaimDeviceStatus"
        )
        try:
            if own and claim.metadata.name == IN_MEMORY:
                claim = await create(io, pod, self._requests())
                self.notes.claims[at] = claim
            stamp = self.notes.tools.now() if stamped else None
            claim = await reserve_for(io, claim, pod, given, stamp=stamp)
            self.notes.claims[at] = claim
            if own:
                await self._until_told(claim, io)
            self.claims.assume(claim)
        finally:
            if given is not None:
                self.claims.release(uid)
        if own:
            mapped = () if self.extended is None else self.extended.mappings
            await tell_pod(io, pod, claim, mapped)

    async def _until_told(self, claim: ResourceClaim, io: Io) -> None:
        """The watch may be slower than the answer: devices stay in flight until it has told."""
        meta = claim.metadata
        for _ in range(PATIENCE):
            if self.claims.get(meta.namespace, meta.name) is not None:
                return
            await io.sleep(LOOK_AGAIN)

    def _requests(self) -> list[dict[str, Any]]:
        if self.extended is None:
            raise NotWritten(f"extended resource claim not found for node {self.node_name}")
        return [
            {
                "name": each.name,
                "exactly": {
                    "deviceClassName": each.exactly.device_class_name,
                    "allocationMode": each.exactly.allocation_mode,
                    "count": each.exactly.count,
                },
            }
            for each in self.extended.claim.requests
            if each.exactly is not None
        ]

    def _is_own(self, at: int) -> bool:
        """Whether this is the claim for extended resources, which comes last."""
        return self.notes.extended is not None and at == len(self.notes.claims) - 1


def reserved(claim: ResourceClaim, pod_uid: str) -> bool:
    return any(user.uid == pod_uid for user in claim.status.reserved_for)
