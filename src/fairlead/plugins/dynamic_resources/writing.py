"""⑬ What DynamicResources writes: allocations and reservations of claims, and claims of its own.

Every writing begins with the object as the API server has it now: what is kept of it here is less.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from fairlead.framework.stages import Io
from fairlead.model.podinfo import PodInfo
from fairlead.model.resource import ResourceClaim
from fairlead.plugins.dynamic_resources.extended import Mapped
from fairlead.plugins.dynamic_resources.result import Allocation

Json = dict[str, Any]
FINALIZER = "resource.kubernetes.io/delete-protection"
EXTENDED = "resource.kubernetes.io/extended-resource-claim"
ATTEMPTS = 5
CONFLICT, NOT_FOUND = 409, 404


class NotWritten(Exception):  # noqa: N818 - what became of the writing
    """The claim is not as it was when it was decided about, or the API server refused."""


def path_of(namespace: str, name: str = "") -> str:
    base = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
    return f"{base}/{name}" if name else base


async def reserve_for(
    io: Io, claim: ResourceClaim, pod: PodInfo, given: Allocation | None, *, stamp: float | None
) -> ResourceClaim:
    """Write what the claim gets and that the pod uses it; the claim as it is then.

    `stamp` is the time of day to be noted where none is, None if none is to be.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return await _reserve(io, claim, pod, given, stamp)
        except NotWritten:
            raise
        except Exception as problem:
            if attempt == ATTEMPTS or status_of(problem) != CONFLICT:
                raise NotWritten(f"{what(claim, given)}: {problem}") from problem
    raise AssertionError("the last attempt returns or raises")


def what(claim: ResourceClaim, given: Allocation | None) -> str:
    added = "reservation" if given is None else "allocation and reservation"
    return f"add {added} to claim {name_of(claim)}"


def name_of(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def status_of(problem: Exception) -> int:
    """The HTTP status of a refusal; 0 if it is none."""
    return int(getattr(problem, "status", getattr(problem.__cause__, "status", 0)))


async def _reserve(
    io: Io, claim: ResourceClaim, pod: PodInfo, given: Allocation | None, stamp: float | None
) -> ResourceClaim:
    path = path_of(claim.metadata.namespace, claim.metadata.name)
    name = name_of(claim)
    data: Any = await io.request("GET", path)
    meta: Json = data["metadata"]
    if meta.get("deletionTimestamp") or meta["uid"] != claim.metadata.uid:
        raise NotWritten(f"claim {name} got deleted in the meantime")
    if given is not None:
        if data.get("status", {}).get("allocation"):
            raise NotWritten(f"claim {name} got allocated elsewhere in the meantime")
        if FINALIZER not in meta.get("finalizers", []):
            meta["finalizers"] = [*meta.get("finalizers", []), FINALIZER]
            data = await io.request("PUT", path, data)
        data.setdefault("status", {})["allocation"] = dict(given.wire)
    status: Json = data.setdefault("status", {})
    user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    status["reservedFor"] = [*status.get("reservedFor", []), user]
    if stamp is not None:
        if not status.get("allocation"):
            raise NotWritten(f"claim {name} got deallocated elsewhere in the meantime")
        moment = datetime.fromtimestamp(int(stamp), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status["allocation"].setdefault("allocationTimestamp", moment)
    data = await io.request("PUT", f"{path}/status", data)
    return claim_of(data)


def claim_of(data: object) -> ResourceClaim:
    return msgspec.json.decode(msgspec.json.encode(data), type=ResourceClaim)


async def unreserve(io: Io, claim: ResourceClaim, pod_uid: str) -> None:
    """Take the pod off the claim's users."""
    body = {
        "metadata": {"uid": claim.metadata.uid},
        "status": {"reservedFor": [{"$patch": "delete", "uid": pod_uid}]},
    }
    path = path_of(claim.metadata.namespace, claim.metadata.name)
    await io.request("PATCH", f"{path}/status", body)


async def deallocate(io: Io, claim: ResourceClaim, pod_uid: str) -> None:
    """Take the devices back, unless somebody else has begun to use the claim."""
    path = path_of(claim.metadata.namespace, claim.metadata.name)
    data: Any = await io.request("GET", path)
    status: Json = data.get("status", {})
    users = {each.get("uid") for each in status.get("reservedFor", [])}
    if data["metadata"]["uid"] != claim.metadata.uid or users - {pod_uid}:
        return
    for part in ("allocation", "reservedFor", "devices"):
        status.pop(part, None)
    await io.request("PUT", f"{path}/status", data)


async def create(io: Io, pod: PodInfo, requests: Sequence[Json]) -> ResourceClaim:
    """Make the claim for a pod's extended resources."""
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod.name,
        "uid": pod.uid,
        "controller": True,
    }
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "generateName": f"{pod.name}-extended-resources-",
            "namespace": pod.namespace,
            "ownerReferences": [owner],
            "annotations": {EXTENDED: "true"},
        },
        "spec": {"devices": {"requests": list(requests)}},
    }
    try:
        data = await io.request("POST", path_of(pod.namespace), body)
    except Exception as problem:
        what = f"create claim for extended resources {pod.namespace}/<extended-resources>"
        raise NotWritten(f"{what}: {problem}") from problem
    return claim_of(data)


async def delete(io: Io, claim: ResourceClaim) -> None:
    """Delete a claim of our own; what protects it goes first."""
    path = path_of(claim.metadata.namespace, claim.metadata.name)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            data: Any = await io.request("GET", path)
            meta: Json = data["metadata"]
            if meta["uid"] != claim.metadata.uid:
                return
            if FINALIZER in meta.get("finalizers", []):
                meta["finalizers"] = [f for f in meta["finalizers"] if f != FINALIZER]
                await io.request("PUT", path, data)
            await io.request("DELETE", path)
        except Exception as problem:
            if status_of(problem) == NOT_FOUND:
                return
            if attempt == ATTEMPTS or status_of(problem) != CONFLICT:
                raise
        else:
            return


async def tell_pod(io: Io, pod: PodInfo, claim: ResourceClaim, mapped: Sequence[Mapped]) -> None:
    """Note in the pod's status which claim serves its extended resources."""
    what = f"pod {pod.key} ExtendedResourceClaimStatus"
    if not mapped:
        raise NotWritten(f"nil or empty request mappings, no update of {what}")
    status = {
        "resourceClaimName": claim.metadata.name,
        "requestMappings": [msgspec.to_builtins(each) for each in mapped],
    }
    body = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": status}}
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
    try:
        await io.request("PATCH", path, body)
    except Exception as problem:
        raise NotWritten(f"update {what}: {problem}") from problem
