"""Garbage collection: dependents follow their owners, and namespaces their content."""

from __future__ import annotations

from fairlead.lab.deletion import DeleteOptions, with_finalizers
from fairlead.lab.objects import Object, nested, with_value
from fairlead.lab.owners import STORED, Owners
from fairlead.lab.registry import NAMESPACES, Registry
from fairlead.lab.resources import BY_KIND, Resource
from fairlead.lab.status import ApiError
from fairlead.lab.store import Entry, Key

BACKGROUND = DeleteOptions(propagation_policy="Background")


def collect_dependents(registry: Registry, owners: Owners, uid: str) -> None:
    """Delete what the object with `uid`, which is gone, was the last owner of."""
    for resource, entry in owners.dependents(uid):
        _collect(registry, owners, resource, entry)


def look_at(registry: Registry, owners: Owners, resource: Resource, key: Key) -> None:
    """Collect one object if its owners are gone, and carry out the policy of its deletion."""
    entry = registry.store.get(resource, *key)
    if entry is None:
        return
    if nested(entry.object, "metadata", "ownerReferences"):
        _collect(registry, owners, resource, entry)
    entry = registry.store.get(resource, *key)
    if entry is None or "deletionTimestamp" not in entry.object["metadata"]:
        return
    finalizers: list[str] = nested(entry.object, "metadata", "finalizers", default=[])
    if "orphan" in finalizers:
        _orphan(registry, owners, entry.object["metadata"]["uid"])
        _finish(registry, resource, entry, "orphan")
    elif "foregroundDeletion" in finalizers and not _blocked(registry, owners, entry):
        _finish(registry, resource, entry, "foregroundDeletion")


def _collect(registry: Registry, owners: Owners, resource: Resource, entry: Entry) -> None:
    references: list[Object] = nested(entry.object, "metadata", "ownerReferences", default=[])
    if not references or any(not _lost(owners, each) for each in references):
        return
    _delete(registry, resource, entry, BACKGROUND)


def _lost(owners: Owners, reference: Object) -> bool:
    """Whether an owner is gone; one of a kind that is not served counts as there."""
    known = (reference.get("apiVersion", ""), reference.get("kind", "")) in BY_KIND
    return known and reference.get("uid") not in owners.living


def _delete(registry: Registry, resource: Resource, entry: Entry, options: DeleteOptions) -> None:
    metadata: Object = entry.object["metadata"]
    if "deletionTimestamp" in metadata:
        return
    try:
        registry.delete(resource, metadata.get("namespace", ""), metadata["name"], options)
    except ApiError:
        return


def _orphan(registry: Registry, owners: Owners, uid: str) -> None:
    for resource, entry in owners.dependents(uid):
        references: list[Object] = nested(entry.object, "metadata", "ownerReferences", default=[])
        kept = [each for each in references if each.get("uid") != uid]
        value = with_value(entry.object, ("metadata", "ownerReferences"), kept or None)
        registry.replace(resource, entry, value)


def _blocked(registry: Registry, owners: Owners, entry: Entry) -> bool:
    """Delete the dependents of an object that waits for them; whether some are still there."""
    uid: str = entry.object["metadata"]["uid"]
    waits = False
    for resource, dependent in owners.dependents(uid):
        _delete(registry, resource, dependent, DeleteOptions(propagation_policy="Foreground"))
        metadata: Object = dependent.object["metadata"]
        if registry.store.get(resource, metadata.get("namespace", ""), metadata["name"]):
            waits = waits or any(
                each.get("uid") == uid and each.get("blockOwnerDeletion")
                for each in metadata["ownerReferences"]
            )
    return waits


def _finish(registry: Registry, resource: Resource, entry: Entry, finalizer: str) -> None:
    finalizers: list[str] = nested(entry.object, "metadata", "finalizers", default=[])
    kept = [each for each in finalizers if each != finalizer]
    registry.replace(resource, entry, with_finalizers(entry.object, kept))


def empty_namespace(registry: Registry, _: Owners, key: Key) -> None:
    """Delete what is in a namespace that is going away, and the namespace once it is empty."""
    entry = registry.store.get(NAMESPACES, *key)
    if entry is None or "deletionTimestamp" not in entry.object["metadata"]:
        return
    left = False
    for resource in STORED:
        if not resource.namespaced:
            continue
        for each in list(registry.store.entries(resource, key[1])):
            _delete(registry, resource, each, BACKGROUND)
            metadata: Object = each.object["metadata"]
            left = left or registry.store.get(resource, key[1], metadata["name"]) is not None
    if not left:
        registry.replace(NAMESPACES, entry, with_value(entry.object, ("spec",), {}))
