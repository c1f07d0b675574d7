"""Clusters in the making, and the register of families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .basics import (
    AGE,
    ARCH,
    CPU,
    DISK,
    DISKTYPE,
    FPGA,
    GI,
    GPU,
    HOSTNAME,
    INSTANCE,
    LICENSE,
    MEMORY,
    MI,
    PODS,
    RACK,
    REGION,
    ZONE,
    Dice,
    Json,
    Need,
    quantities,
    split,
)
from .objects import pod, thing, timestamp


class World:
    """A cluster in the making."""

    def __init__(self, d: Dice) -> None:
        self.d = d
        self.objects: list[Json] = []
        self.nodes: dict[str, Json] = {}
        self.size: dict[str, Need] = {}
        self.free: dict[str, Need] = {}
        self.placed: list[Json] = []

    def add(self, *objects: Json) -> None:
        self.objects.extend(objects)

    def add_node(self, name: str, size: Need, labels: Json, **spec: Any) -> Json:
        node = thing(
            "v1",
            "Node",
            name,
            metadata={"labels": {HOSTNAME: name} | labels},
            spec={key: value for key, value in spec.items() if value},
            status={"allocatable": quantities(self.d, size, odd=0.1)},
        )
        self.nodes[name] = node
        self.size[name], self.free[name] = dict(size), dict(size)
        return node

    def label(self, node: str, key: str) -> str | None:
        labels: dict[str, str] = self.nodes[node]["metadata"]["labels"]
        return labels.get(key)

    def place(
        self,
        node: str,
        name: str | None = None,
        *,
        need: Need | None = None,
        shape: str = "plain",
        namespace: str = "default",
        **fields: Any,
    ) -> Json:
        """Put a running pod on a node; pods start one after another, in the order of calls."""
        need = need or {}
        status = {"phase": "Running", "startTime": timestamp(37 * len(self.placed))} | fields.pop(
            "status", {}
        )
        out = pod(
            self.d,
            name or f"p{len(self.placed):03d}",
            namespace,
            need=need,
            shape=shape,
            nodeName=node,
            status=status,
            **fields,
        )
        self.placed.append(out)
        for resource, amount in {**need, PODS: 1}.items():
            self.free[node][resource] = self.free[node].get(resource, 0) - amount
        return out

    def crowd(
        self,
        most: int,
        *,
        low: float = 0.0,
        high: float = 0.9,
        shapes: Sequence[str] = ("plain",),
        **fields: Callable[[str], Any],
    ) -> None:
        """Put up to so many pods on each node, using a share of it between low and high.

        Further fields of the pods are drawn by calling functions with the name of the node.
        """
        for node in self.nodes:
            number = min(self.d.randint(0, most), max(0, 120 - len(self.placed)))
            if not number:
                continue
            share = self.d.uniform(low, high)
            budget = {r: int(self.free[node].get(r, 0) * share) for r in (CPU, MEMORY)}
            for need in split(self.d, budget, number):
                drawn = {key: draw(node) for key, draw in fields.items()}
                self.place(node, need=need, shape=self.d.choice(shapes), **drawn)

    def case(self, pending: Json | list[Json], **fields: Any) -> Json:
        """Finish the case. The objects are shuffled, since their order must not matter."""
        objects = self.objects + list(self.nodes.values()) + self.placed
        self.d.shuffle(objects)
        out: Json = {key: value for key, value in fields.items() if value is not None}
        out["objects"] = objects
        return out | ({"pods": pending} if isinstance(pending, list) else {"pod": pending})


def number_of_nodes(d: Dice) -> int:
    return d.weighted({d.randint(3, 8): 6, d.randint(9, 20): 3, d.randint(21, 40): 1})


def landscape(
    d: Dice,
    count: int | None = None,
    *,
    gaps: float = 0.0,
    uniform: float = 0.4,
    extended: float = 0.0,
) -> World:
    """Make nodes in zones and racks.

    `gaps` is the chance that a node lacks a label, `uniform` that all are of one size.
    """
    w = World(d)
    count = count or number_of_nodes(d)
    zones = [f"zone-{letter}" for letter in "abcd"[: d.randint(2, 4)]]
    alike = d.chance(uniform)
    cores, gigabytes = d.choice((2, 4, 8)), d.choice((8, 16, 32))
    for i in range(count):
        if not alike:
            cores, gigabytes = d.choice((2, 4, 8, 16)), d.choice((4, 8, 16, 32, 64))
        size = {
            CPU: cores * 1000 - d.choice((0, 0, 80, 130)),
            MEMORY: gigabytes * GI - d.choice((0, 0, 300 * MI)),
            DISK: d.choice((50, 100, 200)) * GI,
            PODS: d.choice((110, 110, 110, 30, 250)),
        }
        if d.chance(extended):
            size |= {d.choice((GPU, FPGA, LICENSE)): d.choice((1, 2, 4, 8))}
        zone = d.choice(zones)
        labels = {
            ZONE: zone,
            REGION: "north" if zone < "zone-c" else "south",
            RACK: f"{zone[-1]}{d.randint(1, 3)}",
            INSTANCE: f"m{cores}",
            ARCH: d.choice(("amd64", "amd64", "amd64", "arm64")),
            DISKTYPE: d.choice(("ssd", "hdd")),
            AGE: d.choice(("1", "2", "3", "10")),
        }
        for key in (ZONE, RACK, DISKTYPE, AGE):
            if d.chance(gaps):
                del labels[key]
        w.add_node(f"n{i:02d}", size, labels)
    return w


def ordinary_need(d: Dice) -> Need:
    return {
        CPU: d.choice((50, 100, 250, 500, 1000)),
        MEMORY: d.choice((64, 128, 256, 512, 1024)) * MI,
    }


def close_need(w: World, resources: Sequence[str] = (CPU, MEMORY)) -> Need:
    """Draw needs close to what is free on some node, so that they fit on some nodes only."""
    d = w.d

    def room(free: Need) -> float:
        return min(free.get(r, 0) / (GI if r == MEMORY else 1000) for r in resources)

    by_room = sorted(w.free.values(), key=room)
    free = by_room[d.randint(len(by_room) // 4, len(by_room) - 1)]
    need = {}
    for resource in resources:
        unit = 2 * MI if resource.startswith("hugepages-") else 1
        left = free.get(resource, 0)
        if left <= 0:
            left = 1000 if resource in (CPU, MEMORY, DISK) else unit * d.choice((1, 2))
        change = d.weighted(
            {0: 4, unit: 2, -unit: 1, -(left // unit // 3 * unit): 3, left // unit // 5 * unit: 1}
        )
        need[resource] = max(unit, left + change)
    return need


FAMILIES: dict[str, Callable[[Dice], Json]] = {}


def family(name: str) -> Callable[[Callable[[Dice], Json]], Callable[[Dice], Json]]:
    def register(make: Callable[[Dice], Json]) -> Callable[[Dice], Json]:
        FAMILIES[name] = make
        return make

    return register
