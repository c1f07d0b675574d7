"""CSI volumes that are attached to nodes or about to be, counted by driver where there is a limit.

Reads: placed pods, claims, volumes, classes, VolumeAttachments, CSINodes. Writes: its counts, and
the mark of VOLUMES where an object changes what a pod's volume is.

Only rows that were marked are counted again, when somebody asks. A claim without a volume counts
under a name of its own, which no driver gives.
"""

from collections import Counter
from collections.abc import Collection
from typing import Protocol

import numpy as np

from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.columns import Columns, Int64, longer
from fairlead.cluster.csi_nodes import CSINodes, limits_of
from fairlead.cluster.nodeinfo import NodeInfo
from fairlead.cluster.objects import Objects
from fairlead.cluster.placed_volumes import Claim, PlacedVolumes
from fairlead.model.csi_migration import (
    DRIVERS,
    MOVED,
    TranslationError,
    handle_of,
    in_tree_plugin,
    zones_of,
)
from fairlead.model.pod_volumes import PodVolume, foreign
from fairlead.model.podinfo import PodInfo
from fairlead.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

Handle = tuple[str, str]
"""A driver, and its name for a volume."""


class ClaimMissing(Exception):  # noqa: N818 - what is said of the pod
    """A claim of the pod is not there (yet)."""


class VolumeFault(Exception):  # noqa: N818 - what is said of the pod
    """A volume of which one cannot say what it is."""


class Nodes(Protocol):
    """What is read of the node table."""

    @property
    def infos(self) -> list[NodeInfo | None]: ...
    @property
    def columns(self) -> Columns: ...
    @property
    def changes(self) -> Changes: ...
    @property
    def rows(self) -> dict[str, int]: ...


class AtRow:
    """What is attached to one node: the driver of each volume, how many each has."""

    __slots__ = ("counts", "fault", "volumes")

    def __init__(self) -> None:
        self.volumes: dict[Handle, str] = {}
        self.counts: Counter[str] = Counter()
        self.fault = ""
        """Why the node's volumes cannot be counted; "" if they can."""


NOTHING = AtRow()


