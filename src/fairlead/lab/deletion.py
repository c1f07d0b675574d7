"""What a deletion does: at once, after a grace period, or when the last finalizer is gone."""

from __future__ import annotations

import msgspec

from fairlead.lab.objects import Object, nested, seconds_of, timestamp, with_value
from fairlead.lab.resources import Resource
from fairlead.lab.status import forbidden, kind_conflict
from fairlead.lab.store import Entry

IMMORTAL_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class Preconditions(msgspec.Struct):
    """Which version the deletion is meant for."""

    uid: str | None = None
    resource_version: str | None = msgspec.field(default=None, name="resourceVersion")


class DeleteOptions(msgspec.Struct, rename="camel"):
    """`metav1.DeleteOptions`, as far as the embedded cluster reads it."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions = msgspec.field(default_factory=Preconditions)
    dry_run: list[str] = []


def check_preconditions(
    resource: Resource, entry: Entry, uid: str | None, version: str | None
) -> None:
    """Refuse with 409 where the object is not the one that the deletion means."""
    metadata: Object = entry.object["metadata"]
    name: str = metadata["name"]
    if uid and uid != metadata["uid"]:
        raise kind_conflict(
            resource,
            name,
            f"the UID in the precondition ({uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated",
        )
    if version and version != metadata["resourceVersion"]:
        raise kind_conflict(
            resource,
            name,
            f"the ResourceVersion in the precondition ({version}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). The object might have "
            "been modified",
        )


def finalizers_for(resource: Resource, value: Object, options: DeleteOptions) -> list[str]:
    """The object's finalizers with those that the deletion's policy asks for."""
    finalizers: list[str] = [
        each
        for each in nested(value, "metadata", "finalizers", default=[])
        if each not in ("orphan", "foregroundDeletion")
    ]
    policy = options.propagation_policy
    if policy is None and options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if policy is None:
        held = nested(value, "metadata", "finalizers", default=[])
        if "orphan" in held or resource.orphans_by_default:
            policy = "Orphan"
        elif "foregroundDeletion" in held:
            policy = "Foreground"
    if policy == "Orphan":
        finalizers.append("orphan")
    elif policy == "Foreground":
        finalizers.append("foregroundDeletion")
    return finalizers


def grace_period(value: Object, options: DeleteOptions) -> int:
    """The seconds that a pod gets: none when no kubelet has it, or when it has ended."""
    if not nested(value, "spec", "nodeName"):
        return 0
    if nested(value, "status", "phase") in ("Succeeded", "Failed"):
        return 0
    seconds = options.grace_period_seconds
    if seconds is None:
        seconds = nested(value, "spec", "terminationGracePeriodSeconds", default=0)
    return 1 if seconds < 0 else seconds


def terminating(value: Object, grace: int, now: float) -> Object:
    """The object as it stands from its deletion to its removal; a second call can only hasten."""
    metadata: Object = value["metadata"]
    if "deletionTimestamp" in metadata:
        before: int = metadata.get("deletionGracePeriodSeconds", 0)
        if grace >= before:
            return value
        due = max(seconds_of(metadata["deletionTimestamp"]) - before + grace, now)
        marked = metadata | {
            "deletionTimestamp": timestamp(due),
            "deletionGracePeriodSeconds": grace,
        }
        return value | {"metadata": marked}
    marked: Object = metadata | {
        "deletionTimestamp": timestamp(now + grace),
        "deletionGracePeriodSeconds": grace,
    }
    if "generation" in marked:
        marked["generation"] += 1
    return value | {"metadata": marked}


def with_finalizers(value: Object, finalizers: list[str]) -> Object:
    """The object with these finalizers, or without the field when there are none."""
    return with_value(value, ("metadata", "finalizers"), finalizers or None)


def must_be_deletable(resource: Resource, name: str) -> None:
    """Refuse to delete the namespaces that every cluster has."""
    if resource.plural == "namespaces" and name in IMMORTAL_NAMESPACES:
        raise forbidden(resource, name, "this namespace may not be deleted")
