"""The family about devices that are cut into parts or shared."""

from __future__ import annotations

from .basics import Dice, Json
from .devices import (
    DEVICES,
    attribute,
    cel,
    device_class,
    in_use,
    resource_claim,
    resource_slice,
)
from .objects import pod
from .world import World, family, landscape, ordinary_need


def partitions(w: World, node: str) -> None:
    """Offer a device in parts, which share its memory and slices; some parts are in use."""
    d = w.d
    sizes = {"whole": (80, 7), "half": (40, 3), "small": (10, 1)}

    def part(kind: str, index: int) -> Json:
        memory, slices = sizes[kind]
        return {
            "name": f"{kind}-{index}",
            "attributes": {"kind": {"string": kind}},
            "consumesCounters": [
                {
                    "counterSet": "gpu",
                    "counters": {
                        "memory": {"value": f"{memory}Gi"},
                        "slices": {"value": str(slices)},
                    },
                }
            ],
        }

    parts = [
        part("whole", 0),
        part("half", 0),
        part("half", 1),
        *(part("small", i) for i in range(d.randint(2, 7))),
    ]
    counters = {"memory": {"value": "80Gi"}, "slices": {"value": "7"}}
    shared = resource_slice(
        f"{node}-counters",
        DEVICES,
        node,
        [],
        slices=2,
        nodeName=node,
        sharedCounters=[{"name": "gpu", "counters": counters}],
    )
    del shared["spec"]["devices"]
    w.add(shared, resource_slice(f"{node}-parts", DEVICES, node, parts, slices=2, nodeName=node))
    for used in d.choice(
        ([], [], ["whole-0"], ["half-0"], ["half-0", "small-1"], ["small-0"], ["half-0", "half-1"])
    ):
        in_use(w, node, {"device": used})


def shares(w: World, node: str) -> None:
    """Offer devices of which each may serve several claims, up to its bandwidth."""
    d = w.d
    policy = d.choice(
        (
            {},
            {"requestPolicy": {"default": "1G", "validRange": {"min": "1G", "step": "1G"}}},
            {"requestPolicy": {"default": "2G", "validValues": ["1G", "2G", "4G"]}},
            {"requestPolicy": {"default": "1G", "validRange": {"min": "500M", "max": "6G"}}},
        )
    )
    count = d.randint(1, 2)
    devices = [
        {
            "name": f"link-{i}",
            "allowMultipleAllocations": True,
            "attributes": {"index": {"int": i}},
            "capacity": {"bandwidth": {"value": "10G"} | policy},
        }
        for i in range(count)
    ]
    w.add(resource_slice(f"{node}-links", DEVICES, node, devices, nodeName=node))
    for _ in range(d.randint(0, 4)):
        share = f"00000000-0000-4000-8000-{len(w.placed):012d}"
        in_use(
            w,
            node,
            {
                "device": f"link-{d.randrange(count)}",
                "shareID": share,
                "consumedCapacity": {"bandwidth": d.choice(("1G", "2G", "4G"))},
            },
        )


@family("dra-advanced")
def dra_advanced(d: Dice) -> Json:
    """Devices that are cut into parts or shared, and constraints on what is chosen."""
    w = landscape(d, d.randint(2, 10), uniform=0.3)
    w.add(device_class("gpu", DEVICES))
    way = d.choice((partitions, shares))
    for node in w.nodes:
        if d.chance(0.85):
            way(w, node)
    claims = []
    for i in range(d.choice((1, 1, 2))):
        if way is partitions:
            kind = cel(f'{attribute("kind")} == "{d.choice(("whole", "half", "small"))}"')
            body: Json = {"count": d.choice((1, 1, 2, 4))} | (
                {"selectors": [kind]} if d.chance(0.8) else {}
            )
        else:
            body = {"count": d.choice((1, 1, 1, 2))}
            if d.chance(0.85):
                wanted = d.choice(("500M", "1G", "1500M", "3G", "6G", "9G", "11G"))
                body["capacity"] = {"requests": {"bandwidth": wanted}}
        requests = [
            {
                "name": f"r{j}",
                "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount"} | body,
            }
            for j in range(d.choice((1, 1, 2)))
        ]
        spec: Json = {"requests": requests}
        if d.chance(0.3):
            names = [r["name"] for r in requests]
            spec["constraints"] = [
                {
                    "requests": names,
                    d.choice(
                        ("matchAttribute", "distinctAttribute")
                    ): f"{DEVICES}/{'kind' if way is partitions else 'index'}",
                }
            ]
        claims.append(resource_claim(f"claim{i}", {"devices": spec}))
    w.add(*claims)
    references = [{"name": f"c{i}", "resourceClaimName": f"claim{i}"} for i in range(len(claims))]
    pending = pod(d, "pending", need=ordinary_need(d), resourceClaims=references)
    pending["spec"]["containers"][0]["resources"]["claims"] = [
        {"name": r["name"]} for r in references
    ]
    return w.case(pending)
