"""What is wrong with a pod's spec, alone, in a template, or changed."""

from __future__ import annotations

from fairlead.lab.decoding import amount
from fairlead.lab.naming import key_errors, label_errors, name_errors
from fairlead.lab.objects import Object
from fairlead.lab.status import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    unsupported,
)

POD_UPDATE_WORDS = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)
EFFECTS = ["NoExecute", "NoSchedule", "PreferNoSchedule"]


def pod_spec_errors(spec: Object, field: str) -> list[FieldError]:
    """A pod's spec, alone or in a template."""
    errors: list[FieldError] = []
    names: set[str] = set()
    if not spec.get("containers"):
        errors.append(required(f"{field}.containers"))
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or []):
            where = f"{field}.{kind}[{index}]"
            name: str = container.get("name", "")
            if name in names and name:
                errors.append(duplicate(f"{where}.name", name))
            names.add(name)
            errors += _container_errors(container, where)
    if spec.get("restartPolicy") not in ("Always", "OnFailure", "Never"):
        errors.append(
            unsupported(
                f"{field}.restartPolicy",
                spec.get("restartPolicy"),
                ["Always", "Never", "OnFailure"],
            )
        )
    for index, toleration in enumerate(spec.get("tolerations") or []):
        errors += _toleration_errors(toleration, f"{field}.tolerations[{index}]")
    errors += label_errors(f"{field}.nodeSelector", spec.get("nodeSelector") or {})
    errors += _volume_errors(spec, field)
    return errors


def _volume_errors(spec: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    volumes: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or []):
        where, name = f"{field}.volumes[{index}].name", volume.get("name", "")
        if not name:
            errors.append(required(where))
        elif name in volumes:
            errors.append(duplicate(where, name))
        volumes.add(name)
    for index, container in enumerate(spec.get("containers") or []):
        for spot, mount in enumerate(container.get("volumeMounts") or []):
            if mount.get("name") not in volumes:
                where = f"{field}.containers[{index}].volumeMounts[{spot}].name"
                errors.append(FieldError("Not found", where, mount.get("name", "")))
    return errors


def _container_errors(container: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name: str = container.get("name", "")
    if not name:
        errors.append(required(f"{field}.name"))
    else:
        errors += name_errors(f"{field}.name", name, label=True)
    if not container.get("image"):
        errors.append(required(f"{field}.image"))
    for index, port in enumerate(container.get("ports") or []):
        errors += _port_errors(port, f"{field}.ports[{index}]")
    return errors + _resource_errors(container.get("resources") or {}, f"{field}.resources")


def _port_errors(port: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not port.get("containerPort"):
        errors.append(required(f"{field}.containerPort"))
    errors += [
        invalid_value(f"{field}.{name}", port[name], "must be between 1 and 65535, inclusive")
        for name in ("containerPort", "hostPort")
        if port.get(name) and not 0 < port[name] < 65536
    ]
    if port.get("protocol") not in ("TCP", "UDP", "SCTP"):
        errors.append(
            unsupported(f"{field}.protocol", port.get("protocol"), ["SCTP", "TCP", "UDP"])
        )
    return errors


def _resource_errors(resources: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    limits: dict[str, str] = resources.get("limits") or {}
    requests: dict[str, str] = resources.get("requests") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            where = f"{field}.{part}.{name}" if "/" not in name else f"{field}.{part}[{name}]"
            if amount(text) < 0:
                errors.append(invalid_value(where, text, "must be greater than or equal to 0"))
    for name, text in requests.items():
        if name in limits and amount(text) > amount(limits[name]):
            errors.append(
                invalid_value(
                    f"{field}.requests",
                    text,
                    f"must be less than or equal to {name} limit of {limits[name]}",
                )
            )
    return errors


def _toleration_errors(toleration: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    key, operator = toleration.get("key", ""), toleration.get("operator") or "Equal"
    if key:
        errors += key_errors(f"{field}.key", key)
    elif operator != "Exists":
        errors.append(
            invalid_value(
                f"{field}.operator",
                operator,
                'operator must be Exists when `key` is empty, which means "match all values and '
                'all keys"',
            )
        )
    if operator not in ("Equal", "Exists", "Lt", "Gt"):
        errors.append(unsupported(f"{field}.operator", operator, ["Equal", "Exists"]))
    if operator == "Exists" and toleration.get("value"):
        errors.append(
            invalid_value(
                f"{field}.operator",
                toleration["value"],
                "value must be empty when `operator` is 'Exists'",
            )
        )
    if toleration.get("effect") and toleration["effect"] not in EFFECTS:
        errors.append(unsupported(f"{field}.effect", toleration["effect"], EFFECTS))
    if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
        errors.append(
            invalid_value(
                f"{field}.effect",
                toleration.get("effect", ""),
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        )
    return errors


def pod_update_errors(spec: Object, old: Object) -> list[FieldError]:
    """A pod's spec is fixed, but for a few fields; binding alone sets the node."""
    errors: list[FieldError] = []
    tolerations: list[Object] = spec.get("tolerations") or []
    for toleration in old.get("tolerations") or []:
        if toleration not in tolerations:
            errors.append(
                forbidden_field(
                    "spec.tolerations",
                    "existing toleration can not be modified except its tolerationSeconds",
                )
            )
            break
    gates: list[Object] = spec.get("schedulingGates") or []
    held: list[Object] = old.get("schedulingGates") or []
    added = [each["name"] for each in gates if each not in held]
    if added:
        errors.append(
            forbidden_field(
                "spec.schedulingGates",
                f"only deletion is allowed, but found new scheduling gates '{','.join(added)}'",
            )
        )
    open_fields = ("tolerations", "schedulingGates", "activeDeadlineSeconds")
    free = (*open_fields, "nodeSelector", "affinity") if held else open_fields
    if _fixed(spec, free) != _fixed(old, free):
        errors.append(forbidden_field("spec", POD_UPDATE_WORDS))
    return errors


def _fixed(spec: Object, free: tuple[str, ...]) -> Object:
    rest = {key: each for key, each in spec.items() if key not in free and each != ""}
    for kind in ("containers", "initContainers"):
        containers: list[Object] = rest.get(kind) or []
        rest[kind] = [{k: v for k, v in each.items() if k != "image"} for each in containers]
    return rest
