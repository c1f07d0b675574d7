"""Families about devices and resource claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .basics import ZONE, Dice, Json
from .objects import expression, pod, pod_reference, thing, timestamp
from .world import World, family, landscape, ordinary_need

DEVICES, NICS = "gpu.example.com", "nic.example.com"
MODELS = {"a100": 40, "h100": 80, "t4": 16}


def cel(text: str) -> Json:
    return {"cel": {"expression": text}}


def attribute(name: str, driver: str = DEVICES) -> str:
    return f'device.attributes["{driver}"].{name}'


def device_selectors(d: Dice) -> list[Json]:
    amount = d.choice((10, 20, 40, 80))
    memory = f'device.capacity["{DEVICES}"].memory'
    return d.some(
        (
            cel(f'{attribute("model")} == "{d.choice([*MODELS])}"'),
            cel(f'{attribute("model")} in ["a100", "h100"]'),
            cel(f'{memory}.compareTo(quantity("{amount}Gi")) >= 0'),
            cel(f'{memory}.isGreaterThan(quantity("{amount}Gi")) || {attribute("healthy")}'),
            cel(
                f"{attribute('healthy')} && {attribute('index')} "
                f"{d.choice(('<', '>=', '=='))} {d.randint(0, 3)}"
            ),
            cel(f'{attribute("firmware")}.isLessThan(semver("{d.choice(("1.2.0", "2.0.0"))}"))'),
            cel(f'device.driver == "{d.choice((DEVICES, NICS))}"'),
            cel(
                f'"numa" in device.attributes["{DEVICES}"] && '
                f"{attribute('numa')} == {d.randint(0, 1)}"
            ),
            cel(f'{attribute("model")}.startsWith("{d.choice("aht")}")'),
        ),
        0,
        2,
    )


def device(d: Dice, index: int) -> Json:
    model = d.choice([*MODELS])
    out: Json = {
        "name": f"gpu-{index}",
        "attributes": {
            "model": {"string": model},
            "index": {"int": index},
            "healthy": {"bool": d.chance(0.8)},
            "firmware": {"version": d.choice(("1.0.0", "1.2.0", "2.1.3"))},
            "numa": {"int": index % 2},
        },
        "capacity": {"memory": {"value": f"{MODELS[model]}Gi"}},
    }
    if d.chance(0.1):
        effect = d.choice(("NoSchedule", "NoExecute", "None"))
        out["taints"] = [
            {
                "key": "example.com/flaky",
                "value": "yes",
                "effect": effect,
                "timeAdded": timestamp(0),
            }
        ]
    return out


def resource_slice(
    name: str,
    driver: str,
    pool: str,
    devices: list[Json],
    *,
    generation: int = 1,
    slices: int = 1,
    **where: Any,
) -> Json:
    return thing(
        "resource.k8s.io/v1",
        "ResourceSlice",
        name,
        spec={
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": slices},
            "devices": devices,
        }
        | where,
    )


def device_class(name: str, driver: str, **fields: Any) -> Json:
    return thing(
        "resource.k8s.io/v1",
        "DeviceClass",
        name,
        spec={"selectors": [cel(f'device.driver == "{driver}"')]} | fields,
    )


def request(d: Dice, name: str, kind: str, **fields: Any) -> Json:
    body: Json = {"deviceClassName": kind, "allocationMode": "ExactCount", "count": 1} | fields
    if body["allocationMode"] == "All":
        del body["count"]
    selectors = device_selectors(d) if kind == "gpu" and d.chance(0.45) else []
    return {"name": name} | body | ({"selectors": selectors} if selectors else {})


def claim_spec(d: Dice) -> Json:
    """Draw what a claim asks for: exactly something, or the first available of alternatives."""
    requests: list[Json] = []
    for i in range(d.choice((1, 1, 1, 2))):
        match d.weighted({"some": 6, "all": 0.7, "either": 4, "nic": 1.5, "tolerant": 0.5}):
            case "all":
                body = request(d, f"r{i}", "gpu", allocationMode="All")
            case "either":
                counts = sorted(
                    d.some((1, 1, 2, 3, 4), 1, 3), reverse=True
                )  # the best offer comes first
                options = [
                    request(d, f"o{j}", "gpu", count=count) for j, count in enumerate(counts)
                ]
                requests.append({"name": f"r{i}", "firstAvailable": options})
                continue
            case "nic":
                body = request(d, f"r{i}", "nic")
            case "tolerant":
                body = request(
                    d,
                    f"r{i}",
                    "gpu",
                    tolerations=[{"key": "example.com/flaky", "operator": "Exists"}],
                )
            case _:
                body = request(d, f"r{i}", "gpu", count=d.choice((1, 1, 2, 3)))
        requests.append({"name": body.pop("name"), "exactly": body})
    out: Json = {"requests": requests}
    if d.chance(0.25):
        out["constraints"] = [
            {
                "requests": [r["name"] for r in requests],
                "matchAttribute": f"{DEVICES}/{d.choice(('model', 'numa'))}",
            }
        ]
    return {"devices": out}


def resource_claim(
    name: str, spec: Json, *, metadata: Json | None = None, status: Json | None = None
) -> Json:
    return thing(
        "resource.k8s.io/v1",
        "ResourceClaim",
        name,
        "default",
        metadata=metadata,
        spec=spec,
        status=status,
    )


def one_device(kind: str) -> Json:
    return {
        "devices": {
            "requests": [
                {
                    "name": "r0",
                    "exactly": {
                        "deviceClassName": kind,
                        "allocationMode": "ExactCount",
                        "count": 1,
                    },
                }
            ]
        }
    }


def allocated(result: Json, node: str | None, users: Sequence[Json] = ()) -> Json:
    """The status of a claim that has a device, on a node or anywhere, reserved for some pods."""
    allocation: Json = {"devices": {"results": [{"request": "r0"} | result]}}
    if node:
        allocation["nodeSelector"] = {
            "nodeSelectorTerms": [{"matchFields": [expression("metadata.name", "In", node)]}]
        }
    out: Json = {"allocation": allocation}
    if users:
        out["reservedFor"] = [
            {"resource": "pods", "name": p["metadata"]["name"], "uid": p["metadata"]["uid"]}
            for p in users
        ]
    return out


def in_use(w: World, node: str, result: Json) -> None:
    """Let a running pod use a device of the node's pool."""
    name = f"used{len(w.placed)}"
    user = w.place(
        node,
        resourceClaims=[{"name": "device", "resourceClaimName": name}],
        priority=w.d.choice((0, 10)),
    )
    w.add(
        resource_claim(
            name,
            one_device("gpu"),
            status=allocated({"driver": DEVICES, "pool": node} | result, node, [user]),
        )
    )


