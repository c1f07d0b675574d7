"""What the real server would refuse of a new or changed object, in its words."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.lab.constraints import EFFECTS
from fairlead.lab.eventrules import event_change_errors, event_errors
from fairlead.lab.naming import key_errors, label_errors, name_errors
from fairlead.lab.objects import Object, nested
from fairlead.lab.podspec import pod_spec_errors, pod_update_errors
from fairlead.lab.resources import Resource
from fairlead.lab.status import (
    FieldError,
    forbidden_field,
    invalid_value,
    required,
    unsupported,
)
from fairlead.lab.storagerules import claim_errors, class_errors, csi_node_errors, volume_errors
from fairlead.lab.workloadrules import budget_errors, job_errors, replica_errors

OWNER_PARTS = {
    "apiVersion": "version must not be empty",
    "kind": "must not be empty",
    "name": "must not be empty",
    "uid": "must not be empty",
}
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
LABEL_NAMED = ("namespaces", "services")


def created(resource: Resource, value: Object) -> list[FieldError]:
    """What is wrong with a new object."""
    if resource.stored_as == "events":
        return [*metadata_errors(resource, value["metadata"]), *event_errors(resource, value)]
    return [*metadata_errors(resource, value["metadata"]), *_kind_errors(resource, value)]


def updated(resource: Resource, value: Object, old: Object, subresource: str) -> list[FieldError]:
    """What is wrong with a changed object."""
    errors = metadata_errors(resource, value["metadata"])
    errors += _finalizer_errors(value["metadata"], old["metadata"])
    if subresource:
        return errors
    if resource.stored_as == "events":
        return errors + event_change_errors(resource, value, old)
    if resource.stored_as == "pods":
        return errors + pod_update_errors(value["spec"], old["spec"])
    errors += _kind_errors(resource, value)
    change = CHANGES.get(resource.stored_as)
    return errors if change is None else errors + change(value, old)


def metadata_errors(resource: Resource, metadata: Object) -> list[FieldError]:
    """Name, labels, annotations and owners."""
    name: str = metadata.get("name", "")
    errors: list[FieldError] = []
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        label = resource.stored_as in LABEL_NAMED
        errors += name_errors("metadata.name", name, label)
    errors += label_errors("metadata.labels", metadata.get("labels") or {})
    for key in metadata.get("annotations") or {}:
        errors += key_errors("metadata.annotations", key.lower())
    for owner in metadata.get("ownerReferences") or []:
        for part, words in OWNER_PARTS.items():
            if not owner.get(part):
                errors.append(invalid_value(f"metadata.ownerReferences.{part}", "", words))
    for index, finalizer in enumerate(metadata.get("finalizers") or []):
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            words = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid_value(f"metadata.finalizers[{index}]", finalizer, words))
    return errors


def _finalizer_errors(metadata: Object, old: Object) -> list[FieldError]:
    if "deletionTimestamp" not in old:
        return []
    new = [each for each in metadata.get("finalizers", ()) if each not in old.get("finalizers", ())]
    if not new:
        return []
    listed = ", ".join(f'"{each}"' for each in new)
    return [
        forbidden_field(
            "metadata.finalizers",
            "no new finalizers can be added if the object is being deleted, found new finalizers "
            f"[]string{{{listed}}}",
        )
    ]


def _kind_errors(resource: Resource, value: Object) -> list[FieldError]:
    check = CHECKS.get(resource.stored_as)
    return [] if check is None else check(value)


Check = Callable[[Object], list[FieldError]]


def _pod(value: Object) -> list[FieldError]:
    errors = pod_spec_errors(value["spec"], "spec")
    if value["spec"].get("schedulingGates") and value["spec"].get("nodeName"):
        errors.append(
            forbidden_field(
                "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
            )
        )
    return errors


def _node(value: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(nested(value, "spec", "taints", default=[])):
        field = f"metadata.taints[{index}]"
        key: str = taint.get("key", "")
        errors += (
            key_errors(f"{field}.key", key)
            if key
            else [invalid_value(f"{field}.key", key, "name part must be non-empty")]
        )
        effect = taint.get("effect", "")
        if not effect:
            errors.append(required(f"{field}.effect"))
        elif effect not in EFFECTS:
            errors.append(unsupported(f"{field}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            errors.append(_twice(taint, field))
        seen.add((key, effect))
    return errors


def _twice(taint: Object, field: str) -> FieldError:
    shown = {name: taint.get(name.lower(), "") for name in ("Key", "Value", "Effect")}
    words = "taints must be unique by key and effect pair"
    return FieldError("Duplicate value", field, shown | {"TimeAdded": None}, words)


def _priority_class(value: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    name: str = value["metadata"].get("name", "")
    if name.startswith("system-"):
        if name not in ("system-cluster-critical", "system-node-critical"):
            errors.append(
                forbidden_field(
                    "metadata.name",
                    "priority class names with 'system-' prefix are reserved for system use only. "
                    "error: " + f"{name} is not a known system priority class",
                )
            )
    elif value.get("value", 0) > 1_000_000_000:
        errors.append(
            forbidden_field(
                "value", "maximum allowed value of a user defined priority is 1000000000"
            )
        )
    return errors


def _priority_class_change(value: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    if value.get("value") != old.get("value"):
        errors.append(forbidden_field("value", "may not be changed in an update."))
    if value.get("preemptionPolicy") != old.get("preemptionPolicy"):
        errors.append(
            invalid_value("preemptionPolicy", value.get("preemptionPolicy"), "field is immutable")
        )
    return errors


def _runtime_class(value: Object) -> list[FieldError]:
    handler: str = value.get("handler", "")
    return name_errors("handler", handler, label=True) if handler else [required("handler")]


def _service(value: Object) -> list[FieldError]:
    spec: Object = value["spec"]
    if spec.get("ports") or spec.get("clusterIP") == "None" or spec["type"] == "ExternalName":
        return []
    return [required("spec.ports")]


def _node_change(value: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    spec, held = value.get("spec") or {}, old.get("spec") or {}
    if held.get("podCIDR") and spec.get("podCIDR") != held["podCIDR"]:
        words = 'node updates may not change podCIDR except from "" to valid'
        errors.append(forbidden_field("spec.podCIDRs", words))
    if held.get("providerID") and spec.get("providerID") != held["providerID"]:
        words = 'node updates may not change providerID except from "" to valid'
        errors.append(forbidden_field("spec.providerID", words))
    return errors


def _selector_change(value: Object, old: Object) -> list[FieldError]:
    if value["spec"].get("selector") != old["spec"].get("selector"):
        return [invalid_value("spec.selector", value["spec"].get("selector"), "field is immutable")]
    return []


def _lease(value: Object) -> list[FieldError]:
    spec: Object = value.get("spec") or {}
    errors: list[FieldError] = []
    if spec.get("leaseDurationSeconds", 1) <= 0:
        field = "spec.leaseDurationSeconds"
        errors.append(invalid_value(field, spec["leaseDurationSeconds"], "must be greater than 0"))
    if spec.get("leaseTransitions", 0) < 0:
        errors.append(
            invalid_value(
                "spec.leaseTransitions",
                spec["leaseTransitions"],
                "must be greater than or equal to 0",
            )
        )
    return errors


CHECKS: dict[str, Check] = {
    "pods": _pod,
    "nodes": _node,
    "leases.coordination.k8s.io": _lease,
    "replicationcontrollers": replica_errors,
    "replicasets.apps": replica_errors,
    "deployments.apps": replica_errors,
    "statefulsets.apps": replica_errors,
    "jobs.batch": job_errors,
    "poddisruptionbudgets.policy": budget_errors,
    "persistentvolumeclaims": claim_errors,
    "persistentvolumes": volume_errors,
    "storageclasses.storage.k8s.io": class_errors,
    "csinodes.storage.k8s.io": csi_node_errors,
    "services": _service,
    "runtimeclasses.node.k8s.io": _runtime_class,
    "priorityclasses.scheduling.k8s.io": _priority_class,
}
CHANGES: dict[str, Callable[[Object, Object], list[FieldError]]] = {
    "nodes": _node_change,
    "priorityclasses.scheduling.k8s.io": _priority_class_change,
    "replicasets.apps": _selector_change,
    "deployments.apps": _selector_change,
    "jobs.batch": _selector_change,
}
