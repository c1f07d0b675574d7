"""The nodes and pods of the measurements: a pod's number decides all of it, so runs are alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Manifest = dict[str, Any]

ZONES = 10
RACKS = 100
APPS = 20


@dataclass(frozen=True)
class Workload:
    """What is placed, and where.

    `backlog`: the measured pods are there before the scheduler starts. `online`: they are created
    while it runs.
    """

    kind: str
    mode: str
    nodes: int
    placed: int
    pods: int

    def __str__(self) -> str:
        return f"{self.kind}/{self.mode}/{self.nodes}/{self.placed}/{self.pods}"


SUITES = {
    "quick": [
        Workload("basic", "backlog", 1000, 1000, 2000),
        Workload("basic", "online", 1000, 1000, 2000),
    ],
    "full": [
        Workload("basic", "backlog", 1000, 1000, 3000),
        Workload("basic", "online", 1000, 1000, 3000),
        Workload("basic", "backlog", 5000, 1000, 3000),
        Workload("statefulset", "backlog", 1000, 1000, 2000),
        Workload("daemonset", "backlog", 2000, 0, 2000),
        Workload("mixed-requests", "backlog", 1000, 1000, 2000),
        Workload("node-affinity", "backlog", 1000, 1000, 2000),
    ],
    "scale": [Workload("basic", "backlog", nodes, 1000, 2000) for nodes in (1000, 5000, 20000)],
}


def node_name(number: int) -> str:
    return f"node-{number:06d}"


def node(number: int) -> Manifest:
    room = {"pods": "110", "cpu": "32", "memory": "256Gi"}
    labels = {
        "kubernetes.io/hostname": node_name(number),
        "topology.kubernetes.io/zone": f"zone-{number % ZONES}",
        "rack": f"rack-{number % RACKS}",
    }
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node_name(number), "labels": labels},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }


def pod(kind: str, prefix: str, number: int, nodes: int) -> Manifest:
    """A pod of this kind, as the API would be given it; `nodes` is how many there are."""
    requests = {"cpu": "100m", "memory": "500Mi"}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": requests},
    }
    made: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{prefix}-{number:06d}",
            "labels": {"app": f"app-{number % APPS}"},
        },
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }
    KINDS[kind](made, number, nodes)
    return made


def _basic(made: Manifest, number: int, nodes: int) -> None:
    """All alike."""


def _statefulset(made: Manifest, number: int, nodes: int) -> None:
    """Each has labels and a host name of its own."""
    name = made["metadata"]["name"]
    made["metadata"]["labels"] |= {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(number),
        "controller-revision-hash": "r1",
    }
    made["spec"] |= {"hostname": name, "subdomain": "db"}


def _daemonset(made: Manifest, number: int, nodes: int) -> None:
    """Each is for one node."""
    one = {"key": "metadata.name", "operator": "In", "values": [node_name(number % nodes)]}
    made["spec"]["affinity"] = _required([{"matchFields": [one]}])
    made["spec"]["tolerations"] = [{"operator": "Exists"}]


def _mixed_requests(made: Manifest, number: int, nodes: int) -> None:
    dice = random.Random(number)
    made["spec"]["containers"][0]["resources"]["requests"] = {
        "cpu": f"{dice.choice([50, 100, 250, 500, 1000])}m",
        "memory": f"{dice.choice([64, 128, 300, 500, 900])}Mi",
    }


def _node_affinity(made: Manifest, number: int, nodes: int) -> None:
    zones = {
        "key": "topology.kubernetes.io/zone",
        "operator": "In",
        "values": ["zone-0", "zone-1"],
    }
    made["spec"]["affinity"] = _required([{"matchExpressions": [zones]}])


def _required(terms: list[Manifest]) -> Manifest:
    required = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


KINDS: dict[str, Callable[[Manifest, int, int], None]] = {
    "basic": _basic,
    "statefulset": _statefulset,
    "daemonset": _daemonset,
    "mixed-requests": _mixed_requests,
    "node-affinity": _node_affinity,
}
