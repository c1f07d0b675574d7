"""Families about what the nodes are like: taints, labels, features, ports and images."""

from __future__ import annotations

from typing import Any

from .basics import AGE, ARCH, DISKTYPE, INSTANCE, MI, RACK, ZONE, Dice, Json
from .objects import affinity, arguments, configuration, container, expression, pod, profile, terms
from .world import World, family, landscape, ordinary_need

TAINT_KEYS = {
    "dedicated": ("", "team-a", "team-b"),
    "spot": ("", "true"),
    "example.com/fragile": ("yes", "no", ""),
    "node.kubernetes.io/not-ready": ("",),
    "node.kubernetes.io/disk-pressure": ("",),
}
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def taint(d: Dice) -> Json:
    key = d.choice(sorted(TAINT_KEYS))
    out = {"key": key, "effect": d.choice(EFFECTS)}
    value = d.choice(TAINT_KEYS[key])
    return out | {"value": value} if value else out


def toleration(d: Dice) -> Json:
    if d.chance(0.06):
        return {"operator": "Exists"} | ({"effect": d.choice(EFFECTS)} if d.chance(0.6) else {})
    key = d.choice([*sorted(TAINT_KEYS), "node.kubernetes.io/unschedulable"])
    out: Json = {"key": key}
    if d.chance(0.5):
        out["operator"] = "Exists"
    else:
        value = d.choice((*TAINT_KEYS.get(key, ("",)), "other"))
        out |= ({"operator": "Equal"} if d.chance(0.5) else {}) | (
            {"value": value} if value else {}
        )
    if d.chance(0.6):
        out["effect"] = d.choice(EFFECTS)
        if out["effect"] == "NoExecute" and d.chance(0.4):
            out["tolerationSeconds"] = d.choice((0, 300))
    return out


@family("taints")
def taints(d: Dice) -> Json:
    w = landscape(d)
    for node in w.nodes.values():
        marks = {
            (t["key"], t["effect"]): t
            for t in (taint(d) for _ in range(d.choice((0, 0, 1, 1, 2, 3))))
        }
        if d.chance(0.15):
            node["spec"]["unschedulable"] = True
            if d.chance(0.8):
                marks["unschedulable", ""] = {
                    "key": "node.kubernetes.io/unschedulable",
                    "effect": "NoSchedule",
                }
        if marks:
            node["spec"]["taints"] = list(marks.values())
    w.crowd(3)
    pending = pod(
        d,
        "pending",
        need=ordinary_need(d),
        tolerations=[toleration(d) for _ in range(d.randint(0, 5))] or None,
    )
    return w.case(pending)


