"""PodDisruptionBudgets: how many of the pods that they guard may be evicted now."""

from __future__ import annotations

import math

from fairlead.lab.objects import Object, controller_of, nested, with_value
from fairlead.lab.owners import Owners
from fairlead.lab.registry import Registry
from fairlead.lab.resources import BY_KIND, BY_PATH
from fairlead.lab.selectors import matches_label_selector
from fairlead.lab.store import Key
from fairlead.lab.workloads import ENDED, PODS, is_ready

BUDGETS = BY_PATH["policy", "v1", "poddisruptionbudgets"]


def reconcile(registry: Registry, _: Owners, key: Key) -> None:
    """Count the guarded pods, and write what may be disrupted into the status."""
    entry = registry.store.get(BUDGETS, *key)
    if entry is None:
        return
    budget = entry.object
    spec: Object = nested(budget, "spec", default={})
    selector: Object | None = spec.get("selector")
    pods = [
        each.object
        for each in registry.store.entries(PODS, key[0])
        if nested(each.object, "status", "phase") not in ENDED
        and matches_label_selector(selector, each.object["metadata"].get("labels") or {})
    ]
    expected, desired = _counts(registry, spec, pods)
    held: Object = nested(budget, "status", "disruptedPods", default={})
    going = {
        each["metadata"]["name"]
        for each in pods
        if each["metadata"]["name"] in held and "deletionTimestamp" not in each["metadata"]
    }
    healthy = sum(
        1
        for each in pods
        if is_ready(each)
        and "deletionTimestamp" not in each["metadata"]
        and each["metadata"]["name"] not in going
    )
    status: Object = {
        key: each for key, each in (budget.get("status") or {}).items() if key != "disruptedPods"
    }
    if going:
        status["disruptedPods"] = {name: held[name] for name in sorted(going)}
    status |= {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "disruptionsAllowed": max(healthy - desired, 0) if expected else 0,
        "observedGeneration": budget["metadata"].get("generation", 0),
    }
    registry.replace(BUDGETS, entry, with_value(budget, ("status",), status))


def _counts(registry: Registry, spec: Object, pods: list[Object]) -> tuple[int, int]:
    """How many pods there should be, and how many of them must be healthy."""
    if spec.get("maxUnavailable") is not None:
        expected = _scale_of(registry, pods)
        return expected, max(expected - _share(spec["maxUnavailable"], expected), 0)
    least: int | str = spec.get("minAvailable", 1)
    expected = len(pods) if isinstance(least, int) else _scale_of(registry, pods)
    return expected, _share(least, expected)


def _share(value: int | str, total: int) -> int:
    if isinstance(value, int):
        return value
    return math.ceil(total * int(value.removesuffix("%")) / 100)


def _scale_of(registry: Registry, pods: list[Object]) -> int:
    """The replicas that the pods' controllers ask for, each controller once."""
    replicas: dict[str, int] = {}
    for pod in pods:
        owner = controller_of(pod)
        if owner is None or owner["uid"] in replicas:
            continue
        resource = BY_KIND.get((owner["apiVersion"], owner["kind"]))
        if resource is None or "scale" not in resource.subresources:
            continue
        entry = registry.store.get(resource, pod["metadata"]["namespace"], owner["name"])
        if entry is not None:
            replicas[owner["uid"]] = nested(entry.object, "spec", "replicas", default=1)
    return sum(replicas.values())
