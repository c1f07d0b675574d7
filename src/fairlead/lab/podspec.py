"""What is wrong with a pod's spec, alone, in a template, or changed."""

from __future__ import annotations

from fairlead.lab.constraints import constraint_errors
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

DNS_POLICIES = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]
STANDARD_RESOURCES = ("cpu", "memory", "ephemeral-storage")
POD_UPDATE_WORDS = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)


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
                ["Always", "OnFailure", "Never"],
            )
        )
    errors += _scalar_errors(spec, field)
    errors += constraint_errors(spec, field)
    errors += _host_port_errors(spec, field)
    errors += label_errors(f"{field}.nodeSelector", spec.get("nodeSelector") or {})
    errors += _volume_errors(spec, field)
    return errors


def _scalar_errors(spec: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.get("dnsPolicy") not in DNS_POLICIES:
        errors.append(unsupported(f"{field}.dnsPolicy", spec.get("dnsPolicy"), DNS_POLICIES))
    if spec.get("nodeName"):
        errors += name_errors(f"{field}.nodeName", spec["nodeName"], label=False)
    if "activeDeadlineSeconds" in spec and not 0 < spec["activeDeadlineSeconds"] < 2**31:
        words = "must be between 1 and 2147483647, inclusive"
        where = f"{field}.activeDeadlineSeconds"
        errors.append(invalid_value(where, spec["activeDeadlineSeconds"], words))
    for index, claim in enumerate(spec.get("resourceClaims") or []):
        sources = [claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")]
        if sum(1 for each in sources if each) != 1:
            words = (
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
                if not any(sources)
                else "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                "specified"
            )
            shown = {
                "Name": claim.get("name", ""),
                "ResourceClaimName": sources[0],
                "ResourceClaimTemplateName": sources[1],
            }
            errors.append(invalid_value(f"{field}.resourceClaims[{index}]", shown, words))
    return errors


def _host_port_errors(spec: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, container in enumerate(spec.get("containers") or []):
        for spot, port in enumerate(container.get("ports") or []):
            if not spec.get("hostNetwork"):
                continue
            if port.get("hostPort") and port["hostPort"] != port.get("containerPort"):
                where = f"{field}.containers[{index}].ports[{spot}].hostPort"
                words = "must match `containerPort` when `hostNetwork` is true"
                errors.append(invalid_value(where, port["hostPort"], words))
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
        for name, text in sorted(amounts.items()):
            where = f"{field}.{part}[{name}]"
            errors += _resource_name_errors(where, name)
            if amount(text) < 0:
                errors.append(invalid_value(where, text, "must be greater than or equal to 0"))
            elif _is_extended(name) and amount(text) % 1:
                errors.append(invalid_value(where, text, "must be an integer"))
    for name, text in sorted(requests.items()):
        if name in limits and _is_extended(name) and amount(text) != amount(limits[name]):
            words = f"must be equal to {name} limit of {limits[name]}"
            errors.append(invalid_value(f"{field}.requests", text, words))
        elif name in limits and amount(text) > amount(limits[name]):
            words = f"must be less than or equal to {name} limit of {limits[name]}"
            errors.append(invalid_value(f"{field}.requests", text, words))
        elif name not in limits and _is_extended(name):
            words = "Limit must be set for non overcommitable resources"
            errors.append(required(f"{field}.limits", words))
    return errors


def _resource_name_errors(field: str, name: str) -> list[FieldError]:
    if "/" in name:
        return key_errors(field, name)
    if name in STANDARD_RESOURCES or name.startswith("hugepages-"):
        return []
    return [
        invalid_value(field, name, "must be a standard resource type or fully qualified"),
        invalid_value(field, name, "must be a standard resource for containers"),
    ]


def _is_extended(name: str) -> bool:
    if name.startswith("hugepages-"):
        return True
    return "/" in name and not name.rpartition("/")[0].endswith("kubernetes.io")


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
    added = [index for index, each in enumerate(gates) if each not in held]
    for index in added:
        words = f"only deletion is allowed, but found new scheduling gate '{gates[index]['name']}'"
        errors.append(forbidden_field(f"spec.schedulingGates[{index}].name", words))
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