class Attached:
    """Counts by row and driver; `where` has the rows of each volume that a pod uses."""

    def __init__(
        self, nodes: Nodes, objects: Objects, csi_nodes: CSINodes, placed: PlacedVolumes
    ) -> None:
        self._nodes = nodes
        self._objects = objects
        self._csi_nodes = csi_nodes
        self._placed = placed
        self._log = nodes.changes.logs[Aspect.VOLUMES]
        self._position = self._log.end
        self._at: dict[int, AtRow] = {}
        self._used: dict[str, Int64] = {}
        self._where: dict[Handle, set[int]] = {}
        self._faults: set[int] = set()
        self._claims_of: dict[str, set[Claim]] = {}
        self._attachments: dict[str, dict[str, VolumeAttachment]] = {}
        self._attached_to: dict[str, Counter[str]] = {}
        objects.listen("PersistentVolumeClaim", self._claim_changed)
        objects.listen("PersistentVolume", self._volume_changed)
        objects.listen("StorageClass", self._class_changed)
        objects.listen("VolumeAttachment", self._attachment_changed)

    def at(self, row: int) -> AtRow:
        """What is attached to a row; nothing if it has no limits. Call `catch_up` before."""
        return self._at.get(row, NOTHING)

    def on(self, node: NodeInfo) -> AtRow:
        """What is attached to a node as it is shown, which a trial may have changed."""
        if self._nodes.infos[node.row] is node:
            self.catch_up()
            return self.at(node.row)
        return self._attached(node)

    def used(self, driver: str) -> Int64 | None:
        """How many volumes of the driver are attached to each row; None if there are none."""
        return self._used.get(driver)

    def where(self, volume: Handle) -> Collection[int]:
        """The rows with limits where a pod uses the volume."""
        return self._where.get(volume, ())

    @property
    def faults(self) -> Collection[int]:
        """The rows whose volumes cannot be counted."""
        return self._faults

    def catch_up(self) -> None:
        """Count again what changed since the last time."""
        log = self._log
        if log.end == self._position:
            return
        rows = log.since(self._position)
        self._position = log.end
        for row in range(len(self._nodes.infos)) if rows is None else rows:
            self._count(row)

    def grow(self) -> None:
        room = self._nodes.columns.room
        for driver, used in self._used.items():
            self._used[driver] = longer(used, room)

    def volumes_of(self, pod: PodInfo, *, placed: bool, on_csi_node: bool) -> dict[Handle, str]:
        """The attachable volumes of a pod with their drivers.

        A node without a CSINode has not moved any of the old kinds. Raises ClaimMissing, unless
        the pod is placed, and VolumeFault.
        """
        found: dict[Handle, str] = {}
        for volume in self._placed.of(pod).volumes:
            claim = volume.claim_of(pod)
            if claim is None:
                handle = self._inline(volume) if on_csi_node else None
            else:
                handle = self._claimed(pod, volume, claim, placed=placed, on_csi_node=on_csi_node)
            if handle is not None:
                found[handle] = handle[0]
        return found

    def _claimed(
        self, pod: PodInfo, volume: PodVolume, name: str, *, placed: bool, on_csi_node: bool
    ) -> Handle | None:
        if not name:
            raise VolumeFault("PersistentVolumeClaim had no name")
        claim = self._claim((pod.namespace, name))
        if claim is None:
            if placed:
                return None
            key = f"{pod.namespace}/{name}"
            raise ClaimMissing(f'looking up PVC {key}: persistentvolumeclaim "{name}" not found')
        if volume.is_ephemeral and (fault := foreign(pod, claim)):
            raise VolumeFault(fault)
        return self.handle_of(claim, on_csi_node=on_csi_node)

    def _inline(self, volume: PodVolume) -> Handle | None:
        """A disk that the pod names itself, if its kind has moved to a driver."""
        plugin = in_tree_plugin(volume)
        if plugin not in MOVED:
            return None
        try:
            return DRIVERS[plugin], handle_of(volume)
        except TranslationError as problem:
            what = f"converting volume({volume.name}) from inline to csi: {problem}"
            raise VolumeFault(what) from None

    def handle_of(self, claim: PersistentVolumeClaim, *, on_csi_node: bool) -> Handle | None:
        """The volume behind a claim; a claim without one counts for the driver of its class."""
        name = claim.spec.volume_name
        volume = self._volume(name) if name else None
        if volume is None:
            return self._promised(claim, on_csi_node=on_csi_node)
        source = volume.spec.csi
        if source is not None:
            handle = source.driver, source.volume_handle
            return handle if all(handle) else None
        plugin = in_tree_plugin(volume.spec)
        if not on_csi_node or plugin not in MOVED:
            return None
        try:
            handle = handle_of(volume.spec, zones_of(volume))
        except TranslationError:
            return None
        return (DRIVERS[plugin], handle) if handle else None

    def _promised(self, claim: PersistentVolumeClaim, *, on_csi_node: bool) -> Handle | None:
        found = self._objects.get("StorageClass", "", claim.storage_class)
        if not isinstance(found, StorageClass):
            return None
        driver = found.provisioner
        if driver in DRIVERS:
            if not on_csi_node or driver not in MOVED:
                return None
            driver = DRIVERS[driver]
        meta = claim.metadata
        return (driver, f"\0{meta.namespace}/{meta.name}") if driver else None

    def _count(self, row: int) -> None:
        old = self._at.pop(row, None)
        if old is not None:
            for volume in old.volumes:
                rows = self._where[volume]
                rows.discard(row)
                if not rows:
                    del self._where[volume]
            for driver in old.counts:
                self._used[driver][row] = 0
            self._faults.discard(row)
        infos = self._nodes.infos
        info = infos[row] if row < len(infos) else None
        if info is None or not limits_of(self._csi_nodes.get(info.name)):
            return
        if info.name not in self._attachments and not any(pod.volumes for pod in info.pods):
            return
        new = self._at[row] = self._attached(info)
        for volume in new.volumes:
            self._where.setdefault(volume, set()).add(row)
        for driver, count in new.counts.items():
            if driver not in self._used:
                self._used[driver] = np.zeros(self._nodes.columns.room, np.int64)
            self._used[driver][row] = count
        if new.fault:
            self._faults.add(row)

    def _attached(self, info: NodeInfo) -> AtRow:
        found = AtRow()
        for pod in info.pods:
            if pod.volumes:
                try:
                    found.volumes |= self.volumes_of(pod, placed=True, on_csi_node=True)
                except VolumeFault as fault:
                    found.fault = str(fault)
                    return found
        found.counts.update(found.volumes.values())
        # Not what a pod of the node uses too; and each volume once, however often it is attached.
        others = self._attachments_of(info.name) - found.volumes.keys()
        found.counts.update(driver for driver, _ in others)
        return found

    def _attachments_of(self, node_name: str) -> set[Handle]:
        found: set[Handle] = set()
        for attachment in self._attachments.get(node_name, {}).values():
            spec = attachment.spec
            name = spec.source.persistent_volume_name
            volume = None if name is None else self._volume(name)
            if spec.attacher and volume is not None and volume.spec.csi is not None:
                found.add((spec.attacher, volume.spec.csi.volume_handle))
        return found

    def _claim(self, claim: Claim) -> PersistentVolumeClaim | None:
        return self._objects.get("PersistentVolumeClaim", *claim)  # type: ignore[return-value]

    def _volume(self, name: str) -> PersistentVolume | None:
        return self._objects.get("PersistentVolume", "", name)  # type: ignore[return-value]

    def _claim_changed(
        self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
    ) -> None:
        was = None if old is None else old.spec.volume_name
        now = None if new is None else new.spec.volume_name
        claim = new or old
        assert claim is not None, "a change is of something"
        key = (claim.metadata.namespace, claim.metadata.name)
        if was != now:
            if was:
                self._claims_of[was].discard(key)
                if not self._claims_of[was]:
                    del self._claims_of[was]
            if now:
                self._claims_of.setdefault(now, set()).add(key)
        if read_of(old) != read_of(new):
            self._mark_claim(key)

    def _volume_changed(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        if (
            old is not None
            and new is not None
            and old.spec == new.spec
            and old.metadata.labels == new.metadata.labels
        ):
            return
        volume = new or old
        assert volume is not None, "a change is of something"
        name = volume.metadata.name
        for key in self._claims_of.get(name, ()):
            self._mark_claim(key)
        for node_name in self._attached_to.get(name, ()):
            self._mark_node(node_name)

    def _class_changed(self, old: StorageClass | None, new: StorageClass | None) -> None:
        if old is not None and new is not None and old.provisioner == new.provisioner:
            return
        changed = new or old
        assert changed is not None, "a change is of something"
        for key in self._placed.claims():
            claim = self._claim(key)
            if claim is not None and claim.storage_class == changed.metadata.name:
                self._mark_claim(key)

    def _attachment_changed(
        self, old: VolumeAttachment | None, new: VolumeAttachment | None
    ) -> None:
        if old is not None and new is not None and old.spec == new.spec:
            return
        for attachment, times in ((old, -1), (new, 1)):
            if attachment is None:
                continue
            node_name, name = attachment.spec.node_name, attachment.metadata.name
            of_node = self._attachments.setdefault(node_name, {})
            if times > 0:
                of_node[name] = attachment
            else:
                of_node.pop(name, None)
                if not of_node:
                    del self._attachments[node_name]
            volume = attachment.spec.source.persistent_volume_name
            if volume is not None:
                nodes = self._attached_to.setdefault(volume, Counter())
                nodes[node_name] += times
                if not +nodes:
                    del self._attached_to[volume]
            self._mark_node(node_name)

    def _mark_claim(self, claim: Claim) -> None:
        for row in self._placed.rows_of(claim):
            self._nodes.changes.mark(Aspect.VOLUMES, row)

    def _mark_node(self, node_name: str) -> None:
        row = self._nodes.rows.get(node_name)
        if row is not None:
            self._nodes.changes.mark(Aspect.VOLUMES, row)


def read_of(claim: PersistentVolumeClaim | None) -> object:
    """What is read of a claim here."""
    if claim is None:
        return None
    return claim.spec.volume_name, claim.storage_class, claim.metadata.owner_references
