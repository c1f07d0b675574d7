"""Volumes, claims, classes and drivers, as far as a scheduler reads them."""

from msgspec import Raw, Struct

from fairlead.model.meta import NO_BYTES, Int32, ObjectMeta
from fairlead.model.quantities import Texts
from fairlead.model.selector import LabelSelector, NodeSelector


class ClaimReference(Struct, rename="camel", frozen=True, gc=False):
    """The claim that a volume is bound to, or kept for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Struct, frozen=True, gc=False):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Struct, rename="camel", frozen=True, gc=False):
    """The volume itself; where it comes from stays bytes, because only limits ask."""

    capacity: Texts = {}
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: Raw = NO_BYTES
    gce_persistent_disk: Raw = NO_BYTES
    aws_elastic_block_store: Raw = NO_BYTES
    azure_disk: Raw = NO_BYTES
    azure_file: Raw = NO_BYTES
    cinder: Raw = NO_BYTES
    portworx_volume: Raw = NO_BYTES
    vsphere_volume: Raw = NO_BYTES


class Phase(Struct, frozen=True, gc=False):
    """The phase that a controller has put an object in."""

    phase: str = ""


class PersistentVolume(Struct, frozen=True, gc=False):
    """A piece of storage in the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: Phase = Phase()


class VolumeResources(Struct, frozen=True, gc=False):
    """How much a claim asks for."""

    requests: Texts = {}


class PersistentVolumeClaimSpec(Struct, rename="camel", frozen=True, gc=False):
    """What a claim asks for; a class that is absent is not the class named ""."""

    access_modes: tuple[str, ...] = ()
    resources: VolumeResources = VolumeResources()
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str = "Filesystem"
    volume_name: str = ""


class PersistentVolumeClaim(Struct, frozen=True, gc=False):
    """A demand for storage."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: Phase = Phase()


class TopologySelectorLabelRequirement(Struct, frozen=True, gc=False):
    """A label that a node must have, with one of these values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Struct, rename="camel", frozen=True, gc=False):
    """One alternative of where volumes of a class can be made."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(Struct, rename="camel", frozen=True, gc=False):
    """How volumes of a class come to be."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Struct, frozen=True, gc=False):
    """How many volumes of a driver a node can take; None is no limit."""

    count: Int32 | None = None


class CSINodeDriver(Struct, rename="camel", frozen=True, gc=False):
    """A driver that runs on a node."""

    name: str = ""
    allocatable: VolumeNodeResources | None = None
    topology_keys: tuple[str, ...] = ()


class CSINodeSpec(Struct, frozen=True, gc=False):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Struct, frozen=True, gc=False):
    """What a node can do with storage, under the node's own name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, rename="camel", frozen=True, gc=False):
    """What a driver asks of the scheduler."""

    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False


class CSIDriver(Struct, frozen=True, gc=False):
    """A driver of storage."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Struct, rename="camel", frozen=True, gc=False):
    """How much a driver can still make on the nodes of one topology; no topology, no nodes."""

    metadata: ObjectMeta = ObjectMeta()
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None
