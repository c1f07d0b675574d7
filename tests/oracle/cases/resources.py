"""Families about resources and scoring strategies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .basics import (
    ARCH,
    CPU,
    DISK,
    DISKTYPE,
    FPGA,
    GI,
    GPU,
    HOSTNAME,
    HUGE,
    LICENSE,
    MEMORY,
    MI,
    PODS,
    TI,
    ZONE,
    Dice,
    Json,
    Need,
    quantities,
    scaled,
    split,
)
from .objects import SHAPES, affinity, arguments, configuration, expression, pod, profile, terms
from .world import World, close_need, family, landscape, number_of_nodes, ordinary_need


def resized(w: World, node: str, need: Need) -> None:
    """Place a pod that is being resized: the largest of wish, grant and fact counts."""
    d = w.d
    wish, granted, actual = scaled(need, 0.5), scaled(need, d.choice((0.5, 1))), need
    condition = d.choice((None, "Deferred", "Infeasible"))
    if condition == "Infeasible":  # then the wish does not count
        wish = scaled(need, 2)
    status: Json = {
        "containerStatuses": [
            {
                "name": "main",
                "ready": True,
                "restartCount": 0,
                "image": "registry.example/app:1.0",
                "imageID": "",
                "allocatedResources": quantities(d, granted),
                "resources": {"requests": quantities(d, actual)},
            }
        ]
    }
    if condition:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": condition}]
    main = {
        "name": "main",
        "image": "registry.example/app:1.0",
        "resources": {"requests": quantities(d, wish)},
    }
    w.place(node, status=status, containers=[main])
    for resource, amount in need.items():
        w.free[node][resource] -= amount


def resource_world(d: Dice) -> World:
    """Make nodes of odd sizes with pods of all shapes."""
    w = World(d)
    kinds = d.some((GPU, FPGA, LICENSE, HUGE), 0, 2)
    for i in range(number_of_nodes(d)):
        size = {
            CPU: d.choice((1900, 2000, 3920, 4000, 7910, 8000, 16000, 64000)),
            MEMORY: d.choice(
                (2 * GI, 3 * GI + GI // 2, 8 * GI, 15_933_000_000, 123_456_789_000, 64 * GI, TI)
            ),
            PODS: d.choice((110, 110, 110, 8, 4)),
        }
        if d.chance(0.8):
            size[DISK] = d.choice((20 * GI, 100 * GI, 47_093_746_742, 10**12, 10**18))
        for kind in kinds:
            if d.chance(0.7):
                size[kind] = (
                    d.choice((256, 512, 1024)) * MI
                    if kind == HUGE
                    else d.choice((0, 1, 2, 4, 8, 1000))
                )
        w.add_node(f"n{i:02d}", size, {ZONE: f"zone-{d.choice('abc')}"})
    for node, free in w.free.items():
        share = d.choice((0, 0.2, 0.5, 0.8, 0.95, 1))
        budget = {r: amount for r, amount in scaled(free, share).items() if r != PODS and amount}
        number = max(0, min(d.randint(0, 5), free[PODS], 120 - len(w.placed)))
        for need in split(d, budget, number) if number else ():
            if not need.get(CPU):
                need.pop(HUGE, None)
            if d.chance(0.08):
                resized(w, node, {r: need[r] for r in (CPU, MEMORY) if r in need})
            else:
                w.place(node, need=need, shape=d.choice(SHAPES))
        for _ in range(d.choice((0, 0, 0, 1, 2))):
            if w.free[node][PODS] > 0:
                w.place(node)
    return w


def pending_resources(w: World, name: str = "pending", **fields: Any) -> Json:
    d = w.d
    kinds = sorted({r for size in w.free.values() for r in size} - {CPU, MEMORY, PODS})
    match d.weighted({"close": 12, "nothing": 1, "zero": 1, "nearly nothing": 1}):
        case "nothing":
            return pod(d, name, **fields)
        case "zero":
            return pod(
                d, name, need={CPU: 0, MEMORY: 0, **dict.fromkeys(d.some(kinds, 0, 1), 0)}, **fields
            )
        case "nearly nothing":
            return pod(
                d, name, need=d.choice(({CPU: 1}, {MEMORY: 1}, {CPU: 1, MEMORY: 0})), **fields
            )
    need = close_need(
        w, d.choice(((CPU,), (MEMORY,), (CPU, MEMORY), (CPU, MEMORY))) + tuple(d.some(kinds, 0, 2))
    )
    if HUGE in need and CPU not in need:
        need[CPU] = 100
    return pod(d, name, need=need, shape=d.choice(SHAPES), **fields)


@family("resources")
def resources(d: Dice) -> Json:
    w = resource_world(d)
    return w.case(pending_resources(w))


def shape_points(d: Dice) -> list[Json]:
    points = sorted(d.some(range(101), 1, 5))
    return [{"utilization": x, "score": d.randint(0, 10)} for x in points]


def weighted_resources(d: Dice, heaviest: int = 100) -> list[Json]:
    names = [CPU, MEMORY, *d.some((DISK, GPU, FPGA, LICENSE, "example.com/nowhere"), 0, 3)]
    if d.chance(0.3):
        names = d.some(names, 1, len(names))
    return [{"name": name, "weight": d.randint(1, heaviest)} for name in names]


def fit_arguments(d: Dice) -> Json:
    kind = d.choice(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))
    strategy: Json = {"type": kind}
    if d.chance(0.8):
        strategy["resources"] = weighted_resources(d, d.choice((1, 5, 100)))
    if kind == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": shape_points(d)}
    fields: Json = {"scoringStrategy": strategy}
    if d.chance(0.2):
        fields["ignoredResources"] = d.some((GPU, FPGA, LICENSE), 1, 2)
    if d.chance(0.2):
        fields["ignoredResourceGroups"] = d.some(("nvidia.com", "example.com"), 1, 1)
    return arguments("NodeResourcesFit", **fields)


SCORERS = (
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "TaintToleration",
    "NodeAffinity",
    "InterPodAffinity",
    "PodTopologySpread",
    "DynamicResources",
)
POINTS_OF = {
    "NodeResourcesFit": ("preFilter", "filter", "preScore", "score"),
    "NodeResourcesBalancedAllocation": ("preScore", "score"),
    "TaintToleration": ("filter", "preScore", "score"),
    "NodeAffinity": ("preFilter", "filter", "preScore", "score"),
    "InterPodAffinity": ("preFilter", "filter", "score"),
    "PodTopologySpread": ("preFilter", "filter", "preScore", "score"),
    "ImageLocality": ("score",),
    "NodePorts": ("preFilter", "filter"),
    "NodeUnschedulable": ("filter",),
    "DefaultPreemption": ("postFilter",),
}


def plugin_rules(d: Dice) -> Json:
    """Draw rules that change which plugins run, with which weight, and in which order."""

    def with_weights(names: Iterable[str]) -> list[Json]:
        return [{"name": name, "weight": d.choice((1, 2, 3, 5, 10, 50))} for name in names]

    match d.randint(1, 8):
        case 1:
            return {"score": {"enabled": with_weights(d.some(SCORERS, 1, 4))}}
        case 2:
            return {
                "score": {
                    "disabled": [{"name": "*"}],
                    "enabled": with_weights(d.some(SCORERS, 1, 4)),
                }
            }
        case 3:
            return {"score": {"disabled": [{"name": name} for name in d.some(SCORERS, 1, 3)]}}
        case 4:
            name = d.choice(sorted(POINTS_OF))
            return {
                point: {"disabled": [{"name": name}]} for point in d.some(POINTS_OF[name], 1, 4)
            }
        case 5:
            return {
                "multiPoint": {
                    "disabled": [{"name": name} for name in d.some(sorted(POINTS_OF), 1, 3)]
                }
            }
        case 6:
            return {"multiPoint": {"enabled": with_weights(d.some(SCORERS, 1, 3))}}
        case 7:
            names = [
                "PrioritySort",
                "DefaultBinder",
                "NodeResourcesFit",
                *d.some(sorted(POINTS_OF), 1, 4),
            ]
            names = list(dict.fromkeys(names))
            return {"multiPoint": {"disabled": [{"name": "*"}], "enabled": with_weights(names)}}
        case _:
            name = d.choice(SCORERS[:7])
            return {
                "multiPoint": {"disabled": [{"name": name}]},
                "score": {"enabled": with_weights([name])},
            } | (
                {"preFilter": {"enabled": [{"name": name}]}}
                if "preFilter" in POINTS_OF[name]
                else {}
            )


@family("strategies")
def strategies(d: Dice) -> Json:
    w = landscape(d, extended=0.6, uniform=0.3)
    for node in w.nodes:
        if d.chance(0.2):
            w.nodes[node]["spec"]["taints"] = [
                {"key": "spot", "effect": d.choice(("PreferNoSchedule", "NoSchedule"))}
            ]
        w.nodes[node]["status"]["images"] = [
            {"names": [f"registry.example/app:{version}"], "sizeBytes": d.randint(30, 900) * MI}
            for version in d.some(("1.0", "2.0"), 0, 2)
        ]
    w.crowd(5, high=1.0, labels=lambda _: {"app": d.choice(("web", "db"))})
    profiles = []
    for name in ("default-scheduler", "second", "third")[: d.choice((1, 1, 2, 3))]:
        chosen = []
        if d.chance(0.7):
            chosen.append(fit_arguments(d))
        if d.chance(0.3):
            chosen.append(
                arguments(
                    "NodeResourcesBalancedAllocation",
                    resources=[r | {"weight": 1} for r in weighted_resources(d)],
                )
            )
        if d.chance(0.1):
            only = {"nodeSelectorTerms": [{"matchExpressions": [expression(ARCH, "In", "amd64")]}]}
            chosen.append(arguments("NodeAffinity", addedAffinity=terms(only, None)))
        profiles.append(
            profile(*chosen, name=name, plugins=plugin_rules(d) if d.chance(0.6) else None)
        )
    fields = {"percentageOfNodesToScore": d.choice((0, 1, 50, 100))} if d.chance(0.2) else {}
    kinds = sorted({r for size in w.free.values() for r in size} - {CPU, MEMORY, PODS})
    need = ordinary_need(d) if d.chance(0.7) else close_need(w)
    for kind in d.some(kinds, 0, 1):
        need[kind] = d.choice((1, 2)) if kind != DISK else GI
    preferred = [
        {
            "weight": d.randint(1, 100),
            "preference": {"matchExpressions": [expression(DISKTYPE, "In", "ssd")]},
        }
    ]
    near = [
        {
            "weight": d.randint(1, 100),
            "podAffinityTerm": {
                "topologyKey": d.choice((ZONE, HOSTNAME)),
                "labelSelector": {"matchLabels": {"app": d.choice(("web", "db"))}},
            },
        }
    ]
    pending = pod(
        d,
        "pending",
        need=need,
        labels={"app": "web"},
        affinity=affinity(
            nodeAffinity=(None, preferred if d.chance(0.5) else None),
            podAffinity=(None, near if d.chance(0.4) else None),
        ),
        schedulerName=d.choice(profiles)["schedulerName"],
        tolerations=[{"key": "spot", "operator": "Exists"}] if d.chance(0.3) else None,
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ]
        if d.chance(0.3)
        else None,
    )
    return w.case(pending, config=configuration(*profiles, **fields), listPlugins=True)
