"""Claims in use and bound volumes outlive their deletion until nothing uses them."""

from __future__ import annotations

from fairlead.lab.admission import PROTECTION
from fairlead.lab.deletion import with_finalizers
from fairlead.lab.objects import Object, nested
from fairlead.lab.owners import Owners
from fairlead.lab.registry import Registry
from fairlead.lab.resources import BY_PATH, Resource
from fairlead.lab.store import Entry, Key
from fairlead.lab.workloads import ENDED, PODS

CLAIMS = BY_PATH["", "v1", "persistentvolumeclaims"]
VOLUMES = BY_PATH["", "v1", "persistentvolumes"]


def release_claim(registry: Registry, _: Owners, key: Key) -> None:
    """Let a deleted claim go when no pod that runs or may run uses it."""
    entry = registry.store.get(CLAIMS, *key)
    if entry is None or "deletionTimestamp" not in entry.object["metadata"]:
        return
    pods = (each.object for each in registry.store.entries(PODS, key[0]))
    if not any(_uses(pod, key[1]) for pod in pods):
        _release(registry, CLAIMS, entry)


def _uses(pod: Object, claim: str) -> bool:
    if nested(pod, "status", "phase") in ENDED:
        return False
    volumes: list[Object] = pod["spec"].get("volumes") or []
    return any(nested(each, "persistentVolumeClaim", "claimName") == claim for each in volumes)


def release_volume(registry: Registry, _: Owners, key: Key) -> None:
    """Let a deleted volume go when no claim is bound to it."""
    entry = registry.store.get(VOLUMES, *key)
    if entry is None or "deletionTimestamp" not in entry.object["metadata"]:
        return
    if nested(entry.object, "status", "phase") != "Bound":
        _release(registry, VOLUMES, entry)


def _release(registry: Registry, resource: Resource, entry: Entry) -> None:
    finalizers: list[str] = nested(entry.object, "metadata", "finalizers", default=[])
    kept = [each for each in finalizers if each != PROTECTION[resource.stored_as]]
    if kept != finalizers:
        registry.replace(resource, entry, with_finalizers(entry.object, kept))
