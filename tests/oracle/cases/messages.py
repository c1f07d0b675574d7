"""The family about messages: every node has its own reason not to fit."""

from __future__ import annotations

from .basics import CPU, DISKTYPE, GI, GPU, HOSTNAME, MEMORY, PODS, ZONE, Dice, Json
from .objects import affinity, container, expression, pod, terms
from .placement import taint
from .storage import Storage
from .volumes import (
    bound_in_zone,
    bound_with_zone_labels,
    static_local,
    tracked_capacity,
    trouble,
)
from .world import World, family, landscape, ordinary_need


class Obstacles:
    """Reasons why a node does not fit the pending pod."""

    def __init__(self, w: World) -> None:
        self.w, self.d = w, w.d
        self.storage = Storage(w)
        self.pending = pod(
            w.d,
            "pending",
            need={CPU: 1000, MEMORY: GI, GPU: 1},
            labels={"app": "web"},
            nodeSelector={DISKTYPE: "ssd"},
            priority=w.d.choice((0, 100)),
        )
        for node in w.nodes.values():
            node["metadata"]["labels"][DISKTYPE] = "ssd"
            node["status"]["allocatable"] |= {GPU: "8", CPU: "16", MEMORY: "64Gi"}
        self.spec = self.pending["spec"]
        self.spec["containers"][0]["ports"] = [
            {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
        ]
        no_db = [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "db"}}}]
        self.spec["affinity"] = {"podAntiAffinity": terms(no_db, None)}
        if w.d.chance(0.5):
            self.spec["volumes"] = [{"name": "disk", "gcePersistentDisk": {"pdName": "disk"}}]

    def taint(self, node: Json) -> None:
        node["spec"]["taints"] = [
            taint(self.d) | {"effect": self.d.choice(("NoSchedule", "NoExecute"))}
        ]

    def cordon(self, node: Json) -> None:
        node["spec"]["unschedulable"] = True

    def label(self, node: Json) -> None:
        node["metadata"]["labels"][DISKTYPE] = "hdd"

    def resources(self, node: Json) -> None:
        for resource in self.d.some((CPU, MEMORY, GPU), 1, 3):
            node["status"]["allocatable"][resource] = "0"

    def busy(self, node: Json) -> None:
        self.w.place(
            node["metadata"]["name"],
            need={CPU: 15500, MEMORY: 63 * GI + GI // 2},
            priority=self.d.choice((0, 50, 200)),
        )

    def pods(self, node: Json) -> None:
        node["status"]["allocatable"][PODS] = "1"
        self.w.place(node["metadata"]["name"], priority=self.d.choice((0, 200)))

    def port(self, node: Json) -> None:
        port = {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
        self.w.place(
            node["metadata"]["name"],
            containers=[container(self.d, "main", ports=[port])],
            priority=self.d.choice((0, 200)),
        )

    def enemy(self, node: Json) -> None:
        self.w.place(
            node["metadata"]["name"], labels={"app": "db"}, priority=self.d.choice((0, 200))
        )

    def hostile(self, node: Json) -> None:
        no_web = [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}]
        self.w.place(node["metadata"]["name"], affinity=affinity(podAntiAffinity=(no_web, None)))

    def disk(self, node: Json) -> None:
        self.w.place(
            node["metadata"]["name"],
            volumes=[{"name": "v", "gcePersistentDisk": {"pdName": "disk"}}],
        )


def rule_out_all(o: Obstacles) -> None:
    """Add one condition to the pod that no node, or few, can meet."""
    d, spec = o.d, o.spec
    match d.randint(1, 8):
        case 1:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": d.choice((ZONE, "example.com/none")),
                    "whenUnsatisfiable": "DoNotSchedule",
                    "minDomains": 9,
                    "labelSelector": {"matchLabels": {"app": "web"}},
                }
            ]
        case 2:
            spec["affinity"]["podAffinity"] = terms(
                [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "nobody"}}}], None
            )
        case 3:
            bound_in_zone(o.storage)
        case 4:
            static_local(o.storage)
        case 5:
            trouble(o.storage)
        case 6:
            tracked_capacity(o.storage)
        case 7:
            names = [
                {"matchFields": [expression("metadata.name", "In", name)]}
                for name in d.some([*o.w.nodes, "gone"], 1, 2)
            ]
            spec["affinity"]["nodeAffinity"] = terms({"nodeSelectorTerms": names}, None)
        case _:
            bound_with_zone_labels(o.storage)
    if o.storage.sources:
        spec["volumes"] = o.storage.volumes()


@family("messages")
def messages(d: Dice) -> Json:
    if d.chance(0.02):
        return World(d).case(pod(d, "pending", need=ordinary_need(d)))
    w = landscape(d, d.choice((1, 2, 3, 5, 8, 13, 25, 40)))
    o = Obstacles(w)
    kinds = [
        "taint",
        "taint",
        "cordon",
        "label",
        "resources",
        "busy",
        "pods",
        "port",
        "enemy",
        "hostile",
    ]
    kinds += ["disk"] if "volumes" in o.spec else []
    chosen = d.some(kinds, 1, len(kinds))
    for node in w.nodes.values():
        for kind in d.some(chosen, 1, d.choice((1, 1, 1, 1, 2))):
            getattr(o, kind)(node)
    if d.chance(0.4):
        rule_out_all(o)
    if d.chance(0.15):
        o.pending["spec"]["preemptionPolicy"] = "Never"
    return w.case(o.pending, repeat=6)