def device_world(w: World) -> dict[str, list[Json]]:
    """Add device classes and the devices of each node; return the devices by node."""
    d = w.d
    extended = {"extendedResourceName": "example.com/accelerator"} if d.chance(0.5) else {}
    w.add(device_class("gpu", DEVICES, **extended), device_class("nic", NICS))
    devices: dict[str, list[Json]] = {}
    for node in w.nodes:
        devices[node] = [device(d, i) for i in range(d.choice((0, 1, 2, 4, 4, 6)))]
        if not devices[node]:
            continue
        if len(devices[node]) > 2 and d.chance(
            0.3
        ):  # a pool in two slices, one of which may be missing
            halves = [devices[node][:2], devices[node][2:]]
            for i, half in enumerate(halves[:1] if d.chance(0.2) else halves):
                w.add(
                    resource_slice(f"{node}-gpu-{i}", DEVICES, node, half, slices=2, nodeName=node)
                )
            continue
        w.add(resource_slice(f"{node}-gpu", DEVICES, node, devices[node], nodeName=node))
        if d.chance(0.1):  # an outdated slice
            w.add(
                resource_slice(
                    f"{node}-old", DEVICES, node, [device(d, 9)], generation=0, nodeName=node
                )
            )
    where = d.choice(
        (
            {"allNodes": True},
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [{"matchExpressions": [expression(ZONE, "In", "zone-a")]}]
                }
            },
        )
    )
    if d.chance(0.8):
        w.add(
            resource_slice(
                "nics",
                NICS,
                "shared",
                [{"name": f"nic-{i}"} for i in range(d.randint(1, 3))],
                **where,
            )
        )
    return devices


@family("dra")
def dra(d: Dice) -> Json:
    w = landscape(d, d.randint(2, 12), uniform=0.3)
    devices = device_world(w)
    for node, own in devices.items():
        for used in d.some(own, 0, len(own)) if d.chance(0.5) else []:
            in_use(w, node, {"device": used["name"]})
    pending = pod(d, "pending", need=ordinary_need(d), priority=d.choice((0, 100)))
    spec = pending["spec"]
    if d.chance(0.12):
        amount = str(d.choice((1, 2)))
        name = d.weighted(
            {"example.com/accelerator": 2, "deviceclass.resource.kubernetes.io/gpu": 1}
        )
        for part in ("requests", "limits"):
            spec["containers"][0]["resources"].setdefault(part, {})[name] = amount
        if d.chance(0.3):
            for node in d.some(w.nodes, 1, 3):  # a device plugin offers it
                w.nodes[node]["status"]["allocatable"]["example.com/accelerator"] = "2"
        return w.case(pending)
    references = []
    for i in range(d.choice((1, 1, 1, 2))):
        name = f"claim{i}"
        reference = {"name": f"c{i}", "resourceClaimName": name}
        body = claim_spec(d)
        match d.weighted(
            {
                "new": 9,
                "template": 2,
                "allocated": 2,
                "missing": 0.6,
                "class": 0.5,
                "busy": 0.6,
                "deleted": 0.3,
            }
        ):
            case "new":
                w.add(resource_claim(name, body))
            case "template":
                reference = {"name": f"c{i}", "resourceClaimTemplateName": "template"}
                statuses = pending.setdefault("status", {}).setdefault("resourceClaimStatuses", [])
                if d.chance(0.9):
                    statuses.append({"name": f"c{i}", "resourceClaimName": name})
                metadata = {"ownerReferences": pod_reference(pending)} if d.chance(0.9) else {}
                w.add(resource_claim(name, body, metadata=metadata))
            case "allocated" | "busy" as kind:
                node = d.choice([*w.nodes])
                others = [pod(d, f"other{j}") for j in range(256)] if kind == "busy" else []
                if kind == "allocated" and d.chance(0.4):
                    others = [
                        w.place(
                            node, resourceClaims=[{"name": "device", "resourceClaimName": name}]
                        )
                    ]
                result = {"driver": NICS, "pool": "private", "device": f"nic-{i}"}
                w.add(
                    resource_claim(
                        name,
                        one_device("nic"),
                        status=allocated(result, node if d.chance(0.9) else None, others),
                    )
                )
            case "class":
                w.add(resource_claim(name, one_device("unheard-of")))
            case "deleted":
                w.add(
                    resource_claim(
                        name,
                        body,
                        metadata={
                            "deletionTimestamp": timestamp(80000),
                            "finalizers": ["example.com/in-use"],
                        },
                    )
                )
        references.append(reference)
    spec["resourceClaims"] = references
    spec["containers"][0]["resources"]["claims"] = [{"name": r["name"]} for r in references]
    return w.case(pending, repeat=4)
