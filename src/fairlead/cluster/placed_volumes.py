"""The volumes of placed pods: which disks and claims are in use, and on which rows.

Reads: placed pods. Writes: its tables, the mark of VOLUMES, and one version for each claim whose
use begins or ends.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from fairlead.cluster.changes import Aspect, Changes
from fairlead.model.pod_volumes import Disk, DiskKey, PodVolumes, PodVolumesTable
from fairlead.model.podinfo import PodInfo

Claim = tuple[str, str]
"""Namespace and name."""

Rows = Mapping[int, int]
NO_ROWS: Rows = MappingProxyType({})


def use_of(claim: Claim) -> Hashable:
    """The fact that a claim is mounted by some placed pod, or is not."""
    return "claim in use", claim


class PlacedVolumes:
    """What `place` adds, `displace` takes off: the very pod that was placed."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._table = PodVolumesTable()
        self._disks: dict[DiskKey, dict[int, list[Disk]]] = {}
        self._claims: dict[Claim, dict[int, int]] = {}
        self._mounted: dict[Claim, int] = {}

    def of(self, pod: PodInfo) -> PodVolumes:
        """The pod's volumes, decoded once for all pods that have the same."""
        return self._table.of(pod)

    def place(self, row: int, pod: PodInfo) -> None:
        volumes = self._table.of(pod)
        for disk in volumes.disks:
            self._disks.setdefault(disk.key, {}).setdefault(row, []).append(disk)
        for claim, volume in volumes.claims(pod):
            key = (pod.namespace, claim)
            rows = self._claims.setdefault(key, {})
            rows[row] = rows.get(row, 0) + 1
            if volume.persistent_volume_claim is not None:
                self._mount(key, 1)
        self._changes.mark(Aspect.VOLUMES, row)

    def displace(self, row: int, pod: PodInfo) -> None:
        volumes = self._table.of(pod)
        for disk in volumes.disks:
            by_row = self._disks[disk.key]
            by_row[row].remove(disk)
            if not by_row[row]:
                del by_row[row]
                if not by_row:
                    del self._disks[disk.key]
        for claim, volume in volumes.claims(pod):
            key = (pod.namespace, claim)
            rows = self._claims[key]
            rows[row] -= 1
            if not rows[row]:
                del rows[row]
                if not rows:
                    del self._claims[key]
            if volume.persistent_volume_claim is not None:
                self._mount(key, -1)
        self._changes.mark(Aspect.VOLUMES, row)

    def rows_of(self, claim: Claim) -> Rows:
        """The rows whose pods use the claim, ephemeral ones too, and how many times."""
        return self._claims.get(claim, NO_ROWS)

    def is_mounted(self, claim: Claim) -> bool:
        """Whether any placed pod names the claim; an ephemeral volume does not name its own."""
        return claim in self._mounted

    def claims(self) -> Iterator[Claim]:
        return iter(self._claims)

    def conflicting(self, wanted: Iterable[Disk]) -> Iterator[int]:
        """The rows where one of the disks is in use so that it cannot be had."""
        for disk in wanted:
            for row, used in self._disks.get(disk.key, {}).items():
                if any(disk.conflicts(other) for other in used):
                    yield row

    def conflicts(self, wanted: Sequence[Disk], pods: Iterable[PodInfo]) -> bool:
        """Whether one of these pods uses one of the disks so that it cannot be had."""
        return any(
            disk.conflicts(other)
            for pod in pods
            if pod.volumes
            for other in self._table.of(pod).disks
            for disk in wanted
        )

    def _mount(self, claim: Claim, times: int) -> None:
        count = self._mounted.get(claim, 0)
        left = count + times
        if left:
            self._mounted[claim] = left
        else:
            del self._mounted[claim]
        if not count or not left:
            self._changes.touch(use_of(claim))
