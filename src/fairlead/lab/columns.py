"""The columns and cells of each resource's table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from fairlead.lab.durations import human, since
from fairlead.lab.objects import Object, nested, seconds_of


class Column(msgspec.Struct, frozen=True):
    """One column; those of priority 1 are shown with `-o wide` alone."""

    name: str
    type: str = "string"
    priority: int = 0


Cells = Callable[[Object, float], list[Any]]


def columns(*names: str, wide: tuple[str, ...] = ()) -> tuple[Column, ...]:
    """Columns by name; a name with `#` before it holds integers."""
    return tuple(
        Column(name.lstrip("#"), "integer" if name.startswith("#") else "string", priority)
        for priority, group in enumerate((names, wide))
        for name in group
    )


def _name(value: Object) -> str:
    return value["metadata"]["name"]


def _age(value: Object, now: float) -> str:
    return since(value["metadata"].get("creationTimestamp"), now)


def _labels(labels: dict[str, str] | None) -> str:
    return ",".join(f"{key}={each}" for key, each in sorted((labels or {}).items())) or "<none>"


def _selector(selector: Object | None) -> str:
    terms = [
        f"{key}={each}" for key, each in sorted((selector or {}).get("matchLabels", {}).items())
    ]
    for each in (selector or {}).get("matchExpressions", ()):
        values = ",".join(each.get("values", ()))
        match each["operator"]:
            case "In" | "NotIn":
                terms.append(f"{each['key']} {each['operator'].lower()} ({values})")
            case "Exists":
                terms.append(each["key"])
            case _:
                terms.append("!" + each["key"])
    return ",".join(terms) or "<none>"


def _containers(value: Object) -> list[str]:
    containers: list[Object] = nested(value, "spec", "template", "spec", "containers", default=[])
    names = ",".join(each["name"] for each in containers)
    return [names, ",".join(each.get("image", "") for each in containers)]


def pod_reason(pod: Object) -> str:
    """The word in the Status column: the phase, or what a container or the deletion says."""
    status: Object = pod["status"]
    reason = status.get("reason") or status.get("phase", "")
    for each in status.get("conditions", ()):
        if each["type"] == "PodScheduled" and each.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    for each in reversed(status.get("containerStatuses", ())):
        state: Object = each.get("state", {})
        waiting = nested(state, "waiting", "reason", default="")
        ended = state.get("terminated")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}"
    terminal = status.get("phase") in ("Succeeded", "Failed")
    if "deletionTimestamp" in pod["metadata"] and not terminal:
        reason = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return reason


def _pod(pod: Object, now: float) -> list[Any]:
    status: Object = pod["status"]
    states: list[Object] = status.get("containerStatuses") or []
    ready = sum(1 for each in states if each.get("ready") and "running" in each.get("state", {}))
    gates: list[Object] = pod["spec"].get("readinessGates") or []
    conditions: list[Object] = status.get("conditions") or []
    met = sum(
        1
        for gate in gates
        if any(
            each["type"] == gate["conditionType"] and each["status"] == "True"
            for each in conditions
        )
    )
    return [
        _name(pod),
        f"{ready}/{len(pod['spec'].get('containers', ()))}",
        pod_reason(pod),
        str(sum(each.get("restartCount", 0) for each in states)),
        _age(pod, now),
        status.get("podIP") or "<none>",
        pod["spec"].get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        f"{met}/{len(gates)}" if gates else "<none>",
    ]


def _node(node: Object, now: float) -> list[Any]:
    conditions: list[Object] = nested(node, "status", "conditions", default=[])
    states = [
        "Ready" if each["status"] == "True" else "NotReady"
        for each in conditions
        if each["type"] == "Ready"
    ] or ["Unknown"]
    if nested(node, "spec", "unschedulable"):
        states.append("SchedulingDisabled")
    prefix = "node-role.kubernetes.io/"
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    roles = sorted(
        each.removeprefix(prefix) for each in labels if each.startswith(prefix) and each != prefix
    )
    addresses: list[Object] = nested(node, "status", "addresses", default=[])
    by_type = {each["type"]: each["address"] for each in reversed(addresses)}
    info: Object = nested(node, "status", "nodeInfo", default={})
    return [
        _name(node),
        ",".join(states),
        ",".join(roles) or "<none>",
        _age(node, now),
        info.get("kubeletVersion", ""),
        by_type.get("InternalIP", "<none>"),
        by_type.get("ExternalIP", "<none>"),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _event(event: Object, now: float) -> list[Any]:
    series: Object = event.get("series") or {}
    created = event["metadata"].get("creationTimestamp")
    first = event.get("firstTimestamp") or event.get("eventTime") or created
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or first
    count = series.get("count") or event.get("count") or 1
    about: Object = event["involvedObject"]
    source: Object = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    host = source.get("host") or ""
    return [
        since(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        event.get("message", "").strip(),
        since(first, now),
        count,
        _name(event),
    ]


def _job(job: Object, now: float) -> list[Any]:
    status: Object = job.get("status") or {}
    conditions: list[Object] = status.get("conditions") or []
    true = {each["type"] for each in conditions if each["status"] == "True"}
    state = next(
        (
            each
            for each in ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")
            if each in true
        ),
        "Running",
    )
    if "deletionTimestamp" in job["metadata"] and state == "Running":
        state = "Terminating"
    wanted, done = job["spec"].get("completions"), status.get("succeeded", 0)
    if wanted is None:
        parallel = job["spec"].get("parallelism", 0)
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    else:
        completions = f"{done}/{wanted}"
    lasted = ""
    if status.get("startTime"):
        ended = status.get("completionTime")
        lasted = human((seconds_of(ended) if ended else now) - seconds_of(status["startTime"]))
    head = [_name(job), state, completions, lasted, _age(job, now)]
    return [*head, *_containers(job), _selector(job["spec"].get("selector"))]


def _replica_set(value: Object, now: float) -> list[Any]:
    status: Object = value.get("status") or {}
    selector: Object = value["spec"].get("selector") or {}
    named = selector if "matchLabels" in selector else {"matchLabels": selector}
    return [
        _name(value),
        value["spec"].get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _age(value, now),
        *_containers(value),
        _selector(named if "matchExpressions" not in selector else selector),
    ]


def _deployment(value: Object, now: float) -> list[Any]:
    status: Object = value.get("status") or {}
    return [
        _name(value),
        f"{status.get('readyReplicas', 0)}/{value['spec'].get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _age(value, now),
        *_containers(value),
        _selector(value["spec"].get("selector")),
    ]


def _stateful_set(value: Object, now: float) -> list[Any]:
    ready = nested(value, "status", "readyReplicas", default=0)
    state = f"{ready}/{value['spec'].get('replicas', 0)}"
    return [_name(value), state, _age(value, now), *_containers(value)]


def _service(value: Object, now: float) -> list[Any]:
    spec: Object = value["spec"]
    external = ",".join(spec.get("externalIPs", ())) or "<none>"
    if spec["type"] == "LoadBalancer":
        external = "<pending>"
    elif spec["type"] == "ExternalName":
        external = spec.get("externalName", "")
    ports = ",".join(
        f"{each['port']}:{each['nodePort']}/{each['protocol']}"
        if each.get("nodePort")
        else f"{each['port']}/{each['protocol']}"
        for each in spec.get("ports", ())
    )
    return [
        _name(value),
        spec["type"],
        spec.get("clusterIP") or "<none>",
        external,
        ports or "<none>",
        _age(value, now),
        _labels(spec.get("selector")),
    ]


def _namespace(value: Object, now: float) -> list[Any]:
    return [_name(value), nested(value, "status", "phase", default=""), _age(value, now)]


def _priority_class(value: Object, now: float) -> list[Any]:
    default = bool(value.get("globalDefault"))
    policy = value.get("preemptionPolicy", "")
    return [_name(value), value.get("value", 0), default, _age(value, now), policy]


def _lease(value: Object, now: float) -> list[Any]:
    return [_name(value), nested(value, "spec", "holderIdentity", default=""), _age(value, now)]


def _any(value: Object, now: float) -> list[Any]:
    return [_name(value), _age(value, now)]


NAME_AND_AGE: tuple[tuple[Column, ...], Cells] = (columns("Name", "Age"), _any)
CELLS: dict[str, tuple[tuple[Column, ...], Cells]] = {
    "pods": (
        columns(
            "Name",
            "Ready",
            "Status",
            "Restarts",
            "Age",
            wide=("IP", "Node", "Nominated Node", "Readiness Gates"),
        ),
        _pod,
    ),
    "nodes": (
        columns(
            "Name",
            "Status",
            "Roles",
            "Age",
            "Version",
            wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "events": (
        (
            Column("Last Seen"),
            Column("Type"),
            Column("Reason"),
            Column("Object"),
            Column("Subobject", priority=1),
            Column("Source", priority=1),
            Column("Message"),
            Column("First Seen", priority=1),
            Column("Count", priority=1),
            Column("Name", priority=1),
        ),
        _event,
    ),
    "jobs.batch": (
        columns(
            "Name",
            "Status",
            "Completions",
            "Duration",
            "Age",
            wide=("Containers", "Images", "Selector"),
        ),
        _job,
    ),
    "replicasets.apps": (
        columns(
            "Name",
            "#Desired",
            "#Current",
            "#Ready",
            "Age",
            wide=("Containers", "Images", "Selector"),
        ),
        _replica_set,
    ),
    "replicationcontrollers": (
        columns(
            "Name",
            "#Desired",
            "#Current",
            "#Ready",
            "Age",
            wide=("Containers", "Images", "Selector"),
        ),
        _replica_set,
    ),
    "deployments.apps": (
        columns(
            "Name",
            "Ready",
            "#Up-to-date",
            "#Available",
            "Age",
            wide=("Containers", "Images", "Selector"),
        ),
        _deployment,
    ),
    "statefulsets.apps": (
        columns("Name", "Ready", "Age", wide=("Containers", "Images")),
        _stateful_set,
    ),
    "services": (
        columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", wide=("Selector",)),
        _service,
    ),
    "namespaces": (columns("Name", "Status", "Age"), _namespace),
    "priorityclasses.scheduling.k8s.io": (
        (
            Column("Name"),
            Column("Value", "integer"),
            Column("Global-Default", "boolean"),
            Column("Age"),
            Column("PreemptionPolicy"),
        ),
        _priority_class,
    ),
    "leases.coordination.k8s.io": (columns("Name", "Holder", "Age"), _lease),
}