def node_expression(d: Dice, w: World, odd: bool) -> Json:
    """Draw a requirement that some nodes meet; an odd one may compare with what is no number."""
    key = d.weighted(
        {ZONE: 3, RACK: 2, DISKTYPE: 3, ARCH: 2, INSTANCE: 1, AGE: 3, "example.com/none": 0.5}
    )
    values = sorted({value for node in w.nodes if (value := w.label(node, key)) is not None}) or [
        "x"
    ]
    operator = d.choice(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        bound = d.choice(
            (
                "0",
                "1",
                "1",
                "2",
                "5",
                "007",
                "9223372036854775807",
                *(("2.5", "two") if odd else ()),
            )
        )
        return expression(d.choice((AGE, AGE, AGE, AGE, ZONE)), operator, bound)
    if operator in ("Exists", "DoesNotExist"):
        return expression(key, operator)
    return expression(key, operator, *d.some([*values, "elsewhere"], 1, 3))


def node_term(d: Dice, w: World, odd: bool) -> Json:
    out: Json = {}
    if d.chance(0.9):
        out["matchExpressions"] = [
            node_expression(d, w, odd) for _ in range(d.choice((1, 1, 1, 2)))
        ]
    if d.chance(0.1):
        operator = d.choice(("In", "In", "NotIn"))
        out["matchFields"] = [expression("metadata.name", operator, d.choice([*w.nodes, "gone"]))]
    return out


def node_affinity(d: Dice, w: World, *, odd: bool = True) -> tuple[Json | None, list[Json] | None]:
    """Draw required and preferred terms. If odd, a few compare with something that is no number."""
    odd = odd and d.chance(0.12)
    required = None
    if d.chance(0.7):
        required = {
            "nodeSelectorTerms": [node_term(d, w, odd) for _ in range(d.choice((1, 1, 2, 3)))]
        }
        if d.chance(0.08):
            for term in required["nodeSelectorTerms"]:
                term["matchFields"] = [
                    expression("metadata.name", "In", d.choice([*w.nodes, "gone"]))
                ]
    preferred = None
    if d.chance(0.75):
        preferred = [
            {"weight": d.randint(1, 100), "preference": node_term(d, w, odd)}
            for _ in range(d.randint(1, 4))
        ]
    return required, preferred


@family("nodeaffinity")
def nodeaffinity(d: Dice) -> Json:
    w = landscape(d, gaps=0.15)
    for node in w.nodes.values():
        if d.chance(0.4):
            node["metadata"]["labels"][AGE] = d.choice(
                ("0", "5", "1.5", "new", "", "0x10", "12345678901234567890")
            )
    w.crowd(3)
    selector = None
    if d.chance(0.2):
        key = d.choice((ZONE, DISKTYPE, ARCH))
        selector = {key: w.label(d.choice([*w.nodes]), key) or "elsewhere"}
        if d.chance(0.2):
            selector[DISKTYPE] = "ssd"
    config = None
    if d.chance(0.25) and (added_terms := terms(*node_affinity(d, w, odd=False))):
        config = configuration(profile(arguments("NodeAffinity", addedAffinity=added_terms)))
    pending = pod(
        d,
        "pending",
        need=ordinary_need(d),
        nodeSelector=selector,
        affinity=affinity(nodeAffinity=node_affinity(d, w)),
    )
    return w.case(pending, config=config)


@family("features")
def features(d: Dice) -> Json:
    """Pods that need a feature which the kubelet of a node must declare."""
    w = landscape(d)
    names = (
        "RestartAllContainersOnContainerExits",
        "UserNamespacesHostNetworkSupport",
        "SomethingElse",
    )
    for node in w.nodes.values():
        if declared := sorted(d.some(names, 0, 3)):
            node["status"]["declaredFeatures"] = declared
    w.crowd(3)
    pending = pod(d, "pending", need=ordinary_need(d))
    rule = {
        "action": d.choice(("RestartAllContainers", "RestartAllContainers", "Restart")),
        "exitCodes": {"operator": "In", "values": [42]},
    }
    where = "containers"
    if d.chance(0.4):
        where = "initContainers"
        pending["spec"]["initContainers"] = [container(d, "setup")]
    pending["spec"][where][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    return w.case(pending)


def ports(d: Dice, most: int) -> list[Json]:
    out: dict[tuple[Any, ...], Json] = {}
    for _ in range(d.randint(1, most)):
        port: Json = {
            "containerPort": d.choice((80, 8080, 443)),
            "protocol": d.weighted({"TCP": 3, "UDP": 1, "SCTP": 1}),
        }
        if d.chance(0.9):
            port["hostPort"] = d.choice((80, 8080, 443))
            if d.chance(0.4):
                port["hostIP"] = d.choice(("0.0.0.0", "127.0.0.1", "10.0.0.1", "10.0.0.2"))
        out[port.get("hostPort"), port.get("hostIP"), port["protocol"]] = port
    return list(out.values())


def with_ports(d: Dice, most: int) -> Json:
    """Ports on a container, a sidecar or, where they do not count, an init container."""
    spec = {"containers": [container(d, "main", ordinary_need(d))]}
    match d.weighted({"main": 8, "sidecar": 1, "init": 1}):
        case "sidecar":
            spec["initContainers"] = [
                container(d, "side", restartPolicy="Always", ports=ports(d, most))
            ]
        case "init":
            spec["initContainers"] = [container(d, "setup", ports=ports(d, most))]
        case _:
            spec["containers"][0]["ports"] = ports(d, most)
    return spec


@family("ports")
def host_ports(d: Dice) -> Json:
    w = landscape(d)
    for node in w.nodes:
        for _ in range(d.choice((0, 1, 1, 2, 3))):
            w.place(node, **with_ports(d, 2), priority=d.choice((0, 0, 100)))
    pending = pod(d, "pending", **with_ports(d, 3), priority=d.choice((0, 0, 50, 1000)))
    return w.case(pending, repeat=6)


@family("images")
def images(d: Dice) -> Json:
    w = landscape(d, uniform=0.8)
    catalogue = {
        "registry.example/app:1.0": 40 * MI,
        "registry.example/app:2.0": 400 * MI,
        "registry.example/app@sha256:" + "ab" * 32: 300 * MI,
        "registry.example/model:latest": 1900 * MI,
        "registry.example:5000/tools:latest": 950 * MI,
        "registry.example/tiny:1": 23 * MI,
        "nginx:latest": 70 * MI,
        "registry.example:443/library/busybox:1.36": 4 * MI,
        "huge:1": 4000 * MI,
    }
    for node in w.nodes.values():
        chosen = d.some(catalogue, 0, 6)
        if chosen:
            node["status"]["images"] = [
                {
                    "names": [name, name.replace(":", "-alias:", 1)] if d.chance(0.2) else [name],
                    "sizeBytes": catalogue[name] + (d.randint(0, 5) * MI if d.chance(0.1) else 0),
                }
                for name in chosen
            ]
        if d.chance(0.15):
            node["spec"]["taints"] = [{"key": "spot", "effect": "NoSchedule"}]
    w.crowd(2)
    wanted = [
        *catalogue,
        "nginx",
        "registry.example/model",
        "registry.example:5000/tools",
        "unknown:1",
        "busybox:1.36",
    ]
    spec: Json = {
        "containers": [
            container(d, f"c{i}", ordinary_need(d) if d.chance(0.5) else None, image=image)
            for i, image in enumerate(d.choices(wanted, k=d.randint(1, 4)))
        ]
    }
    if d.chance(0.4):
        spec["initContainers"] = [
            container(d, f"i{i}", image=image)
            for i, image in enumerate(d.choices(wanted, k=d.randint(1, 2)))
        ]
    if d.chance(0.2):
        spec["volumes"] = [
            {"name": "data", "image": {"reference": d.choice(wanted), "pullPolicy": "IfNotPresent"}}
        ]
    return w.case(pod(d, "pending", **spec))
