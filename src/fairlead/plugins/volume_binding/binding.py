"""Getting a pod its volumes: assumed when the node is chosen, written before the pod is bound.

    plan_for ──► assumed ──carry_out──► written ──Waiter──► bound
                    └──undo: what was not written yet is given back

What has been written is not taken back: the controllers may be at work on it already.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from msgspec import structs

from fairlead.cluster.assumed import OutOfSync
from fairlead.cluster.csi_nodes import migrated_plugins
from fairlead.cluster.nodes import NodeInfo
from fairlead.cluster.storage import Storage
from fairlead.framework.handle import Handle
from fairlead.framework.stages import Io
from fairlead.framework.status import StageFailed
from fairlead.model.podinfo import PodInfo
from fairlead.model.storage import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from fairlead.plugins.volume_binding.meaning import Claims, Reader, reached_from
from fairlead.plugins.volume_binding.one_node import NODE_CONFLICT, Found, Match, reach

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


@dataclass(slots=True)
class Change(Generic[T]):
    """An object as it is to be; `written` is its resourceVersion once it is."""

    obj: T
    claim: PersistentVolumeClaim
    written: str = ""


@dataclass(slots=True)
class Plan:
    """The volumes to bind to claims, and the claims for which a volume is to be made."""

    node_name: str
    volumes: list[Change[PersistentVolume]] = field(default_factory=list[Change[PersistentVolume]])
    claims: list[Change[PersistentVolumeClaim]] = field(
        default_factory=list[Change[PersistentVolumeClaim]]
    )

    def undo(self, storage: Storage) -> None:
        """Give back what was assumed and not written."""
        for volume in self.volumes:
            if not volume.written:
                storage.restore_volume(volume.obj)
        for claim in self.claims:
            if not claim.written:
                storage.claims.restore(claim.obj)


def plan_for(
    pod: PodInfo,
    node_name: str,
    claims: Claims,
    found: Found,
    reader: Reader,
    storage: Storage,
) -> Plan:
    """Assume what the node was found to give. Raises OutOfSync, and nothing is assumed then."""
    if found.fault or found.reasons:
        raise OutOfSync(f"the volumes of pod {pod.key} are not to be had on {node_name} any more")
    plan = Plan(node_name)
    try:
        for match in found.matches:
            claim = claims.unbound[match.claim]
            volume = volume_of(match, claim, reader)
            bound = bound_to(volume, claim)
            if bound is not volume:
                storage.assume_volume(bound)
            plan.volumes.append(Change(bound, claim))
        for order in found.makes:
            claim = claims.unbound[order.claim]
            meta = claim.metadata
            noted = {**meta.annotations, SELECTED_NODE: node_name}
            wanted = structs.replace(claim, metadata=structs.replace(meta, annotations=noted))
            storage.claims.assume(wanted)
            plan.claims.append(Change(wanted, claim))
    except OutOfSync:
        plan.undo(storage)
        raise
    return plan


def volume_of(match: Match, claim: PersistentVolumeClaim, reader: Reader) -> PersistentVolume:
    if not isinstance(match.volume, int):
        return match.volume.volume
    # Looked up again: the plan is of this pod's own claims, and their meaning has no names.
    wanted = reader.meaning(Claims((), (claim,))).unbound[0].wanted
    return reader.kept_for(claim, wanted)[match.volume].volume


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume as it is when bound to the claim; itself if it is so already."""
    meta, ref = claim.metadata, volume.spec.claim_ref
    annotations = volume.metadata.annotations
    whole = ClaimReference(meta.namespace, meta.name, meta.uid)
    if volume.bound_to(claim) or BOUND_BY_CONTROLLER in annotations:
        if ref == whole:
            return volume
    else:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    return structs.replace(
        volume,
        metadata=structs.replace(volume.metadata, annotations=annotations),
        spec=structs.replace(volume.spec, claim_ref=whole),
    )


async def carry_out(plan: Plan, io: Io) -> None:
    """Write the volumes, then the claims; the first that is refused ends it."""
    for volume in plan.volumes:
        meta = volume.claim.metadata

        def bind(obj: dict[str, Any], change: Change[PersistentVolume] = volume) -> None:
            of = change.claim.metadata
            reference = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": of.namespace,
                "name": of.name,
                "uid": of.uid,
                "resourceVersion": of.resource_version,
            }
            known = obj["spec"].get("claimRef") or {}
            if any(known.get(key) != reference[key] for key in ("namespace", "name", "uid")):
                obj["spec"]["claimRef"] = reference
            annotate(obj, change.obj.metadata.annotations, BOUND_BY_CONTROLLER)

        volume.written = await written(
            io, "persistentvolumes", f"/api/v1/persistentvolumes/{volume.obj.metadata.name}",
            volume.obj, bind,
        )  # fmt: skip
    for claim in plan.claims:
        meta = claim.obj.metadata
        path = f"/api/v1/namespaces/{meta.namespace}/persistentvolumeclaims/{meta.name}"

        def select(obj: dict[str, Any], change: Change[PersistentVolumeClaim] = claim) -> None:
            annotate(obj, change.obj.metadata.annotations, SELECTED_NODE)

        claim.written = await written(io, "persistentvolumeclaims", path, claim.obj, select)


