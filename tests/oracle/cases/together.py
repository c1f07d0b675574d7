"""Families about realistic clusters, with a bit of everything."""

from __future__ import annotations

from collections.abc import Sequence

from .basics import (
    ARCH,
    CPU,
    DISK,
    DISKTYPE,
    GI,
    GPU,
    HOSTNAME,
    INSTANCE,
    MEMORY,
    MI,
    PODS,
    RACK,
    REGION,
    ZONE,
    Dice,
    Json,
    scaled,
)
from .devices import claim_spec, device_world, one_device, resource_claim
from .neighbours import APPS, namespaces
from .objects import (
    affinity,
    arguments,
    configuration,
    container,
    expression,
    labelled,
    node_terms,
    pod,
    profile,
    thing,
)
from .preemption import budget, priority_classes, ranked
from .resources import fit_arguments
from .storage import Storage
from .volumes import (
    attach_limits,
    bound_in_zone,
    bound_with_zone_labels,
    dynamic,
    static_local,
    tracked_capacity,
)
from .world import World, family

TENANTS = ("team-a", "team-b")
POOLS = {"general": (8000, 32), "compute": (32000, 64), "gpu": (16000, 128), "spot": (4000, 16)}


def fleet(d: Dice, count: int | None = None) -> World:
    """A realistic cluster: pools of nodes over zones and racks, tenants, services."""
    w = World(d)
    count = count or d.choice((6, 12, 20, 30, 40))
    zones = [f"zone-{letter}" for letter in "abc"[: d.choice((2, 3, 3))]]
    for i in range(count):
        pool = d.weighted({"general": 5, "compute": 2, "gpu": 2, "spot": 2})
        cores, gigabytes = POOLS[pool]
        size = {
            CPU: cores - 110,
            MEMORY: gigabytes * GI - 700 * MI,
            DISK: 94 * GI,
            PODS: d.choice((58, 110)),
        }
        zone = zones[i % len(zones)]
        labels = {
            ZONE: zone,
            REGION: "north",
            RACK: f"{zone[-1]}{i % 4}",
            INSTANCE: f"{pool}.{cores // 1000}",
            ARCH: "amd64",
            "example.com/pool": pool,
            DISKTYPE: "ssd" if pool != "spot" else "hdd",
        }
        spec: Json = {}
        if pool == "gpu":
            size[GPU] = d.choice((4, 8))
            labels["nvidia.com/gpu.product"] = d.choice(("A100", "H100"))
            spec["taints"] = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
        elif pool == "spot":
            spec["taints"] = [
                {
                    "key": "spot",
                    "value": "true",
                    "effect": d.choice(("NoSchedule", "PreferNoSchedule")),
                }
            ]
        elif d.chance(0.2):
            tenant = d.choice(TENANTS)
            labels["example.com/tenant"] = tenant
            spec["taints"] = [{"key": "dedicated", "value": tenant, "effect": "NoSchedule"}]
        if d.chance(0.05):
            spec["unschedulable"] = True
            spec.setdefault("taints", []).append(
                {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
            )
        if d.chance(0.05):
            spec.setdefault("taints", []).append(
                {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
            )
        node = w.add_node(f"{pool}-{i:02d}", size, labels, **spec)
        node["status"]["images"] = [
            {"names": [f"registry.example/{app}:1.0"], "sizeBytes": megabytes * MI}
            for app, megabytes in (("web", 180), ("train", 6200), ("db", 420))
            if d.chance(0.4)
        ]
    namespaces(w)
    priority_classes(w)
    for app in APPS:
        w.add(
            thing(
                "v1",
                "Service",
                app,
                "default",
                spec={"selector": {"app": app}, "ports": [{"port": 80}]},
            )
        )
    return w


def application(d: Dice, kind: str, zones: Sequence[str]) -> Json:
    """The common fields of the pods of an application (arguments of pod and World.place)."""
    near_web = {"topologyKey": ZONE, "labelSelector": labelled(app="web")}
    patient = {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    match kind:
        case "web":
            apart = {"topologyKey": HOSTNAME, "labelSelector": labelled(app="web")}
            even = {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "labelSelector": labelled(app="web"),
                "whenUnsatisfiable": d.choice(("DoNotSchedule", "ScheduleAnyway")),
            }
            fields = {
                "labels": {"app": "web", "version": d.choice(("v1", "v2"))},
                "tolerations": [patient],
                "shape": d.choice(("plain", "sidecar", "init")),
                "need": {CPU: d.choice((250, 500, 1000)), MEMORY: d.choice((256, 512, 1024)) * MI},
                "topologySpreadConstraints": [even] if d.chance(0.6) else None,
            }
            if d.chance(0.5):
                fields["affinity"] = affinity(
                    podAntiAffinity=(None, [{"weight": 100, "podAffinityTerm": apart}])
                )
            return fields | ranked(d.choice(("middle", "high")))
        case "db":
            apart = {"topologyKey": d.choice((HOSTNAME, RACK)), "labelSelector": labelled(app="db")}
            zone = (
                node_terms(expression(ZONE, "In", *d.some(zones, 1, 2))) if d.chance(0.5) else None
            )
            return {
                "labels": {"app": "db"},
                "tolerations": [patient],
                "need": {CPU: 2000, MEMORY: 8 * GI, DISK: 10 * GI},
                "affinity": affinity(podAntiAffinity=([apart], None), nodeAffinity=(zone, None)),
                "nodeSelector": {DISKTYPE: "ssd"} if d.chance(0.5) else None,
            } | ranked("high")
        case "cache":
            wish = {"weight": 50, "podAffinityTerm": near_web}
            return {
                "labels": {"app": "cache"},
                "need": {CPU: 500, MEMORY: d.choice((2, 4, 6)) * GI},
                "affinity": affinity(podAffinity=([near_web] if d.chance(0.5) else None, [wish])),
            } | ranked("middle")
        case "train":
            product = (
                node_terms(expression("nvidia.com/gpu.product", "In", "H100"))
                if d.chance(0.3)
                else None
            )
            return {
                "labels": {"app": "train"},
                "need": {CPU: 3000, MEMORY: 20 * GI, GPU: d.choice((1, 1, 2, 4))},
                "tolerations": [
                    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
                ],
                "affinity": affinity(nodeAffinity=(product, None)),
            } | ranked(d.choice(("", "low")))
        case "tenant":
            tenant = d.choice(TENANTS)
            own = {"matchExpressions": [expression("example.com/tenant", "In", tenant)]}
            return {
                "labels": {"app": "web", "tenant": tenant},
                "need": {CPU: 1000, MEMORY: 2 * GI},
                "tolerations": [
                    {
                        "key": "dedicated",
                        "operator": "Equal",
                        "value": tenant,
                        "effect": "NoSchedule",
                    }
                ],
                "affinity": affinity(nodeAffinity=(None, [{"weight": 80, "preference": own}])),
            } | ranked("middle")
        case _:
            return {
                "labels": {"app": "batch"},
                "shape": d.choice(("plain", "many", "overhead")),
                "need": {CPU: d.choice((500, 1000, 4000)), MEMORY: d.choice((1, 2, 8)) * GI},
                "tolerations": [{"key": "spot", "operator": "Equal", "value": "true"}],
            } | ranked(d.choice(("trial", "low", "")))


KINDS = ("web", "db", "cache", "train", "tenant", "batch")


def populate(w: World, low: int, high: int) -> None:
    """Run applications on nodes that are meant for them, as long as there is room."""
    d = w.d
    zones = sorted({str(w.label(node, ZONE)) for node in w.nodes})
    for _ in range(d.randint(low, high)):
        kind = d.choice(KINDS)
        pools = {"train": ("gpu",), "batch": ("spot", "general", "compute")}.get(
            kind, ("general", "compute")
        )
        fields = application(d, kind, zones)
        need = fields["need"]
        suited = [
            node
            for node in w.nodes
            if w.label(node, "example.com/pool") in pools
            and all(w.free[node].get(r, 0) >= amount for r, amount in need.items())
        ]
        if suited:
            w.place(d.choice(suited), **fields)


@family("mixed")
def mixed(d: Dice) -> Json:
    w = fleet(d)
    populate(w, 0, 120)
    if d.chance(0.5):  # some nodes are nearly full
        for node in d.some(w.nodes, 1, len(w.nodes)):
            rest = {r: max(0, w.free[node][r]) for r in (CPU, MEMORY)}
            w.place(
                node,
                need=scaled(rest, d.choice((0.7, 0.9, 1))),
                **ranked(d.choice(("trial", "low", "middle"))),
            )
    zones = sorted({str(w.label(node, ZONE)) for node in w.nodes})
    fields = application(d, d.choice(KINDS), zones)
    if d.chance(0.3):
        pieces = {GPU: fields["need"][GPU]} if GPU in fields["need"] else {}
        fields["need"] = scaled(fields["need"], d.choice((2, 4))) | pieces
    pending = pod(d, "pending", **fields)
    if d.chance(0.3):
        s = Storage(w)
        add_volumes = d.choice(
            (
                bound_in_zone,
                bound_with_zone_labels,
                dynamic,
                tracked_capacity,
                attach_limits,
            )
        )
        add_volumes(s)
        pending["spec"]["volumes"] = s.volumes()
    if d.chance(0.1):
        pending["spec"]["containers"][0]["ports"] = [
            {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
        ]
        for node in d.some(w.nodes, 1, len(w.nodes)):
            port = {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
            w.place(node, containers=[container(d, "main", ports=[port])])
    for i in range(d.choice((0, 0, 1, 2))):
        w.add(budget(d, f"budget{i}", {"matchLabels": {"app": d.choice(APPS)}}, d.choice((0, 1))))
    config = None
    if d.chance(0.3):
        bond = arguments("InterPodAffinity", hardPodAffinityWeight=d.choice((1, 20)))
        config = configuration(profile(fit_arguments(d), bond))
    return w.case(pending, config=config, repeat=6)


@family("sequence")
def sequence(d: Dice) -> Json:
    w = fleet(d, d.choice((3, 5, 8, 15, 25)))
    populate(w, 0, 30)
    zones = sorted({str(w.label(node, ZONE)) for node in w.nodes})
    pending: list[Json] = []
    for group in range(d.randint(1, 4)):
        fields = application(d, d.choice(KINDS), zones)
        size = d.randint(2, 9)
        ports_ = (
            [{"containerPort": 80, "hostPort": 8000 + group, "protocol": "TCP"}]
            if d.chance(0.15)
            else None
        )
        for i in range(size):
            one = pod(d, f"app{group}-{i}", **fields)
            if ports_:
                one["spec"]["containers"][0]["ports"] = ports_
            pending.append(one)
    if d.chance(0.3):
        d.shuffle(pending)
    extra = d.weighted({"nothing": 7, "volumes": 2, "devices": 2})
    if extra == "volumes":
        s = Storage(w)
        for one in pending[:4]:
            s.sources = []
            add_volumes = static_local if d.chance(0.5) else bound_in_zone
            add_volumes(s)
            one["spec"]["volumes"] = s.volumes()
    elif extra == "devices":
        device_world(w)
        for i, one in enumerate(pending):
            w.add(
                resource_claim(f"claim{i}", claim_spec(d) if d.chance(0.3) else one_device("gpu"))
            )
            one["spec"]["resourceClaims"] = [{"name": "device", "resourceClaimName": f"claim{i}"}]
            one["spec"]["containers"][0].setdefault("resources", {})["claims"] = [
                {"name": "device"}
            ]
    config = configuration(profile(fit_arguments(d))) if d.chance(0.4) else None
    return w.case(pending[:30], config=config)
