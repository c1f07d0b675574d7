"""Slices, classes and claims as an API server sends them, and a world that has devices."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairlead.cycle.decision import Decision, Detail, Placed
from fairlead.cycle.reserve import unreserve
from fairlead.model.decode import DECODERS
from fairlead.model.node import Node
from fairlead.model.pod import Pod
from fairlead.model.resource import ResourceClaim
from tests.builders import World, pod

Json = dict[str, Any]
DRIVER = "gpu.example.com"


def decoded(kind: str, wire: Json) -> Any:
    return DECODERS[kind](msgspec.json.encode(wire))


def device(name: str, **more: Any) -> Json:
    """A device; attributes are given by value, capacity by quantity."""
    attributes = {key: {wire(v): v} for key, v in more.pop("attributes", {}).items()}
    capacity = {
        key: amount if isinstance(amount, dict) else {"value": amount}
        for key, amount in more.pop("capacity", {}).items()
    }
    return {"name": name, "attributes": attributes, "capacity": capacity, **more}


def wire(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    return "int" if isinstance(value, int) else "string"


def consuming(**amounts: str) -> list[Json]:
    """What a device takes of the set of counters `shared`."""
    return [{"counterSet": "shared", "counters": {k: {"value": v} for k, v in amounts.items()}}]


def resource_slice(
    name: str,
    *devices: Json,
    node: str = "",
    pool: str = "",
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> Json:
    """A slice of one node's pool; without a node, of what `spec` says."""
    where = {"nodeName": node} if node else {}
    body = {
        "driver": DRIVER,
        "pool": {"name": pool or node, "generation": generation, "resourceSliceCount": count},
        "devices": list(devices),
    }
    return {"metadata": {"name": name, "uid": name}, "spec": {**body, **where, **spec}}


def device_class(name: str = "gpu", expression: str = "true", **spec: Any) -> Json:
    selectors = [{"cel": {"expression": expression}}]
    return {"metadata": {"name": name, "uid": name}, "spec": {"selectors": selectors, **spec}}


def exactly(name: str = "r", *, selector: str = "", count: int = 1, **more: Any) -> Json:
    """A request for exactly so many devices."""
    selectors = [{"cel": {"expression": selector}}] if selector else []
    body = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": count,
        "selectors": selectors,
        **more,
    }
    return {"name": name, "exactly": body}


def first_of(name: str, *alternatives: Json) -> Json:
    flat = [{"name": each["name"], **each["exactly"]} for each in alternatives]
    return {"name": name, "firstAvailable": flat}


_versions = itertools.count(1)


def claim(
    name: str,
    *requests: Json,
    allocated: Sequence[str] | None = None,
    pool: str = "",
    on: str = "",
    users: Sequence[str] = (),
    constraints: Sequence[Json] = (),
    **metadata: Any,
) -> Json:
    """A claim; `allocated` are the devices of the pool that it has."""
    status: Json = {}
    if allocated is not None:
        results = [
            {"request": "r", "driver": DRIVER, "pool": pool or on, "device": each}
            for each in allocated
        ]
        status["allocation"] = {"devices": {"results": results}}
        if on:
            here = {"key": "metadata.name", "operator": "In", "values": [on]}
            status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [here]}]}
    if users:
        status["reservedFor"] = [{"resource": "pods", "name": u, "uid": u} for u in users]
    meta = {"name": name, "namespace": "default", "uid": f"claim-{name}"}
    return {
        "metadata": {**meta, "resourceVersion": str(next(_versions)), **metadata},
        "spec": {
            "devices": {"requests": list(requests or (exactly(),)), "constraints": constraints}
        },
        "status": status,
    }


def user(name: str, *claims: str, **more: Any) -> Pod:
    """A pod that has these claims by name."""
    given = [{"name": each, "resourceClaimName": each} for each in claims]
    return pod(name, spec={"resourceClaims": given, **more.pop("spec", {})}, **more)


def templated(name: str, claim_name: str, statuses: Sequence[Json]) -> Pod:
    """A pod with a claim from a template, and what its status says of the claim made from it."""
    given = [{"name": claim_name, "resourceClaimTemplateName": "template"}]
    made = pod(name, spec={"resourceClaims": given})
    told = msgspec.Raw(msgspec.json.encode(list(statuses)))
    status = msgspec.structs.replace(made.status, resource_claim_statuses=told)
    return msgspec.structs.replace(made, status=status)


class DeviceWorld(World):
    """A world into which devices and claims are put as well."""

    def put(self, kind: str, *objects: Json) -> None:
        for each in objects:
            self.core.intake.set_object(kind, decoded(kind, each))

    def slices(self, *objects: Json) -> None:
        self.put("ResourceSlice", *objects)

    def claims(self, *objects: Json) -> None:
        self.put("ResourceClaim", *objects)

    def classes(self, *objects: Json) -> None:
        self.put("DeviceClass", *objects)

    def remove(self, kind: str, name: str, namespace: str = "") -> None:
        self.core.intake.remove_object(kind, namespace, name)

    def look(self, each: Pod) -> Detail:
        """All that is found about a pod; devices that it would get are given back."""
        decision, detail = self.decided(each)
        if isinstance(decision, Placed) and decision.state is not None:
            unreserve(self.profile, decision.pod, decision.node_name, decision.state)
        self.cluster.forget(each.metadata.uid)
        return detail

    def said(self, each: Pod) -> Mapping[str, str]:
        """The reasons on each node, "" where the pod fits; and under "message" the pod's."""
        detail = self.look(each)
        found = {} if detail.filter is None else detail.filter
        return {
            name: "" if refusal is None else refusal.status.message
            for name, refusal in sorted(found.items())
        }

    def claim(self, name: str) -> ResourceClaim | None:
        return self.cluster.nodes.devices.claims.get("default", name)

    def decided(self, each: Pod) -> tuple[Decision, Detail]:
        detail = Detail()
        return self.decide(each, detail), detail


def with_gpus(*nodes: Node, count: int = 2) -> DeviceWorld:
    """Nodes with so many devices each, and the class `gpu`."""
    world = DeviceWorld(*nodes)
    world.classes(device_class())
    for each in nodes:
        name = each.metadata.name
        devices = [device(f"gpu-{at}", attributes={"index": at}) for at in range(count)]
        world.slices(resource_slice(f"{name}-gpus", *devices, node=name))
    return world
