"""Binding and eviction: the two requests on a pod that are no update of it."""

from __future__ import annotations

from typing import Any

from fairlead.lab.deletion import DeleteOptions
from fairlead.lab.objects import Object, nested, timestamp, with_value
from fairlead.lab.registry import Registry
from fairlead.lab.resources import BY_PATH
from fairlead.lab.selectors import matches_label_selector
from fairlead.lab.status import (
    ApiError,
    bad_request,
    failure,
    forbidden,
    precondition_failed,
    required,
    unsupported,
)
from fairlead.lab.store import Entry

PODS = BY_PATH["", "v1", "pods"]
BUDGETS = BY_PATH["policy", "v1", "poddisruptionbudgets"]
SUCCESS: Object = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
MOST_DISRUPTED = 2000


def bind(registry: Registry, namespace: str, name: str, binding: Object) -> Entry:
    """Put a pod on the node that the Binding names, and set PodScheduled, in one write."""
    metadata: Object = binding.get("metadata") or {}
    target: Object = binding.get("target") or {}
    if metadata.get("name", "") != name:
        raise bad_request("name in URL does not match name in Binding object")
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    _check_target(target)
    found = registry.get(PODS, namespace, name)
    pod = found.object
    _check_version(pod, metadata)
    if "deletionTimestamp" in pod["metadata"]:
        raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise _refused(name, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
    if pod["spec"].get("schedulingGates"):
        raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")
    held: Object = pod["metadata"]
    for part in ("annotations", "labels"):
        if metadata.get(part):
            held = held | {part: (held.get(part) or {}) | metadata[part]}
    status = {key: each for key, each in pod["status"].items() if key != "nominatedNodeName"}
    status["conditions"] = with_condition(
        status.get("conditions") or [], "PodScheduled", "True", registry.now()
    )
    spec = pod["spec"] | {"nodeName": target["name"]}
    return registry.replace(PODS, found, {"metadata": held, "spec": spec, "status": status})


def _check_version(pod: Object, wanted: Object) -> None:
    """Refuse a Binding that was made for another pod of this name, or an older version of it."""
    for field in ("uid", "resourceVersion"):
        if wanted.get(field) and wanted[field] != pod["metadata"][field]:
            raise precondition_failed(PODS, pod["metadata"], field, wanted[field])


def _check_target(target: Object) -> None:
    errors: list[Any] = []
    if target.get("kind") not in (None, "", "Node"):
        errors.append(unsupported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(required("target.name"))
    if errors:
        texts = [f"{each.field}: {each.body}" for each in errors]
        message = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
        raise failure(500, "", message)


def _refused(name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on pods/binding "{name}": {why}'
    return failure(409, "Conflict", message, {"name": name, "kind": "pods/binding"})


def with_condition(
    conditions: list[Object], kind: str, status: str, now: float, **more: str
) -> list[Object]:
    """Conditions with one set; its transition time moves only with its status."""
    before = next((each for each in conditions if each["type"] == kind), None)
    moved = timestamp(now)
    if before is not None and before["status"] == status:
        moved = before.get("lastTransitionTime", moved)
    new: Object = {
        "type": kind,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": moved,
        **more,
    }
    if before is None:
        return [*conditions, new]
    return [new if each is before else each for each in conditions]


def evict(registry: Registry, namespace: str, name: str, eviction: Object) -> None:
    """Delete a pod unless its disruption budget forbids that."""
    if nested(eviction, "metadata", "name", default="") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = _delete_options(eviction)
    found = registry.get(PODS, namespace, name)
    pod = found.object
    ended = nested(pod, "status", "phase") in ("Succeeded", "Failed", "Pending")
    if not ended and "deletionTimestamp" not in pod["metadata"]:
        _spend_budget(registry, pod)
    _mark_evicted(registry, found)
    registry.delete(PODS, namespace, name, options)


def _delete_options(eviction: Object) -> DeleteOptions:
    given: Object = eviction.get("deleteOptions") or {}
    options = DeleteOptions(grace_period_seconds=given.get("gracePeriodSeconds"))
    wanted: Object = given.get("preconditions") or {}
    options.preconditions.uid = wanted.get("uid")
    options.preconditions.resource_version = wanted.get("resourceVersion")
    return options


def _mark_evicted(registry: Registry, found: Entry) -> None:
    pod = found.object
    status = pod["status"]
    conditions = with_condition(
        status.get("conditions") or [],
        "DisruptionTarget",
        "True",
        registry.now(),
        reason="EvictionByEvictionAPI",
        message="Eviction API: evicting",
    )
    registry.replace(PODS, found, pod | {"status": status | {"conditions": conditions}})


def _spend_budget(registry: Registry, pod: Object) -> None:
    namespace: str = pod["metadata"]["namespace"]
    labels: dict[str, str] = pod["metadata"].get("labels") or {}
    budgets = [
        entry
        for entry in registry.store.entries(BUDGETS, namespace)
        if matches_label_selector(nested(entry.object, "spec", "selector"), labels)
    ]
    if not budgets:
        return
    if len(budgets) > 1:
        raise failure(
            500,
            "",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.",
        )
    budget = budgets[0].object
    status: Object = budget.get("status") or {}
    if not _is_ready(pod):
        policy = nested(budget, "spec", "unhealthyPodEvictionPolicy")
        healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        if policy == "AlwaysAllow" or healthy >= desired > 0:
            return
    _check_budget(budget, status)
    disrupted: Object = status.get("disruptedPods") or {}
    spent = status | {
        "disruptionsAllowed": status["disruptionsAllowed"] - 1,
        "disruptedPods": disrupted | {pod["metadata"]["name"]: timestamp(registry.now())},
    }
    registry.replace(BUDGETS, budgets[0], with_value(budget, ("status",), spent))


def _is_ready(pod: Object) -> bool:
    conditions: list[Object] = nested(pod, "status", "conditions", default=[])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _check_budget(budget: Object, status: Object) -> None:
    name: str = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", 10)
    allowed: int = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise forbidden(BUDGETS, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > MOST_DISRUPTED:
        raise forbidden(
            BUDGETS,
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    if allowed == 0:
        healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        if healthy <= desired:
            why = f"needs {desired} healthy pods and has {healthy} currently"
        else:
            why = "does not allow evicting pods currently"
        raise _too_many(f"The disruption budget {name} {why}", 0)


def _too_many(cause: str, seconds: int) -> ApiError:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if seconds:
        details["retryAfterSeconds"] = seconds
    return failure(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details,
    )
