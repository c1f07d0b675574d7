"""The volumes of a pod, as far as a scheduler reads them, decoded once for all pods alike."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Raw, Struct

from fairlead.model.errors import DecodeError
from fairlead.model.meta import NO_BYTES
from fairlead.model.podinfo import PodInfo
from fairlead.model.reading import reader
from fairlead.model.storage import PersistentVolumeClaim
from fairlead.model.volume_source import (
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    Cinder,
    CSISource,
    GCEPersistentDisk,
    ISCSIVolume,
    PortworxVolume,
    RBDVolume,
    VsphereVolume,
)

MOST_DECODED = 20_000


class ClaimSource(Struct, rename="camel", frozen=True, gc=False):
    """The claim whose volume the pod mounts."""

    claim_name: str = ""


class PodVolume(Struct, rename="camel", frozen=True, gc=False):
    """One volume of a pod; an ephemeral one has a claim of its own, named after pod and volume."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Raw = NO_BYTES
    csi: CSISource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    iscsi: ISCSIVolume | None = None
    portworx_volume: PortworxVolume | None = None
    rbd: RBDVolume | None = None
    vsphere_volume: VsphereVolume | None = None

    @property
    def is_ephemeral(self) -> bool:
        return bytes(self.ephemeral) not in (b"", b"null")

    def claim_of(self, pod: PodInfo) -> str | None:
        """The name of the claim behind the volume; None if there is none."""
        if self.persistent_volume_claim is not None:
            return self.persistent_volume_claim.claim_name
        return f"{pod.name}-{self.name}" if self.is_ephemeral else None


class DiskKey(NamedTuple):
    """A disk that pods name themselves: what makes it the same disk."""

    kind: str
    parts: tuple[str, ...]


class Disk(NamedTuple):
    """A pod's use of such a disk."""

    key: DiskKey
    read_only: bool
    monitors: frozenset[str] = frozenset()

    def conflicts(self, other: "Disk") -> bool:
        """Whether two pods on one node cannot both use it so."""
        if self.key != other.key or (self.read_only and other.read_only):
            return False
        return self.key.kind != "rbd" or not self.monitors.isdisjoint(other.monitors)


class PodVolumes(Struct, frozen=True, gc=False):
    """The volumes of a pod in order, and the disks among them."""

    volumes: tuple[PodVolume, ...] = ()
    disks: tuple[Disk, ...] = ()
    has_claims: bool = False
    fault: str = ""
    """What is wrong with them; nothing else is known of them then."""

    def claims(self, pod: PodInfo) -> Iterator[tuple[str, PodVolume]]:
        """The name of each volume's claim with the volume, in order."""
        for volume in self.volumes:
            claim = volume.claim_of(pod)
            if claim is not None:
                yield claim, volume


NO_VOLUMES = PodVolumes()

_read = reader(tuple[PodVolume, ...], "volumes")


class PodVolumesTable:
    """Decoded volumes by their bytes, which pods of one template share unless they name claims."""

    __slots__ = ("_decoded",)

    def __init__(self) -> None:
        self._decoded: dict[bytes, PodVolumes] = {}

    def of(self, pod: PodInfo) -> PodVolumes:
        if not pod.volumes:
            return NO_VOLUMES
        found = self._decoded.get(pod.volumes)
        if found is None:
            if len(self._decoded) >= MOST_DECODED:
                self._decoded.clear()
            found = self._decoded[pod.volumes] = decoded(pod.volumes)
        return found


def decoded(data: bytes) -> PodVolumes:
    try:
        volumes = _read(data)
    except DecodeError as problem:
        return PodVolumes(fault=str(problem))
    claims = any(v.persistent_volume_claim is not None or v.is_ephemeral for v in volumes)
    return PodVolumes(volumes, tuple(disks_of(volumes)), claims)


def disks_of(volumes: tuple[PodVolume, ...]) -> Iterator[Disk]:
    """The disks that cannot be had twice on one node. Amazon's not even for reading."""
    for volume in volumes:
        if (gce := volume.gce_persistent_disk) is not None:
            yield Disk(DiskKey("gce", (gce.pd_name,)), gce.read_only)
        if (aws := volume.aws_elastic_block_store) is not None:
            yield Disk(DiskKey("aws", (aws.volume_id,)), read_only=False)
        if (iscsi := volume.iscsi) is not None:
            yield Disk(DiskKey("iscsi", (iscsi.iqn,)), iscsi.read_only)
        if (rbd := volume.rbd) is not None:
            key = DiskKey("rbd", (rbd.pool, rbd.image))
            yield Disk(key, rbd.read_only, frozenset(rbd.monitors))


def foreign(pod: PodInfo, claim: PersistentVolumeClaim) -> str:
    """What is wrong with an ephemeral volume's claim that was made for somebody else; "" if not."""
    for owner in claim.metadata.owner_references:
        if owner.controller:
            if owner.uid == pod.uid:
                return ""
            break
    meta = claim.metadata
    return f"PVC {meta.namespace}/{meta.name} was not created for pod {pod.key} (pod is not owner)"
