"""Families about preemption and scheduling gates."""

from __future__ import annotations

from collections.abc import Sequence

from .basics import CPU, DISKTYPE, GI, HOSTNAME, MEMORY, PODS, RACK, ZONE, Dice, Json, scaled, split
from .neighbours import APPS
from .objects import (
    affinity,
    arguments,
    configuration,
    container,
    expression,
    pod,
    profile,
    thing,
    timestamp,
)
from .world import World, close_need, family, landscape, ordinary_need

PRIORITIES = {
    "": 0,
    "trial": -10,
    "low": 10,
    "middle": 100,
    "high": 1000,
    "system-cluster-critical": 2_000_000_000,
}


def priority_classes(w: World) -> None:
    for name, value in PRIORITIES.items():
        if name and not name.startswith("system-"):
            w.add(thing("scheduling.k8s.io/v1", "PriorityClass", name, value=value))


def ranked(name: str) -> Json:
    """The fields of a pod of some priority class."""
    return {"priority": PRIORITIES[name]} | ({"priorityClassName": name} if name else {})


def budget(
    d: Dice, name: str, selector: Json | None, allowed: int, *, disrupted: Sequence[str] = ()
) -> Json:
    status: Json = {
        "disruptionsAllowed": allowed,
        "currentHealthy": 3 + allowed,
        "desiredHealthy": 3,
        "expectedPods": 3 + allowed,
    }
    if disrupted:
        status["disruptedPods"] = {pod_name: timestamp(80000) for pod_name in disrupted}
    spec: Json = {"minAvailable": 3} if d.chance(0.5) else {"maxUnavailable": 1}
    if selector is not None:
        spec["selector"] = selector
    return thing("policy/v1", "PodDisruptionBudget", name, "default", spec=spec, status=status)


