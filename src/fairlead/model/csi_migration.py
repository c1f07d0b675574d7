"""Volumes of the kinds that were once built in, as the CSI drivers see them that took their place.

Only five kinds count as moved: for the others the API server's objects are read as they are.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import structs

from fairlead.model.selector import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from fairlead.model.storage import PersistentVolume
from fairlead.model.volume_source import (
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    Cinder,
    GCEPersistentDisk,
    PortworxVolume,
    VsphereVolume,
)

AWS, GCE = "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"
AZURE_DISK, AZURE_FILE = "kubernetes.io/azure-disk", "kubernetes.io/azure-file"
CINDER, PORTWORX = "kubernetes.io/cinder", "kubernetes.io/portworx-volume"
VSPHERE = "kubernetes.io/vsphere-volume"

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"
ZONE_DELIMITER = "__"
UNSPECIFIED = "UNSPECIFIED"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

DRIVERS: Mapping[str, str] = MappingProxyType(
    {
        AWS: "ebs.csi.aws.com",
        GCE: "pd.csi.storage.gke.io",
        AZURE_DISK: "disk.csi.azure.com",
        AZURE_FILE: "file.csi.azure.com",
        CINDER: "cinder.csi.openstack.org",
        PORTWORX: "pxd.portworx.com",
        VSPHERE: "csi.vsphere.vmware.com",
    }
)
"""Each kind's name as it is built in, and the driver that took its place."""

MOVED = frozenset({AWS, GCE, AZURE_DISK, CINDER, PORTWORX})
"""The kinds whose move is behind us; the others are not translated."""

TOPOLOGY_KEYS: Mapping[str, str] = MappingProxyType(
    {
        AWS: "topology.ebs.csi.aws.com/zone",
        GCE: "topology.gke.io/zone",
        CINDER: "topology.cinder.csi.openstack.org/zone",
    }
)
"""The label by which a driver knows zones, where it has one of its own."""

_EBS_ID = re.compile(r"vol-[^/]*")


class TranslationError(ValueError):
    """Why a volume has no equivalent, in kube-scheduler's words."""


class Sources(Protocol):
    """What volumes of pods and PersistentVolumes have in common."""

    @property
    def gce_persistent_disk(self) -> GCEPersistentDisk | None: ...
    @property
    def aws_elastic_block_store(self) -> AWSElasticBlockStore | None: ...
    @property
    def azure_disk(self) -> AzureDisk | None: ...
    @property
    def azure_file(self) -> AzureFile | None: ...
    @property
    def cinder(self) -> Cinder | None: ...
    @property
    def portworx_volume(self) -> PortworxVolume | None: ...
    @property
    def vsphere_volume(self) -> VsphereVolume | None: ...


def in_tree_plugin(volume: Sources) -> str:
    """The kind that a volume has of those once built in; "" if none."""
    kinds = (
        (AWS, volume.aws_elastic_block_store),
        (GCE, volume.gce_persistent_disk),
        (AZURE_DISK, volume.azure_disk),
        (AZURE_FILE, volume.azure_file),
        (CINDER, volume.cinder),
        (PORTWORX, volume.portworx_volume),
        (VSPHERE, volume.vsphere_volume),
    )
    return next((plugin for plugin, source in kinds if source is not None), "")


def handle_of(volume: Sources, zones: tuple[str, ...] = ()) -> str:
    """The driver's name for a volume of a kind that has moved.

    Google's disks have their zones in it. Raises TranslationError.
    """
    if (ebs := volume.aws_elastic_block_store) is not None:
        return _ebs_id(ebs.volume_id)
    if (gce := volume.gce_persistent_disk) is not None:
        return _gce_id(gce.pd_name, zones)
    if (azure := volume.azure_disk) is not None:
        if azure.kind is not None and azure.kind.lower() != "managed":
            raise TranslationError(f"kind({azure.kind}) is not supported in csi migration")
        return azure.disk_uri
    if (cinder := volume.cinder) is not None:
        return cinder.volume_id
    assert volume.portworx_volume is not None, "asked about a kind that has not moved"
    return volume.portworx_volume.volume_id


