"""Families about the pods that run already: topology spread and affinity between pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .basics import DISKTYPE, HOSTNAME, NAMESPACES, RACK, REGION, ZONE, Dice, Json
from .objects import (
    affinity,
    arguments,
    configuration,
    expression,
    node_terms,
    owner,
    pod,
    profile,
    thing,
    timestamp,
)
from .placement import taint, toleration
from .world import World, family, landscape, ordinary_need

APPS = ("web", "db", "cache")


def app_labels(d: Dice) -> Json:
    return {"app": d.choice(APPS), "version": d.choice(("v1", "v2"))} | (
        {"tier": d.choice(("front", "back"))} if d.chance(0.5) else {}
    )


def label_selector(d: Dice) -> Json:
    match d.randint(1, 8):
        case 1:
            return {"matchExpressions": [expression("app", "In", *d.some(APPS, 1, 2))]}
        case 2:
            return {"matchExpressions": [expression("app", "NotIn", d.choice(APPS))]}
        case 3:
            return {"matchExpressions": [expression("tier", d.choice(("Exists", "DoesNotExist")))]}
        case 4:
            return {
                "matchLabels": {"app": d.choice(APPS)},
                "matchExpressions": [expression("tier", "Exists")],
            }
        case _:
            return {"matchLabels": {"app": d.choice(APPS)}}


def spread_constraint(d: Dice) -> Json:
    out: Json = {
        "maxSkew": d.choice((1, 1, 1, 2, 3, 5)),
        "topologyKey": d.choice((ZONE, ZONE, HOSTNAME, RACK, REGION)),
        "whenUnsatisfiable": d.choice(("DoNotSchedule", "ScheduleAnyway")),
    }
    if d.chance(0.95):
        out["labelSelector"] = {"matchLabels": {"app": "web"}}
        if d.chance(0.25):
            out["labelSelector"] = label_selector(d) if d.chance(0.7) else {}
        if d.chance(0.2):
            out["matchLabelKeys"] = d.some(("version", "pod-template-hash"), 1, 2)
    if out["whenUnsatisfiable"] == "DoNotSchedule" and d.chance(0.25):
        out["minDomains"] = d.randint(1, 5)
    if d.chance(0.25):
        out["nodeAffinityPolicy"] = d.choice(("Honor", "Ignore"))
    if d.chance(0.25):
        out["nodeTaintsPolicy"] = d.choice(("Honor", "Ignore"))
    return out


def uneven(w: World, number: int, **fields: Callable[[str], Any]) -> None:
    """Put small pods on nodes, more on some zones and nodes than on others."""
    d = w.d
    weights = [d.random() ** 2 + 0.05 for _ in w.nodes]
    for node in d.choices(list(w.nodes), weights, k=number):
        w.place(
            node,
            need=ordinary_need(d) if d.chance(0.5) else None,
            **{key: draw(node) for key, draw in fields.items()},
        )


def selecting_owners(w: World, d: Dice) -> Json:
    """Add what default spreading looks for; the metadata that the pod should have of it."""
    if d.chance(0.5):
        chosen = {"app": "web"} | ({"version": "v1"} if d.chance(0.3) else {})
        w.add(
            thing(
                "v1",
                "Service",
                "web",
                "default",
                spec={"selector": chosen, "ports": [{"port": 80}]},
            )
        )
        if d.chance(0.3):
            w.add(
                thing(
                    "v1",
                    "Service",
                    "all",
                    "default",
                    spec={"selector": {"app": "web"}, "ports": [{"port": 81}]},
                )
            )
        return {}
    kind = d.choice(("ReplicaSet", "StatefulSet", "ReplicationController"))
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }
    if kind == "ReplicationController":
        w.add(
            thing(
                "v1",
                kind,
                "web",
                "default",
                spec={"selector": {"app": "web"}, "template": template},
            )
        )
        return {"ownerReferences": owner(kind, "web", "v1")}
    selector: Json = {"matchLabels": {"app": "web"}}
    if d.chance(0.5):
        selector = {"matchExpressions": [expression("app", "In", "web", "db")]}
    extra = {"serviceName": "web"} if kind == "StatefulSet" else {}
    if d.chance(0.9):
        w.add(
            thing(
                "apps/v1",
                kind,
                "web",
                "default",
                spec={"selector": selector, "template": template} | extra,
            )
        )
    return {"ownerReferences": owner(kind, "web")}


@family("spread")
def spread(d: Dice) -> Json:
    w = landscape(d, gaps=d.choice((0, 0, 0.15)), uniform=0.7)
    for node in w.nodes.values():
        if d.chance(0.15):
            node["spec"]["taints"] = [taint(d)]

    def labels(_: str) -> Json:
        return {
            "app": d.choice(("web", "web", "db", "cache")),
            "version": d.choice(("v1", "v2")),
            "pod-template-hash": d.choice(("aaa", "bbb")),
        } | ({"tier": "front"} if d.chance(0.3) else {})

    def metadata(_: str) -> Json:
        return (
            {"deletionTimestamp": timestamp(80000), "deletionGracePeriodSeconds": 30}
            if d.chance(0.08)
            else {}
        )

    uneven(
        w,
        d.randint(0, min(120, 4 * len(w.nodes))),
        labels=labels,
        metadata=metadata,
        namespace=lambda _: d.choice(("default", "default", "default", "team-a")),
    )
    own = {
        "app": d.choice(("web", "web", "web", "db")),
        "version": "v1",
        "pod-template-hash": "aaa",
    }
    selector = {DISKTYPE: "ssd"} if d.chance(0.2) else None
    required = node_terms(expression(ZONE, "NotIn", "zone-b")) if d.chance(0.1) else None
    config = None
    constraints: list[Json] | None = None
    meta_fields: Json = {}
    match d.weighted({"own": 7, "system": 1.5, "list": 1.5}):
        case "own":
            different = {
                (c["topologyKey"], c["whenUnsatisfiable"]): c
                for c in (spread_constraint(d) for _ in range(d.choice((1, 1, 1, 2, 2, 3))))
            }
            constraints = list(different.values())
        case "system":
            meta_fields = selecting_owners(w, d)
        case _:
            meta_fields = selecting_owners(w, d)
            drawn = d.some(
                [
                    {
                        "maxSkew": d.choice((1, 2, 3)),
                        "topologyKey": key,
                        "whenUnsatisfiable": action,
                    }
                    for key in (ZONE, HOSTNAME, RACK)
                    for action in ("DoNotSchedule", "ScheduleAnyway")
                ],
                0,
                3,
            )
            config = configuration(
                profile(
                    arguments("PodTopologySpread", defaultingType="List", defaultConstraints=drawn)
                )
            )
    pending = pod(
        d,
        "pending",
        need=ordinary_need(d),
        labels=own,
        metadata=meta_fields,
        nodeSelector=selector,
        affinity=affinity(nodeAffinity=(required, None)),
        topologySpreadConstraints=constraints,
        tolerations=[toleration(d) for _ in range(d.choice((0, 0, 1, 2)))] or None,
    )
    return w.case(pending, config=config)


def pod_term(d: Dice, *, own: str = "default") -> Json:
    out: Json = {"topologyKey": d.choice((ZONE, ZONE, HOSTNAME, HOSTNAME, RACK, REGION))}
    if d.chance(0.97):
        out["labelSelector"] = label_selector(d)
        if d.chance(0.1):  # the API server turns these keys into expressions, and keeps the keys
            key, value = "version", d.choice(("v1", "v2"))
            field, operator = d.choice((("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")))
            out[field] = [key]
            out["labelSelector"].setdefault("matchExpressions", []).append(
                expression(key, operator, value)
            )
    if d.chance(0.25):
        out["namespaces"] = d.some(NAMESPACES, 1, 2)
    if d.chance(0.25):
        out["namespaceSelector"] = d.choice(
            (
                {},
                {"matchLabels": {"env": "prod"}},
                {"matchLabels": {"team": "b"}},
                {"matchExpressions": [expression("team", "Exists")]},
            )
        )
    return out


def pod_affinity(
    d: Dice, *, required: float, preferred: float
) -> tuple[list[Json] | None, list[Json] | None]:
    needs = [pod_term(d) for _ in range(d.choice((1, 1, 1, 2)))] if d.chance(required) else None
    wishes = None
    if d.chance(preferred):
        wishes = [
            {"weight": d.randint(1, 100), "podAffinityTerm": pod_term(d)}
            for _ in range(d.randint(1, 3))
        ]
    return needs, wishes


def namespaces(w: World) -> None:
    for name, labels in NAMESPACES.items():
        if w.d.chance(0.9):
            w.add(
                thing(
                    "v1",
                    "Namespace",
                    name,
                    metadata={"labels": {"kubernetes.io/metadata.name": name} | labels},
                )
            )


@family("interpod")
def interpod(d: Dice) -> Json:
    w = landscape(d, gaps=d.choice((0, 0, 0.1)), uniform=0.7)
    namespaces(w)
    reach = d.choice((0, 0.15, 0.4))

    def bonds(_: str) -> Json | None:
        if not d.chance(reach):
            return None
        return affinity(
            podAffinity=pod_affinity(d, required=0.3, preferred=0.6),
            podAntiAffinity=pod_affinity(d, required=0.15, preferred=0.6),
        )

    uneven(
        w,
        d.randint(1, min(100, 3 * len(w.nodes))),
        labels=lambda _: app_labels(d),
        affinity=bonds,
        namespace=lambda _: d.choice(("default", "default", "team-a", "team-b")),
    )
    config = None
    if d.chance(0.3):
        config = configuration(
            profile(
                arguments(
                    "InterPodAffinity",
                    hardPodAffinityWeight=d.choice((0, 1, 10, 100)),
                    ignorePreferredTermsOfExistingPods=d.chance(0.5),
                )
            )
        )
    mine = app_labels(d)
    bond = affinity(
        podAffinity=pod_affinity(d, required=0.5, preferred=0.4),
        podAntiAffinity=pod_affinity(d, required=0.7, preferred=0.4),
    )
    if d.chance(0.12):  # the first of a group that wants to stay together
        mine["group"] = "new"
        group = {"matchLabels": {"group": d.choice(("new", "new", "other"))}}
        bond = affinity(
            podAffinity=(
                [{"topologyKey": d.choice((ZONE, HOSTNAME, RACK)), "labelSelector": group}],
                None,
            )
        )
    pending = pod(
        d,
        "pending",
        d.choice(("default", "default", "team-a")),
        need=ordinary_need(d),
        labels=mine,
        affinity=bond,
    )
    return w.case(pending, config=config)
