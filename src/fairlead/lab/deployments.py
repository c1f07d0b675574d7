"""Deployments keep one ReplicaSet for each template they have had.

A new template's ReplicaSet is brought up whole, and the old ones go once it is ready: surge and
unavailability limits are not played.
"""

from __future__ import annotations

import hashlib

import msgspec

from fairlead.lab.objects import SUFFIX_ALPHABET, Object, nested, with_value
from fairlead.lab.owners import Owners
from fairlead.lab.registry import Registry
from fairlead.lab.replicasets import REPLICASETS
from fairlead.lab.resources import BY_PATH
from fairlead.lab.status import ApiError
from fairlead.lab.store import Entry, Key
from fairlead.lab.workloads import controlled_by, owner_reference

DEPLOYMENTS = BY_PATH["apps", "v1", "deployments"]
HASH = "pod-template-hash"


def reconcile(registry: Registry, owners: Owners, key: Key) -> None:
    """Bring the ReplicaSets in line with the Deployment, and sum up their status."""
    entry = registry.store.get(DEPLOYMENTS, *key)
    if entry is None or "deletionTimestamp" in entry.object["metadata"]:
        return
    value = entry.object
    mark = template_hash(value["spec"]["template"])
    sets = controlled_by(owners, value["metadata"]["uid"], REPLICASETS)
    current = next((each for each in sets if _hash_of(each) == mark), None)
    wanted: int = value["spec"].get("replicas", 1)
    if current is None:
        _make(registry, value, mark, wanted)
        sets = controlled_by(owners, value["metadata"]["uid"], REPLICASETS)
        current = next((each for each in sets if _hash_of(each) == mark), None)
    if current is None:
        return
    _scale(registry, current, wanted)
    if nested(current.object, "status", "availableReplicas", default=0) >= wanted:
        for each in sets:
            if each is not current:
                _scale(registry, each, 0)
    _count(registry, owners, key, mark)


def template_hash(template: Object) -> str:
    """A word that stands for a template, in the letters of generated names."""
    digest = hashlib.sha256(msgspec.json.encode(template, order="deterministic")).digest()
    return "".join(SUFFIX_ALPHABET[each % len(SUFFIX_ALPHABET)] for each in digest[:10])


def _hash_of(entry: Entry) -> str:
    return nested(entry.object, "metadata", "labels", HASH, default="")


def _make(registry: Registry, value: Object, mark: str, replicas: int) -> None:
    metadata: Object = value["metadata"]
    template = with_value(value["spec"]["template"], ("metadata", "labels", HASH), mark)
    selector = with_value(value["spec"]["selector"], ("matchLabels", HASH), mark)
    labels: dict[str, str] = nested(template, "metadata", "labels", default={})
    new: Object = {
        "metadata": {
            "name": f"{metadata['name']}-{mark}",
            "labels": dict(labels),
            "ownerReferences": [owner_reference(DEPLOYMENTS, value)],
        },
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    }
    try:
        registry.create(REPLICASETS, metadata["namespace"], new)
    except ApiError:
        return


def _scale(registry: Registry, entry: Entry, replicas: int) -> None:
    if entry.object["spec"].get("replicas") == replicas:
        return
    value = with_value(entry.object, ("spec", "replicas"), replicas)
    generation = value["metadata"].get("generation", 0) + 1
    registry.replace(REPLICASETS, entry, with_value(value, ("metadata", "generation"), generation))


def _count(registry: Registry, owners: Owners, key: Key, mark: str) -> None:
    entry = registry.store.get(DEPLOYMENTS, *key)
    if entry is None:
        return
    value = entry.object
    sets = controlled_by(owners, value["metadata"]["uid"], REPLICASETS)

    def total(field: str, only: str = "") -> int:
        return sum(
            nested(each.object, "status", field, default=0)
            for each in sets
            if not only or _hash_of(each) == only
        )

    counts = {
        "replicas": total("replicas"),
        "updatedReplicas": total("replicas", mark),
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": total("availableReplicas"),
    }
    status: Object = {name: count for name, count in counts.items() if count}
    missing = value["spec"].get("replicas", 1) - counts["availableReplicas"]
    if missing > 0:
        status["unavailableReplicas"] = missing
    status["observedGeneration"] = value["metadata"].get("generation", 0)
    registry.replace(DEPLOYMENTS, entry, with_value(value, ("status",), status))
