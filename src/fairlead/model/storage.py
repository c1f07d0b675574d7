"""Volumes, claims, classes and drivers, as far as a scheduler reads them."""

from msgspec import Struct

from fairlead.model.meta import Int32, ObjectMeta
from fairlead.model.quantities import Texts
from fairlead.model.selector import LabelSelector, NodeSelector
from fairlead.model.volume_source import (
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    Cinder,
    CSISource,
    GCEPersistentDisk,
    PortworxVolume,
    VsphereVolume,
)

BOUND_COMPLETELY = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"


class ClaimReference(Struct, rename="camel", frozen=True, gc=False):
    """The claim that a volume is bound to, or kept for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Struct, frozen=True, gc=False):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Struct, rename="camel", frozen=True, gc=False):
    """The volume itself, and where it comes from if that is a sort that a scheduler knows."""

    capacity: Texts = {}
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSISource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: VsphereVolume | None = None


class Phase(Struct, frozen=True, gc=False):
    """The phase that a controller has put an object in."""

    phase: str = ""


class PersistentVolume(Struct, frozen=True, gc=False):
    """A piece of storage in the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: Phase = Phase()

    @property
    def storage_class(self) -> str:
        """The name of its class; the annotation of old has the first word."""
        named = self.metadata.annotations.get(CLASS_ANNOTATION)
        return self.spec.storage_class_name if named is None else named

    def bound_to(self, claim: "PersistentVolumeClaim") -> bool:
        """Whether it is kept for this claim: by name, and by uid if it names one."""
        ref, meta = self.spec.claim_ref, claim.metadata
        return (
            ref is not None
            and (ref.namespace, ref.name) == (meta.namespace, meta.name)
            and ref.uid in ("", meta.uid)
        )


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

    @property
    def storage_class(self) -> str:
        """The name of the class that it asks for; "" if it asks for none."""
        named = self.metadata.annotations.get(CLASS_ANNOTATION)
        return (self.spec.storage_class_name or "") if named is None else named

    @property
    def is_bound(self) -> bool:
        """Whether it has a volume and the controller has said so."""
        return bool(self.spec.volume_name) and BOUND_COMPLETELY in self.metadata.annotations


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


class VolumeAttachmentSource(Struct, rename="camel", frozen=True, gc=False):
    """The volume that is attached; None for one that no PersistentVolume stands for."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct, rename="camel", frozen=True, gc=False):
    """Which volume a driver is to attach, and where."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Struct, frozen=True, gc=False):
    """A volume that is attached to a node, or about to be."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
