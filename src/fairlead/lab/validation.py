"""What the real server would refuse of a new or changed object, in its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

OWNER_PARTS = {
    "apiVersion": "version must not be empty",
    "kind": "must not be empty",
    "name": "must not be empty",
    "uid": "must not be empty",
}
UNSELECTED = "`selector` does not match template `labels`"
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


def _templated(value: Object) -> list[FieldError]:
    spec: Object = value["spec"]
    errors: list[FieldError] = []
    labels: dict[str, str] = nested(spec, "template", "metadata", "labels", default={})
    selector: Any = spec.get("selector")
    if selector is None:
        errors.append(required("spec.selector"))
        errors.append(invalid_value("spec.template.metadata.labels", labels, UNSELECTED))
    elif "matchLabels" in selector or "matchExpressions" in selector:
        wanted: dict[str, str] = selector.get("matchLabels") or {}
        if any(labels.get(key) != each for key, each in wanted.items()):
            errors.append(
                invalid_value(
                    "spec.template.metadata.labels",
                    labels,
                    UNSELECTED,
                )
            )
    errors += label_errors("spec.template.labels", labels)
    return errors + pod_spec_errors(spec["template"]["spec"], "spec.template.spec")


def _always_restarts(value: Object) -> list[FieldError]:
    errors = _templated(value)
    policy = value["spec"]["template"]["spec"].get("restartPolicy")
    if policy != "Always":
        errors.append(unsupported("spec.template.spec.restartPolicy", policy, ["Always"]))
    if value["spec"].get("replicas", 0) < 0:
        errors.append(
            invalid_value(
                "spec.replicas", value["spec"]["replicas"], "must be greater than or equal to 0"
            )
        )
    return errors


def _job(value: Object) -> list[FieldError]:
    errors = _templated(value)
    policy = value["spec"]["template"]["spec"].get("restartPolicy")
    if policy not in ("Never", "OnFailure"):
        errors.append(
            required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
        )
    return errors


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
    "replicationcontrollers": _always_restarts,
    "replicasets.apps": _always_restarts,
    "deployments.apps": _always_restarts,
    "statefulsets.apps": _always_restarts,
    "jobs.batch": _job,
    "priorityclasses.scheduling.k8s.io": _priority_class,
}
CHANGES: dict[str, Callable[[Object, Object], list[FieldError]]] = {
    "priorityclasses.scheduling.k8s.io": _priority_class_change,
    "replicasets.apps": _selector_change,
    "deployments.apps": _selector_change,
    "jobs.batch": _selector_change,
}
