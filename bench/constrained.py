"""Decisions of constrained pods at 5,000 nodes and 20,000 placed pods: shapes seen, and new ones.

    python -m bench.constrained [--nodes 5000] [--placed 20000] [-o json]

Seen: the pods of one template, one after the other, each assumed and confirmed. New: the first pod
of a template that no pod had before. The time is that of the decision alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

from bench.decision import core_with
from fairlead.cycle.decision import Placed
from fairlead.model.decode import DECODERS, decode_node, decode_pod
from fairlead.scheduler import Core

Object = dict[str, Any]
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SEEN, NEW = 300.0, 5000.0
"""The bounds, in microseconds."""


def selecting(app: str) -> Object:
    return {"matchLabels": {"app": app}}


def spread(app: str, when: str) -> Object:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 5,
                "topologyKey": ZONE,
                "whenUnsatisfiable": when,
                "labelSelector": selecting(app),
            }
        ]
    }


def affinity(app: str, kind: str, topology: str, *, required: bool) -> Object:
    term = {"labelSelector": selecting(app), "topologyKey": topology}
    if required:
        return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    wished = [{"weight": 10, "podAffinityTerm": term}]
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": wished}}}


def node_affinity(app: str) -> Object:
    wanted = {"key": ZONE, "operator": "In", "values": ["zone-0", "zone-1", "zone-2"]}
    terms = [{"matchExpressions": [wanted, {"key": f"not-{app}", "operator": "DoesNotExist"}]}]
    required = {"nodeSelectorTerms": terms}
    tolerated = [{"key": f"taint-{i}", "operator": "Exists"} for i in range(10)]
    return {
        "tolerations": tolerated,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
    }


WORKLOADS = {
    "plain": lambda app: {},
    "spread, hard": lambda app: spread(app, "DoNotSchedule"),
    "spread, soft": lambda app: spread(app, "ScheduleAnyway"),
    "affinity, required": lambda app: affinity(app, "podAffinity", ZONE, required=True),
    "affinity, preferred": lambda app: affinity(app, "podAffinity", ZONE, required=False),
    "anti-affinity, required": lambda app: affinity(
        app, "podAntiAffinity", HOSTNAME, required=True
    ),
    "anti-affinity, preferred": lambda app: affinity(
        app, "podAntiAffinity", HOSTNAME, required=False
    ),
    "10 taints, node affinity": node_affinity,
    "ReplicaSet behind a Service": lambda app: {"behind": app},
}


def pod(name: str, app: str, spec: Object, node_name: str = "") -> bytes:
    """A pod of the app as the API server would tell of it."""
    spec = dict(spec)
    metadata: Object = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "resourceVersion": "2" if node_name else "1",
        "labels": {"app": app},
    }
    if spec.pop("behind", None):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app}
        metadata["ownerReferences"] = [{**owner, "controller": True}]
    requests = {"cpu": "100m", "memory": "128Mi"}
    container = {"name": "main", "image": "app", "resources": {"requests": requests}}
    whole = {"containers": [container], "nodeName": node_name, **spec}
    return json.dumps({"metadata": metadata, "spec": whole}).encode()


def world(nodes: int, placed: int) -> Core:
    """Nodes in ten zones, a seventh of them with ten taints, and pods of twenty apps on them."""
    core = core_with(nodes)
    taints = [{"key": f"taint-{i}", "value": "x", "effect": "NoSchedule"} for i in range(10)]
    for i in range(0, nodes, 7):
        labels = {HOSTNAME: f"node-{i}", ZONE: f"zone-{i % 10}"}
        resources = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"}
        tainted = {
            "metadata": {"name": f"node-{i}", "uid": f"node-{i}", "labels": labels},
            "spec": {"taints": taints},
            "status": {"allocatable": resources},
        }
        core.intake.set_node(decode_node(json.dumps(tainted).encode()))
    for i in range(placed):
        data = pod(f"placed-{i}", f"app-{i % 20}", {}, f"node-{i % nodes}")
        core.intake.set_pod(decode_pod(data))
    return core


def announce(core: Core, app: str) -> None:
    """The Service and the ReplicaSet of an app, as their watches would bring them."""
    meta = {"name": app, "namespace": "default", "uid": app}
    for kind, spec in (
        ("Service", {"selector": {"app": app}}),
        ("ReplicaSet", {"selector": selecting(app)}),
    ):
        data = json.dumps({"metadata": meta, "spec": spec}).encode()
        core.intake.set_object(kind, DECODERS[kind](data))


def decide(core: Core, name: str, app: str, spec: Object) -> float:
    """Microseconds of one decision; the pod is confirmed afterwards."""
    core.intake.set_pod(decode_pod(pod(name, app, spec)))
    entry = core.queue.pop()
    assert entry is not None
    profile = core.profiles["default-scheduler"]
    began = time.perf_counter()
    decision = core.cycle.schedule_one(profile, entry)
    took = time.perf_counter() - began
    assert isinstance(decision, Placed), decision
    core.queue.done(entry.pod.uid)
    core.intake.set_pod(decode_pod(pod(name, app, spec, decision.node_name)))
    return took * 1e6


def measure(core: Core, workload: str, times: int) -> tuple[list[float], list[float]]:
    """Decisions of a shape that was seen, and first ones of new shapes."""
    make = WORKLOADS[workload]
    mark = workload.replace(" ", "-").replace(",", "")
    seen: list[float] = []
    new: list[float] = []
    for fresh in range(12):
        app = f"{mark}-{fresh}"
        if workload.startswith("ReplicaSet"):
            announce(core, app)
        new.append(decide(core, f"{app}-first", app, make(app)))
        if fresh == 0:
            seen = [decide(core, f"{app}-{i}", app, make(app)) for i in range(times)]
    return seen, new


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--placed", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("-o", dest="form", choices=["table", "json"], default="table")
    options = parser.parse_args()
    core = world(options.nodes, options.placed)
    rows: list[Object] = []
    for workload in WORKLOADS:
        seen, new = measure(core, workload, options.times)
        rows.append(
            {
                "workload": workload,
                "seen us": round(statistics.median(seen), 1),
                "bound": SEEN,
                "p99 us": round(sorted(seen)[int(len(seen) * 0.99)], 1),
                "new us": round(statistics.median(new), 1),
                "bound of new": NEW,
            }
        )
    if options.form == "json":
        print(json.dumps(rows))
        return
    version = sys.version.split()[0]
    print(f"{options.nodes} nodes, {options.placed} placed pods, Python {version}")
    print("  ".join(f"{name:>28}" if i == 0 else f"{name:>12}" for i, name in enumerate(rows[0])))
    for row in rows:
        cells = [str(value) for value in row.values()]
        print("  ".join(f"{c:>28}" if i == 0 else f"{c:>12}" for i, c in enumerate(cells)))


if __name__ == "__main__":
    main()
