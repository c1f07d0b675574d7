"""VolumeZone: a pod goes to the zones and regions that the labels of its volumes name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fairlead.cluster.changes import Aspect
from fairlead.cluster.columns import Mask
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import NOTHING, Depends
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.selecting import among
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Code, Status, unresolvable
from fairlead.model.csi_migration import OLD_REGION, OLD_ZONE, REGION, ZONE, ZONE_DELIMITER
from fairlead.model.podinfo import PodInfo
from fairlead.model.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from fairlead.queue.events import (
    ADD,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    UPDATE,
    ActionType,
    ClusterEvent,
    Registration,
)

REASON = "node(s) had no available volume zone"
REFUSAL = unresolvable(REASON)
PRE_FILTER = "PreFilterVolumeZone"
KEYS = (OLD_ZONE, OLD_REGION, ZONE, REGION)


class Place(NamedTuple):
    """The values of a label from which a volume can be reached."""

    key: str
    values: frozenset[str]

    @property
    def newer_key(self) -> str:
        """The label that takes the place of one of old."""
        return {OLD_ZONE: ZONE, OLD_REGION: REGION}.get(self.key, self.key)

    def has(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        return (labels.get(self.newer_key) if value is None else value) in self.values


class VolumeZone:
    name = "VolumeZone"
    depends = Depends(Aspect.LABELS)

    def __init__(self, args: object, handle: Handle) -> None:
        self.objects = handle.objects
        self.volumes = handle.volumes

    def events_to_register(self) -> Sequence[Registration]:
        return (
            (ClusterEvent(STORAGE_CLASS, ADD), after_class),
            (ClusterEvent(NODE, ADD | ActionType.UPDATE_NODE_LABEL), None),
            (ClusterEvent(PERSISTENT_VOLUME_CLAIM, ADD | UPDATE), self.after_claim),
            (ClusterEvent(PERSISTENT_VOLUME, ADD | UPDATE), after_volume),
        )

    def reads(self, pod: PodInfo) -> object:
        return self.places(pod) if pod.volumes else NOTHING

    def places(self, pod: PodInfo) -> tuple[Place, ...] | str:
        """Where the pod's volumes are, or why that is not known."""
        found: list[Place] = []
        for name in self._claims(pod):
            if not name:
                return "PersistentVolumeClaim had no name"
            claim = self.objects.get("PersistentVolumeClaim", pod.namespace, name)
            if not isinstance(claim, PersistentVolumeClaim):
                return f'persistentvolumeclaim "{name}" not found'
            volume_name = claim.spec.volume_name
            if not volume_name:
                reason = self._unbound(claim)
                if reason:
                    return reason
                continue
            volume = self.objects.get("PersistentVolume", "", volume_name)
            if not isinstance(volume, PersistentVolume):
                return f'persistentvolume "{volume_name}" not found'
            found += places_of(volume)
        return tuple(found)

    def _unbound(self, claim: PersistentVolumeClaim) -> str:
        """What stands against a claim without a volume; nothing if it may wait for the pod."""
        name = claim.storage_class
        if not name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        found = self.objects.get("StorageClass", "", name)
        if not isinstance(found, StorageClass):
            return f'storageclass.storage.k8s.io "{name}" not found'
        if found.volume_binding_mode is None:
            return f'VolumeBindingMode not set for StorageClass "{name}"'
        if found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return ""
        return "PersistentVolume had no name"

    def pre_filter(self, pod: PodInfo, state: CycleState) -> PreFilterResult | Status | None:
        if not pod.volumes:
            return SKIP
        places = self.places(pod)
        if isinstance(places, str):
            return unresolvable(places)
        if not places:
            return SKIP
        state.write(PRE_FILTER, places)
        return None

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        places = self._noted(pod, state)
        if isinstance(places, str):
            return unresolvable(places)
        labels = node.labels
        if all(key not in labels for key in KEYS) or all(place.has(labels) for place in places):
            return None
        return REFUSAL

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        places = self._noted(pod, state)
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        if isinstance(places, str):
            return nodes.reject(np.ones(nodes.size, np.bool_), places, code=code)
        somewhere = np.zeros(nodes.size, np.bool_)
        for key in KEYS:
            somewhere |= nodes.label(key)[1] != 0
        inside = np.ones(nodes.size, np.bool_)
        for place in places:
            inside &= having_place(nodes, place)
        return nodes.reject(somewhere & ~inside, REASON, code=code)

    def after_claim(
        self, pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
    ) -> bool:
        """The claim is one that the pod names; that of an ephemeral volume is not."""
        return new.metadata.namespace == pod.namespace and new.metadata.name in self._claims(pod)

    def _noted(self, pod: PodInfo, state: CycleState) -> tuple[Place, ...] | str:
        if PRE_FILTER in state:
            return state.read(PRE_FILTER)  # type: ignore[return-value]
        return self.places(pod) if pod.volumes else ()

    def _claims(self, pod: PodInfo) -> list[str]:
        sources = (volume.persistent_volume_claim for volume in self.volumes.of(pod).volumes)
        return [source.claim_name for source in sources if source is not None]


def places_of(volume: PersistentVolume) -> Iterator[Place]:
    """What the labels of a volume say; one with an empty part says nothing."""
    for key in KEYS:
        value = volume.metadata.labels.get(key)
        if value is not None:
            parts = [part.strip() for part in value.split(ZONE_DELIMITER)]
            if all(parts):
                yield Place(key, frozenset(parts))


def having_place(nodes: NodeSet, place: Place) -> Mask:
    values, ids = nodes.label(place.key)
    inside = among(ids, [number for v in place.values if (number := values.get(v))])
    if place.newer_key == place.key:
        return inside
    values, newer = nodes.label(place.newer_key)
    wanted = [number for v in place.values if (number := values.get(v))]
    return inside | ((ids == 0) & among(newer, wanted))


def after_class(pod: PodInfo, old: StorageClass | None, new: StorageClass) -> bool:
    """Only a class that waits for the first consumer lets a claim be without a volume."""
    return new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def after_volume(pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume) -> bool:
    return old is None or list(places_of(old)) != list(places_of(new))
