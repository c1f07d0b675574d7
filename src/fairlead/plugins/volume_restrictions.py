"""VolumeRestrictions: disks that one pod of a node can have, claims that one pod can have."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairlead.cluster.changes import Aspect
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import NOTHING, Depends
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Status, error, unresolvable, unschedulable
from fairlead.model.pod_volumes import Disk
from fairlead.model.podinfo import PodInfo
from fairlead.model.storage import PersistentVolumeClaim
from fairlead.queue.events import (
    ADD,
    DELETE,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    ClusterEvent,
    Registration,
)

REASON_DISK = "node(s) had no available disk"
REASON_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already"
    " in-use by another pod"
)
REFUSAL_DISK = unschedulable(REASON_DISK)
REFUSAL_IN_USE = unschedulable(REASON_IN_USE)
PRE_FILTER = "PreFilterVolumeRestrictions"
NOT_FOUND = error(f'cannot read "{PRE_FILTER}" from cycleState')
ONCE = "ReadWriteOncePod"


class Restricted(NamedTuple):
    """What of a pod's volumes can be refused; `in_use` counts other pods' uses of `once`."""

    disks: tuple[Disk, ...]
    once: frozenset[str]
    """The names of the claims that only one pod may have."""
    in_use: int
    missing: str = ""


class VolumeRestrictions:
    name = "VolumeRestrictions"
    depends = Depends(Aspect.VOLUMES)

    def __init__(self, args: object, handle: Handle) -> None:
        self.objects = handle.objects
        self.volumes = handle.volumes

    def events_to_register(self) -> Sequence[Registration]:
        return (
            (ClusterEvent(POD, DELETE), self.after_deletion),
            (ClusterEvent(NODE, ADD), None),
            (ClusterEvent(PERSISTENT_VOLUME_CLAIM, ADD), self.after_claim),
        )

    def reads(self, pod: PodInfo) -> object:
        return self.restricted(pod) if pod.volumes else NOTHING

    def restricted(self, pod: PodInfo) -> Restricted:
        """What the pod's volumes mean, as of now."""
        volumes = self.volumes.of(pod)
        once: set[str] = set()
        for volume in volumes.volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            claim = self.objects.get("PersistentVolumeClaim", pod.namespace, name)
            if not isinstance(claim, PersistentVolumeClaim):
                missing = f'persistentvolumeclaim "{name}" not found'
                return Restricted(volumes.disks, frozenset(), 0, missing)
            if ONCE in claim.spec.access_modes:
                once.add(name)
        in_use = sum(self.volumes.is_mounted((pod.namespace, name)) for name in once)
        return Restricted(volumes.disks, frozenset(once), in_use)

    def pre_filter(self, pod: PodInfo, state: CycleState) -> PreFilterResult | Status | None:
        if not pod.volumes:
            return SKIP
        restricted = self.restricted(pod)
        if restricted.missing:
            return unresolvable(restricted.missing)
        if not restricted.disks and not restricted.in_use:
            return SKIP
        state.write(PRE_FILTER, restricted)
        return None

    def add_pod(
        self, pod: PodInfo, added: PodInfo, node: NodeInfo, state: CycleState
    ) -> Status | None:
        return self._count(added, 1, state)

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, state: CycleState
    ) -> Status | None:
        return self._count(removed, -1, state)

    def _count(self, other: PodInfo, times: int, state: CycleState) -> Status | None:
        """Count another pod's uses of the claims, by name alone, as kube-scheduler does."""
        if PRE_FILTER not in state:
            return NOT_FOUND
        restricted = noted(state)
        sources = (volume.persistent_volume_claim for volume in self.volumes.of(other).volumes)
        uses = sum(s is not None and s.claim_name in restricted.once for s in sources)
        if uses:
            state.write(PRE_FILTER, restricted._replace(in_use=restricted.in_use + times * uses))
        return None

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        disks = self.volumes.of(pod).disks
        if disks and self.volumes.conflicts(disks, node.pods):
            return REFUSAL_DISK
        if PRE_FILTER not in state:
            return NOT_FOUND
        return REFUSAL_IN_USE if noted(state).in_use > 0 else None

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        everywhere = np.ones(nodes.size, np.bool_)
        below = None
        if PRE_FILTER not in state:
            below = nodes.reject(everywhere, *NOT_FOUND.reasons, code=NOT_FOUND.code)
        elif noted(state).in_use > 0:
            below = nodes.reject(everywhere, REASON_IN_USE)
        taken = np.zeros(nodes.table.columns.room, np.bool_)
        taken[list(self.volumes.conflicting(self.volumes.of(pod).disks))] = True
        verdict = nodes.reject(taken if nodes.rows is None else taken[nodes.rows], REASON_DISK)
        return verdict.over(below) if verdict and below else verdict or below

    def after_deletion(self, pod: PodInfo, old: PodInfo, new: None) -> bool:
        """The pod had one of the disks, or a claim that this one wants too."""
        if old.namespace != pod.namespace:
            return False
        mine, its = self.volumes.of(pod), self.volumes.of(old)
        if any(disk.conflicts(other) for disk in mine.disks for other in its.disks):
            return True
        return not self._claims(pod).isdisjoint(self._claims(old))

    def after_claim(
        self, pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
    ) -> bool:
        meta = new.metadata
        return meta.namespace == pod.namespace and meta.name in self._claims(pod)

    def _claims(self, pod: PodInfo) -> set[str]:
        volumes = self.volumes.of(pod).volumes
        sources = (volume.persistent_volume_claim for volume in volumes)
        return {source.claim_name for source in sources if source is not None}


def noted(state: CycleState) -> Restricted:
    return state.read(PRE_FILTER)  # type: ignore[return-value]
