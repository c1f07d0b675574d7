"""The storage of the cluster: claims and volumes with what is assumed of them, volumes by class.

Reads: PersistentVolumes, claims, CSIStorageCapacities. Writes: its index, assumptions, and how a
change is told: a volume that only few nodes reach marks STORAGE on their rows, any other one is a
new version of its class.
"""

from collections.abc import Hashable, Mapping
from typing import Protocol

from fairlead.cluster.assumed import Assumed
from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.labels import LabelColumn
from fairlead.cluster.objects import Objects
from fairlead.cluster.volume_classes import Candidate, VolumeClass
from fairlead.model.errors import DecodeError
from fairlead.model.quantity import Quantity, parse_quantity
from fairlead.model.selector import Selector, compile_label_selector
from fairlead.model.storage import (
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
)

FEW_ROWS = 16
"""A volume that so many nodes reach concerns these alone."""


def volumes_of(storage_class: str) -> Hashable:
    """The fact of which volumes of a class can be had, as far as many nodes reach them."""
    return "volumes of class", storage_class


def capacity_of(storage_class: str) -> Hashable:
    """The fact of how much storage of a class can still be made, and where."""
    return "capacity of class", storage_class


class Nodes(Protocol):
    """What is read of the node table."""

    @property
    def changes(self) -> Changes: ...
    def label(self, key: str) -> LabelColumn: ...


class Capacity:
    """What a driver can still make for a class on the nodes that a selector matches."""

    __slots__ = ("largest", "left", "nodes")

    def __init__(self, given: CSIStorageCapacity) -> None:
        left, largest = amount(given.capacity), amount(given.maximum_volume_size)
        self.left = 0 if left is None else left.value()
        limit = largest or left
        self.largest = None if limit is None else limit.value()
        """The largest volume that can be made; None if nothing is known, which is as good as 0."""
        self.nodes: Selector | None = None
        if given.node_topology is not None:
            try:
                self.nodes = compile_label_selector(given.node_topology)
            except DecodeError:
                self.nodes = None  # told in the log by kube-scheduler, and no node has access

    def holds(self, size: int) -> bool:
        """Whether a volume of so many bytes can be made."""
        return self.largest is not None and self.largest >= size

    def reached(self, labels: Mapping[str, str]) -> bool:
        return self.nodes is not None and self.nodes.matches(labels)


class Storage:
    """Claims, volumes by class, capacities by class."""

    def __init__(self, nodes: Nodes, objects: Objects) -> None:
        self._nodes = nodes
        self._objects = objects
        self._changes = nodes.changes
        self.claims: Assumed[PersistentVolumeClaim] = Assumed(
            "PersistentVolumeClaim", objects, nodes.changes
        )
        self.volumes: Assumed[PersistentVolume] = Assumed(
            "PersistentVolume", objects, nodes.changes
        )
        self._classes: dict[str, VolumeClass] = {}
        self._capacities: dict[str, dict[tuple[str, str], Capacity]] = {}
        objects.listen("PersistentVolumeClaim", self._claim_changed)
        objects.listen("PersistentVolume", self._volume_changed)
        objects.listen("CSIStorageCapacity", self._capacity_changed)

    def volume_class(self, name: str) -> VolumeClass | None:
        """The volumes of a class; None if there are none."""
        return self._classes.get(name)

    def capacities(self, storage_class: str) -> list[Capacity]:
        """What can still be made for a class, in the order of names."""
        known = self._capacities.get(storage_class, {})
        return [known[key] for key in sorted(known)]

    def assume_volume(self, volume: PersistentVolume) -> None:
        """Raises OutOfSync."""
        before = self.volumes.get("", volume.metadata.name)
        self.volumes.assume(volume)
        self._reindex(before, volume)

    def restore_volume(self, volume: PersistentVolume) -> None:
        before = self.volumes.restore(volume)
        if before is not None:
            self._reindex(before, self.volumes.told("", volume.metadata.name))

    def _claim_changed(
        self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
    ) -> None:
        claim = new or old
        assert claim is not None, "a change is of something"
        self.claims.expire(claim.metadata.namespace, claim.metadata.name)

    def _volume_changed(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        changed = new or old
        assert changed is not None, "a change is of something"
        name = changed.metadata.name
        before = self.volumes.expire("", name) or old
        now = self.volumes.get("", name)
        if now is not None and now is not new:
            return  # a repetition of the version that is assumed
        self._reindex(before, now)

    def _reindex(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        """Whoever looks for a volume finds the new version, and hears of it if it may be had."""
        told = old is None or new is None or read_of(old) != read_of(new)
        for volume in (old, new):
            if volume is None:
                continue
            name = volume.storage_class
            of_class = self._classes.get(name)
            if of_class is None:
                of_class = self._classes[name] = VolumeClass(name)
            if volume is old:
                candidate = of_class.remove(volume.metadata.name)
                if not of_class:
                    del self._classes[name]
            else:
                candidate = of_class.add(Candidate(volume))
            if told and candidate.is_free:
                self._tell(name, candidate)

    def _tell(self, of_class: str, candidate: Candidate) -> None:
        rows = self._few_rows(candidate)
        if rows is None:
            self._changes.touch(volumes_of(of_class))
            return
        for row in rows:
            self._changes.mark(Aspect.STORAGE, row)

    def _few_rows(self, candidate: Candidate) -> list[int] | None:
        """The rows that reach the volume, if they are few; a row that comes to is marked then."""
        rows: list[int] = []
        for key, value in candidate.anchors or ():
            column = self._nodes.label(key)
            number = column.values.get(value)
            if number is not None:
                rows += (column.ids == number).nonzero()[0].tolist()
        return rows if candidate.anchors is not None and len(rows) <= FEW_ROWS else None

    def _capacity_changed(
        self, old: CSIStorageCapacity | None, new: CSIStorageCapacity | None
    ) -> None:
        for given, known in ((old, False), (new, True)):
            if given is None:
                continue
            key = given.metadata.namespace, given.metadata.name
            of_class = self._capacities.setdefault(given.storage_class_name, {})
            if known:
                of_class[key] = Capacity(given)
            else:
                of_class.pop(key, None)
                if not of_class:
                    del self._capacities[given.storage_class_name]
            self._changes.touch(capacity_of(given.storage_class_name))


def amount(text: str | int | float | None) -> Quantity | None:
    """A quantity that may be absent; one that cannot be read counts as absent."""
    if text is None:
        return None
    try:
        return parse_quantity(text.strip() if isinstance(text, str) else text)
    except DecodeError:
        return None


def read_of(volume: PersistentVolume) -> object:
    """What of a volume decides who may have it."""
    meta = volume.metadata
    return volume.spec, volume.status, meta.labels, meta.deletion_timestamp, volume.storage_class
