"""The family about large clusters, of which kube-scheduler looks at a part only."""

from __future__ import annotations

from .basics import DISKTYPE, HOSTNAME, REGION, ZONE, Dice, Json
from .objects import configuration, expression, pod, profile, thing
from .world import family

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def machine(d: Dice, name: str, zones: int) -> Json:
    labels = {HOSTNAME: name, DISKTYPE: d.choice(("ssd", "hdd"))}
    if zones and d.chance(0.95):
        labels[ZONE] = f"zone-{d.randrange(zones)}"
    if d.chance(0.3):
        labels[REGION] = "north"
    if d.chance(0.05):
        labels[OLD_ZONE] = "old"
    effect = d.weighted({"": 8, "NoSchedule": 1, "PreferNoSchedule": 1})
    return thing(
        "v1",
        "Node",
        name,
        metadata={"labels": labels},
        spec={"taints": [{"key": "spot", "effect": effect}]} if effect else {},
        status={"allocatable": {"cpu": d.choice(("4", "8")), "memory": "32Gi", "pods": "110"}},
    )


def small(d: Dice, name: str, scheduler: str) -> Json:
    wish = {"weight": 5, "preference": {"matchExpressions": [expression(DISKTYPE, "In", "ssd")]}}
    even = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": d.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    wished = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    return pod(
        d,
        name,
        need={"cpu": d.choice((100, 1000, 3000, 7500))},
        labels={"app": "web"},
        schedulerName=scheduler,
        nodeSelector={DISKTYPE: "ssd"} if d.chance(0.3) else None,
        affinity=wished if d.chance(0.3) else None,
        topologySpreadConstraints=[even] if d.chance(0.4) else None,
    )


@family("sampling")
def sampling(d: Dice) -> Json:
    """A pod, or some after another: each search begins where the last has ended."""
    zones = d.choice((0, 1, 2, 3, 5))
    count = d.choice((99, 100, 120, 150, 240))
    objects = [machine(d, f"n{number:03d}", zones) for number in range(count)]
    own = {"percentageOfNodesToScore": d.choice((0, 20, 50, 100))} if d.chance(0.4) else {}
    general = {"percentageOfNodesToScore": d.choice((0, 1, 30, 70, 100))} if d.chance(0.8) else {}
    config = configuration(
        profile(name="default-scheduler", **own), profile(name="second"), **general
    )
    pods = [
        small(d, f"p{number}", d.choice(("default-scheduler", "second")))
        for number in range(d.choice((1, 2, 4, 6)))
    ]
    asked: Json = {"pod": pods[0]} if len(pods) == 1 else {"pods": pods}
    return {"config": config, "objects": objects} | asked