def annotate(obj: dict[str, Any], annotations: dict[str, str], key: str) -> None:
    if key in annotations:
        noted: dict[str, str] = obj["metadata"].setdefault("annotations", {})
        noted[key] = annotations[key]


async def written(
    io: Io,
    resource: str,
    path: str,
    planned: PersistentVolume | PersistentVolumeClaim,
    change: Callable[[dict[str, Any]], None],
) -> str:
    """Change the object, of which we hold a part alone, if it is still the version planned with."""
    obj: Any = await io.request("GET", path)
    if obj["metadata"]["resourceVersion"] != planned.metadata.resource_version:
        raise StageFailed(
            f'Operation cannot be fulfilled on {resource} "{planned.metadata.name}": the object'
            " has been modified; please apply your changes to the latest version and try again"
        )
    change(obj)
    answer: Any = await io.request("PUT", path, obj)
    return str(answer["metadata"]["resourceVersion"])


class Waiter:
    """Waits until the controllers have bound everything, as the watch tells it."""

    def __init__(self, pod: PodInfo, node_name: str, plan: Plan, handle: Handle) -> None:
        self.pod = pod
        self.node_name = node_name
        self.plan = plan
        self.handle = handle
        self.storage = handle.storage

    async def wait(self, io: Io, longest: float) -> None:
        """Raises StageFailed when it is over, or cannot come true any more."""
        waited, pause = 0.0, FIRST_PAUSE
        while not self.is_bound():
            if waited >= longest:
                raise StageFailed("binding volumes: context deadline exceeded")
            pause = min(pause, longest - waited)
            await io.sleep(pause)
            waited += pause
            pause = min(2 * pause, LONGEST_PAUSE)

    def is_bound(self) -> bool:
        """Whether all is bound by now; raises StageFailed if something has come undone."""
        node = self.handle.node(self.node_name)
        if node is None:
            name = self.node_name
            raise undone(f'failed to get node "{name}": node "{name}" not found')
        if self.pod.uid not in node.pods_by_uid:
            raise undone(f'pod does not exist any more: pod "{self.pod.name}" not found')
        return all(self._volume(each, node) for each in self.plan.volumes) and all(
            self._claim(each, node) for each in self.plan.claims
        )

    def _volume(self, change: Change[PersistentVolume], node: NodeInfo) -> bool:
        name = change.obj.metadata.name
        volume = self.storage.volumes.told("", name)
        if volume is None:
            raise undone(f'failed to check binding: persistentvolumes "{name}" not found')
        meta = change.claim.metadata
        claim = self.storage.claims.told(meta.namespace, meta.name)
        if claim is None:
            key = f"{meta.namespace}/{meta.name}"
            raise undone(f'failed to check binding: persistentvolumeclaims "{key}" not found')
        if newer(change.written, volume.metadata.resource_version):
            return False
        self._check_reach(volume, node)
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            raise undone(f'ClaimRef got reset for pv "{name}"')
        return claim.is_bound

    def _claim(self, change: Change[PersistentVolumeClaim], node: NodeInfo) -> bool:
        meta = change.obj.metadata
        claim = self.storage.claims.told(meta.namespace, meta.name)
        if claim is None:
            key = f"{meta.namespace}/{meta.name}"
            what = "failed to check provisioning pvc"
            raise undone(f'{what}: persistentvolumeclaims "{key}" not found')
        if newer(change.written, claim.metadata.resource_version):
            return False
        annotations = claim.metadata.annotations
        if not annotations:
            raise undone(f'selectedNode annotation reset for PVC "{meta.name}"')
        if annotations.get(SELECTED_NODE) != self.node_name:
            raise undone(f'provisioning failed for PVC "{meta.name}"')
        if claim.spec.volume_name:
            volume = self.storage.volumes.told("", claim.spec.volume_name)
            if volume is None:
                return False
            self._check_reach(volume, node)
        return claim.is_bound

    def _check_reach(self, volume: PersistentVolume, node: NodeInfo) -> None:
        """The volume must be one that the node can reach, whoever bound it."""
        moved = migrated_plugins(self.handle.csi_nodes.get(node.name))
        reason, fault = reach(reached_from(volume), node.labels, moved)
        if fault:
            raise undone(f"failed to translate pv to csi: {fault}")
        if reason == NODE_CONFLICT:
            name = volume.metadata.name
            raise undone(
                f'pv "{name}" node affinity doesn\'t match node "{node.name}":'
                " no matching NodeSelectorTerms"
            )


def undone(reason: str) -> StageFailed:
    return StageFailed(f"binding volumes: {reason}")


def newer(written: str, told: str) -> bool:
    """Whether what was written is newer than what the watch has told of."""
    try:
        return int(written) > int(told)
    except ValueError:
        return False
