"""What all controllers that make pods share: their pods, and a new pod from a template."""

from __future__ import annotations

import copy

from fairlead.lab.objects import Object, controller_of, nested
from fairlead.lab.owners import Owners
from fairlead.lab.registry import Registry
from fairlead.lab.resources import BY_PATH, Resource
from fairlead.lab.status import ApiError
from fairlead.lab.store import Entry

PODS = BY_PATH["", "v1", "pods"]
ENDED = ("Succeeded", "Failed")


def pods_of(owners: Owners, uid: str) -> list[Entry]:
    """The pods that the object with `uid` controls."""
    return controlled_by(owners, uid, PODS)


def controlled_by(owners: Owners, uid: str, kind: Resource) -> list[Entry]:
    """The objects of one resource that the object with `uid` controls."""
    found: list[Entry] = []
    for resource, entry in owners.dependents(uid):
        owner = controller_of(entry.object)
        if resource is kind and owner is not None and owner["uid"] == uid:
            found.append(entry)
    return found


def owner_reference(resource: Resource, owner: Object) -> Object:
    """The reference by which a controller marks what it makes."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from_template(resource: Resource, owner: Object) -> Object:
    """A pod as the owner's template has it, not yet created, with a name to be generated."""
    template: Object = copy.deepcopy(nested(owner, "spec", "template", default={}))
    given: Object = template.get("metadata") or {}
    metadata: Object = {"generateName": f"{owner['metadata']['name']}-"}
    for part in ("labels", "annotations", "finalizers"):
        if given.get(part):
            metadata[part] = given[part]
    metadata["ownerReferences"] = [owner_reference(resource, owner)]
    return {"metadata": metadata, "spec": template.get("spec") or {}}


def create_pods(registry: Registry, namespace: str, pods: list[Object]) -> int:
    """Create pods until one is refused; the answer is how many there are now."""
    for made, pod in enumerate(pods):
        try:
            registry.create(PODS, namespace, pod)
        except ApiError:
            return made
    return len(pods)


def is_active(pod: Object) -> bool:
    """Whether a pod still counts as one that runs or will."""
    ended = nested(pod, "status", "phase") in ENDED
    return not ended and "deletionTimestamp" not in pod["metadata"]


def is_ready(pod: Object) -> bool:
    """Whether a pod's Ready condition is true."""
    conditions: list[Object] = nested(pod, "status", "conditions", default=[])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def first_to_go(pods: list[Entry]) -> list[Entry]:
    """Pods in the order in which a smaller scale takes them: unbound, pending, unready, newest."""

    def rank(entry: Entry) -> tuple[bool, bool, bool]:
        pod = entry.object
        bound = bool(pod["spec"].get("nodeName"))
        return bound, nested(pod, "status", "phase") == "Running", is_ready(pod)

    newest = sorted(
        pods, key=lambda each: each.object["metadata"]["creationTimestamp"], reverse=True
    )
    return sorted(newest, key=rank)