def in_the_way(d: Dice, cause: str) -> tuple[Json, Json]:
    """The fields of a pod that is in the way, and those of the pending pod that make it so."""
    web = {"labelSelector": {"matchLabels": {"app": "web"}}}
    match cause:
        case "ports":
            port = {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
            return (
                {"containers": [container(d, "main", ordinary_need(d), ports=[port])]},
                {
                    "containers": [
                        container(
                            d, "main", ordinary_need(d), ports=[port, port | {"hostPort": 81}]
                        )
                    ]
                },
            )
        case "apart":
            none_near = [web | {"topologyKey": d.choice((HOSTNAME, HOSTNAME, ZONE))}]
            return {"labels": {"app": "web"}}, {
                "affinity": affinity(podAntiAffinity=(none_near, None))
            }
        case "hostile":
            none_near = [web | {"topologyKey": d.choice((HOSTNAME, HOSTNAME, RACK))}]
            return {"affinity": affinity(podAntiAffinity=(none_near, None))}, {}
        case "disk":
            disk = [{"name": "v", "gcePersistentDisk": {"pdName": "disk"}}]
            return {"volumes": disk}, {"volumes": disk}
        case "spread":
            return {}, {
                "topologySpreadConstraints": [
                    web
                    | {
                        "maxSkew": d.choice((1, 2)),
                        "topologyKey": ZONE,
                        "whenUnsatisfiable": "DoNotSchedule",
                    }
                ]
            }
    return {}, {}


def fill(w: World, cause: str, classes: Sequence[str], blocker: Json) -> None:
    """Fill every node with pods of some priority classes, one of which stands in the way."""
    d = w.d
    alike = d.chance(0.15)  # the same pods on every node, so that the choice is open
    model = [(ranked(d.choice(classes)), d.choice(APPS)) for _ in range(d.randint(1, 6))]
    for node, free in w.free.items():
        pods = (
            model
            if alike
            else [(ranked(d.choice(classes)), d.choice(APPS)) for _ in range(d.randint(1, 6))]
        )
        share = 1 if alike else d.uniform(0.9, 1)
        if cause in ("ports", "apart", "hostile", "disk"):
            share *= 0.5
        if d.chance(0.03):
            continue
        whole = {CPU: free[CPU], MEMORY: free[MEMORY]}
        needs = (
            [scaled(whole, share / len(pods))] * len(pods)
            if alike
            else split(d, scaled(whole, share), len(pods))
        )
        for i, (need, (fields, app)) in enumerate(zip(needs, pods, strict=True)):
            fields = fields | {"labels": {"app": app, "track": d.choice("xy")}}
            if i == 0 or d.chance(0.1):
                fields |= blocker
            if d.chance(0.04):
                fields["metadata"] = {
                    "deletionTimestamp": timestamp(80000),
                    "deletionGracePeriodSeconds": 30,
                }
                if d.chance(0.5):
                    fields["status"] = {
                        "conditions": [
                            {
                                "type": "DisruptionTarget",
                                "status": "True",
                                "reason": "PreemptionByScheduler",
                            }
                        ]
                    }
            if alike:
                fields["status"] = fields.get("status", {}) | {"startTime": timestamp(i)}
            w.place(node, need=need, **fields)
        if cause == "pods":
            w.nodes[node]["status"]["allocatable"][PODS] = str(len(pods))
        if d.chance(0.08):
            w.nodes[node]["spec"]["taints"] = [{"key": "dedicated", "effect": "NoSchedule"}]


@family("preemption")
def preemption(d: Dice) -> Json:
    w = landscape(d, d.randint(2, 14), uniform=0.6)
    priority_classes(w)
    cause = d.weighted(
        {
            "cpu": 8,
            "memory": 2,
            "pods": 1,
            "ports": 1,
            "apart": 2,
            "hostile": 1,
            "spread": 2,
            "disk": 1,
        }
    )
    blocker, fields = in_the_way(d, cause)
    classes = d.choice(
        (("low", "middle"), ("", "trial", "low"), ("low", "high"), ("low",), tuple(PRIORITIES))
    )
    fill(w, cause, classes, blocker)
    for i in range(d.choice((0, 0, 1, 2, 3))):
        selector = d.choice(
            (
                {"matchLabels": {"app": d.choice(APPS)}},
                {"matchLabels": {"track": "x"}},
                {},
                None,
                {"matchExpressions": [expression("app", "In", "web", "db")]},
            )
        )
        gone = [p["metadata"]["name"] for p in d.some(w.placed, 0, 2)] if d.chance(0.2) else []
        w.add(budget(d, f"budget{i}", selector, d.choice((0, 0, 1, 2)), disrupted=gone))
    for i in range(d.choice((0, 0, 0, 1, 2))):  # pods for which room has been made
        w.add(
            pod(
                d,
                f"waiting{i}",
                need={CPU: d.choice((500, 1000, 2000)), MEMORY: GI},
                **ranked(d.choice(("low", "high", "system-cluster-critical"))),
                status={"nominatedNodeName": d.choice([*w.nodes])},
            )
        )
    need = ordinary_need(d)
    if cause in ("cpu", "memory", "spread"):
        whole = w.size[d.choice([*w.nodes])]
        need = scaled({CPU: whole[CPU], MEMORY: whole[MEMORY]}, d.choice((0.3, 0.5, 0.7, 0.9, 1)))
    fields |= ranked(d.weighted({"high": 5, "middle": 3, "system-cluster-critical": 2, "": 0.3}))
    if d.chance(0.06):
        fields["preemptionPolicy"] = "Never"
    elif d.chance(0.3):
        fields["preemptionPolicy"] = "PreemptLowerPriority"
    if d.chance(0.1):
        fields["status"] = {"nominatedNodeName": d.choice([*w.nodes, "gone"])}
    if d.chance(0.1):
        fields["nodeSelector"] = {DISKTYPE: d.choice(("ssd", "hdd"))}
    if d.chance(0.15):
        fields["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    pending = pod(d, "pending", need=need, labels={"app": "web"}, **fields)
    if d.chance(0.06):  # try a few nodes only, taken at random
        few = arguments(
            "DefaultPreemption",
            minCandidateNodesPercentage=d.choice((10, 50, 100)),
            minCandidateNodesAbsolute=d.choice((1, 2, 100)),
        )
        return w.case(pending, config=configuration(profile(few)), repeat=60)
    return w.case(pending, repeat=8)


@family("gates")
def gates(d: Dice) -> Json:
    w = landscape(d)
    w.crowd(4, high=1.0)
    names = (
        d.some(("example.com/quota", "example.com/review", "later"), 0, 3) if d.chance(0.55) else []
    )
    fields: Json = {"schedulingGates": [{"name": name} for name in names]} if names else {}
    if not names and d.chance(0.3):
        fields["schedulingGates"] = []
    if d.chance(0.15):  # another pod that is gated, yet holds the room that was cleared for it
        w.add(
            pod(
                d,
                "held",
                need={CPU: 1000},
                priority=1000,
                schedulingGates=[{"name": "later"}],
                status={"nominatedNodeName": d.choice([*w.nodes])},
            )
        )
    config = None
    if d.chance(0.1):
        config = configuration(
            profile(plugins={"preEnqueue": {"disabled": [{"name": "SchedulingGates"}]}})
        )
    metadata = (
        {"deletionTimestamp": timestamp(80000), "deletionGracePeriodSeconds": 30}
        if d.chance(0.05)
        else {}
    )
    pending = pod(
        d, "pending", need=close_need(w), metadata=metadata, priority=d.choice((0, 10)), **fields
    )
    return w.case(pending, config=config)
