"""What is wrong with storage objects: claims, volumes, classes, what nodes say of their drivers."""

from __future__ import annotations

from fairlead.lab.objects import Object, nested
from fairlead.lab.status import FieldError, required, unsupported

MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
BINDING_MODES = ["Immediate", "WaitForFirstConsumer"]
RECLAIM_POLICIES = ["Delete", "Retain"]
NO_SOURCE = (
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
)


def claim_errors(claim: Object) -> list[FieldError]:
    """A PersistentVolumeClaim needs a way of access and a size."""
    spec: Object = claim["spec"]
    errors = _modes(spec, "at least 1 access mode is required")
    if not nested(spec, "resources", "requests", "storage"):
        errors.append(required("spec.resources[storage]"))
    return errors


def _modes(spec: Object, words: str) -> list[FieldError]:
    modes: list[str] = spec.get("accessModes") or []
    if not modes:
        return [required("spec.accessModes", words)]
    return [unsupported("spec.accessModes", each, MODES) for each in modes if each not in MODES]


def volume_errors(volume: Object) -> list[FieldError]:
    """A PersistentVolume needs a way of access, a size, and something behind it."""
    spec: Object = volume["spec"]
    errors = _modes(spec, "")
    capacity: dict[str, str] = spec.get("capacity") or {}
    if not capacity:
        errors.append(required("spec.capacity"))
    if set(capacity) != {"storage"}:
        errors.append(unsupported("spec.capacity", capacity or None, ["storage"]))
    if not set(spec) - set(NO_SOURCE):
        errors.append(required("spec", "must specify a volume type"))
    return errors


def class_errors(value: Object) -> list[FieldError]:
    """A StorageClass needs a provisioner and known ways to bind and reclaim."""
    errors: list[FieldError] = []
    if not value.get("provisioner"):
        errors.append(required("provisioner"))
    for field, known in (("reclaimPolicy", RECLAIM_POLICIES), ("volumeBindingMode", BINDING_MODES)):
        if value.get(field) not in known:
            errors.append(unsupported(field, value.get(field), known))
    return errors


def csi_node_errors(value: Object) -> list[FieldError]:
    """A CSINode names each driver and the node's id there."""
    errors: list[FieldError] = []
    for index, driver in enumerate(nested(value, "spec", "drivers", default=[])):
        missing = [part for part in ("name", "nodeID") if not driver.get(part)]
        errors += [required(f"spec.drivers[{index}].{part}") for part in missing]
    return errors
