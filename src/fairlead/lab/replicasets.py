"""ReplicaSets keep as many pods as their spec asks for."""

from __future__ import annotations

from fairlead.lab.deletion import DeleteOptions
from fairlead.lab.objects import Object, with_value
from fairlead.lab.owners import Owners
from fairlead.lab.registry import Registry
from fairlead.lab.resources import BY_PATH
from fairlead.lab.store import Key
from fairlead.lab.workloads import (
    PODS,
    create_pods,
    first_to_go,
    is_active,
    is_ready,
    pod_from_template,
    pods_of,
)

REPLICASETS = BY_PATH["apps", "v1", "replicasets"]


def reconcile(registry: Registry, owners: Owners, key: Key) -> None:
    """Make or take away pods, and count them in the status."""
    entry = registry.store.get(REPLICASETS, *key)
    if entry is None or "deletionTimestamp" in entry.object["metadata"]:
        return
    value = entry.object
    uid: str = value["metadata"]["uid"]
    active = [each for each in pods_of(owners, uid) if is_active(each.object)]
    wanted: int = value["spec"].get("replicas", 1)
    missing = wanted - len(active)
    if missing > 0:
        pods = [pod_from_template(REPLICASETS, value) for _ in range(missing)]
        create_pods(registry, key[0], pods)
    for each in first_to_go(active)[: max(-missing, 0)]:
        registry.delete(PODS, key[0], each.object["metadata"]["name"], DeleteOptions())
    _count(registry, owners, key)


def _count(registry: Registry, owners: Owners, key: Key) -> None:
    entry = registry.store.get(REPLICASETS, *key)
    if entry is None:
        return
    value = entry.object
    pods = [each.object for each in pods_of(owners, value["metadata"]["uid"])]
    active = [each for each in pods if is_active(each)]
    ready = sum(1 for each in active if is_ready(each))
    status: Object = {"replicas": len(active)}
    if active:
        status["fullyLabeledReplicas"] = len(active)
    if ready:
        status["readyReplicas"] = status["availableReplicas"] = ready
    status["observedGeneration"] = value["metadata"].get("generation", 0)
    registry.replace(REPLICASETS, entry, with_value(value, ("status",), status))
