"""Which events may help a pod whose volumes could not be had."""

from collections.abc import Sequence

from fairlead.cluster.placed_volumes import PlacedVolumes
from fairlead.cluster.storage import Capacity
from fairlead.model.csi_migration import MIGRATED_PLUGINS
from fairlead.model.podinfo import PodInfo
from fairlead.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from fairlead.queue.events import (
    ADD,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    UPDATE,
    ActionType,
    ClusterEvent,
    Registration,
)


class Hints:
    """The hints of VolumeBinding; they know the volumes of pods."""

    def __init__(self, volumes: PlacedVolumes) -> None:
        self._volumes = volumes

    def registrations(self) -> Sequence[Registration]:
        return (
            (ClusterEvent(STORAGE_CLASS, ADD | UPDATE), after_class),
            (ClusterEvent(PERSISTENT_VOLUME_CLAIM, ADD | UPDATE), self.after_claim),
            (ClusterEvent(PERSISTENT_VOLUME, ADD | UPDATE), None),
            (ClusterEvent(NODE, ADD | ActionType.UPDATE_NODE_LABEL), None),
            (ClusterEvent(CSI_NODE, ADD | UPDATE), after_csi_node),
            (ClusterEvent(CSI_DRIVER, UPDATE), self.after_driver),
            (ClusterEvent(CSI_STORAGE_CAPACITY, ADD | UPDATE), after_capacity),
        )

    def after_claim(
        self, pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
    ) -> bool:
        meta = new.metadata
        names = (name for name, _ in self._volumes.of(pod).claims(pod))
        return meta.namespace == pod.namespace and meta.name in names

    def after_driver(self, pod: PodInfo, old: CSIDriver, new: CSIDriver) -> bool:
        """The driver of an inline volume does not care about capacity any more."""
        if not old.spec.storage_capacity or new.spec.storage_capacity:
            return False
        name = new.metadata.name
        sources = (volume.csi for volume in self._volumes.of(pod).volumes)
        return any(source is not None and source.driver == name for source in sources)


def after_class(pod: PodInfo, old: StorageClass | None, new: StorageClass) -> bool:
    return old is None or old.allowed_topologies != new.allowed_topologies


def after_csi_node(pod: PodInfo, old: CSINode | None, new: CSINode) -> bool:
    """Other kinds of volumes than before have moved to CSI on the node."""
    if old is None:
        return True
    before, now = (each.metadata.annotations.get(MIGRATED_PLUGINS, "") for each in (old, new))
    return before != now


def after_capacity(pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> bool:
    """Larger volumes can be made than before."""
    if old is None:
        return True
    before, now = Capacity(old).largest, Capacity(new).largest
    return now is not None and (before is None or now > before)