def zones_of(volume: PersistentVolume) -> tuple[str, ...]:
    """The zones that the labels of a volume name; the label of old has the first word."""
    labels = volume.metadata.labels
    label = labels.get(OLD_ZONE) or labels.get(ZONE) or ""
    return tuple(label.split(ZONE_DELIMITER)) if label else ()


def translated_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """The nodes that reach a volume of a kind that has moved, in its driver's own labels.

    Raises TranslationError if the volume has no equivalent.
    """
    handle_of(volume.spec, zones_of(volume))
    affinity = volume.spec.node_affinity
    selector = None if affinity is None else affinity.required
    key = TOPOLOGY_KEYS.get(in_tree_plugin(volume.spec))
    if key is None:
        return selector
    terms = () if selector is None else selector.node_selector_terms
    labels = volume.metadata.labels
    zone, region = _zone_and_region(terms, labels)
    if _values(terms, zone):
        selector = _renamed(selector, zone, key)
    elif zone in labels:
        selector = _with_zones(selector, key, labels[zone].split(ZONE_DELIMITER))
    if region == OLD_REGION and _values(terms, region):
        selector = _renamed(selector, region, REGION)
    return selector


def _ebs_id(given: str) -> str:
    """`aws://zone/vol-1`, `aws:///vol-1` or the id itself."""
    if not given.startswith("aws://"):
        return given
    found = urlsplit(given).path.strip("/")
    if _EBS_ID.fullmatch(found) is None:
        raise TranslationError(
            "failed to translate Kubernetes ID to EBS Volume ID"
            f" Invalid format for AWS volume ({given})"
        )
    return found


def _gce_id(name: str, zones: tuple[str, ...]) -> str:
    if len(zones) <= 1:
        zone = zones[0] if zones else UNSPECIFIED
        return f"projects/{UNSPECIFIED}/zones/{zone}/disks/{name}"
    for zone in zones:
        if zone.count("-") != 2:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, expected:"
                f" {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
    regions = sorted({zone.rpartition("-")[0] for zone in zones})
    if len(regions) != 1:
        found = " ".join(f"{region}:{{}}" for region in regions)
        raise TranslationError(
            "failed to get region from zones: multiple or no regions gotten from zones,"
            f" got: map[{found}]"
        )
    return f"projects/{UNSPECIFIED}/regions/{regions[0]}/disks/{name}"


def _zone_and_region(
    terms: tuple[NodeSelectorTerm, ...], labels: dict[str, str]
) -> tuple[str, str]:
    """The generation of labels that a volume speaks: what its affinity names, then its labels."""
    keys = {demand.key for term in terms for demand in term.match_expressions}
    for known in (keys, labels):
        if ZONE in known:
            return ZONE, REGION
        if OLD_ZONE in known:
            return OLD_ZONE, OLD_REGION
    return ZONE, REGION


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> list[str]:
    demands = (demand for term in terms for demand in term.match_expressions)
    return [value for demand in demands if demand.key == key for value in demand.values]


def _renamed(selector: NodeSelector | None, old: str, new: str) -> NodeSelector:
    assert selector is not None, "its terms have the label"

    def renamed(demand: NodeSelectorRequirement) -> NodeSelectorRequirement:
        return structs.replace(demand, key=new) if demand.key == old else demand

    return NodeSelector(
        tuple(
            structs.replace(term, match_expressions=tuple(map(renamed, term.match_expressions)))
            for term in selector.node_selector_terms
        )
    )


def _with_zones(selector: NodeSelector | None, key: str, zones: list[str]) -> NodeSelector | None:
    """Every term with the zones as one more demand; without a valid zone as it was."""
    valid = sorted({zone.strip() for zone in zones} - {""})
    if not valid:
        return selector
    terms = () if selector is None else selector.node_selector_terms
    demand = NodeSelectorRequirement(key, "In", tuple(valid))
    return NodeSelector(
        tuple(
            structs.replace(term, match_expressions=(*term.match_expressions, demand))
            for term in terms or (NodeSelectorTerm(),)
        )
    )
