"""Preemption: how long it takes to find a node and its victims, or that there is nothing to gain.

    python -m bench.preemption [--nodes 5000] [--victims 4] [--times 30] [-o json]

Every node is full of pods of lower priority. A pod of a new shape finds victims; then a pod that is
too large for any node, even an empty one of these pods, finds that nothing helps: the first time,
and again when nothing has changed since. Between the others a pod comes or goes.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time

from bench.decision import CONFIG, Clock, Deaf
from fairlead.cluster.state import Cluster
from fairlead.config.loading import load
from fairlead.cycle.decision import Unplaced
from fairlead.model.decode import decode_node, decode_pod
from fairlead.profiles import BUILT_IN
from fairlead.scheduler import Core

FULL, KEEPER = 8000, 2000
"""Millicores of a node, and what a pod of higher priority on each of them has."""


def node(i: int) -> bytes:
    labels = {
        "kubernetes.io/hostname": f"node-{i}",
        "topology.kubernetes.io/zone": f"zone-{i % 10}",
    }
    resources = {"cpu": f"{FULL}m", "memory": "64Gi", "pods": "110"}
    metadata = {"name": f"node-{i}", "uid": f"node-{i}", "labels": labels}
    return json.dumps({"metadata": metadata, "status": {"allocatable": resources}}).encode()


def pod(name: str, cpu: int, priority: int, node_name: str = "") -> bytes:
    requests = {"cpu": f"{cpu}m", "memory": "64Mi"}
    start = f"2026-03-01T{len(name) % 24:02d}:{priority % 60:02d}:00Z"
    return json.dumps(
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": name,
                "resourceVersion": "1",
                "labels": {"app": name[:1]},
            },
            "spec": {
                "containers": [
                    {"name": "main", "image": "app", "resources": {"requests": requests}}
                ],
                "priority": priority,
                "nodeName": node_name,
            },
            "status": {"startTime": start} if node_name else {},
        }
    ).encode()


def core_with(nodes: int, victims: int) -> Core:
    rng = random.Random(1)
    core = Core(Cluster(), load(CONFIG), BUILT_IN, Clock(), rng.randrange, Deaf())
    each = (FULL - KEEPER) // victims
    for i in range(nodes):
        core.intake.set_node(decode_node(node(i)))
        core.intake.set_pod(decode_pod(pod(f"keeper-{i}", KEEPER, 10_000, f"node-{i}")))
        for j in range(victims):
            name = f"victim-{i}-{j}"
            core.intake.set_pod(decode_pod(pod(name, each, rng.randrange(5), f"node-{i}")))
    return core


def decide(core: Core, name: str, cpu: int, priority: int = 1000) -> tuple[float, Unplaced]:
    """Milliseconds of one decision, which finds no node that is free."""
    core.intake.set_pod(decode_pod(pod(name, cpu, priority)))
    entry = core.queue.pop()
    assert entry is not None
    began = time.perf_counter()
    decision = core.cycle.schedule_one(core.profiles["default-scheduler"], entry)
    took = (time.perf_counter() - began) * 1e3
    assert isinstance(decision, Unplaced), decision
    core.queue.done(name)
    core.intake.remove_pod(name)
    return took, decision


def measure(core: Core, times: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in BOUNDS}
    for i in range(times):
        # A priority and a request that nobody has had before.
        took, decision = decide(core, f"new-{i}", 1000 + i, 1000 + i)
        assert decision.nominated_node_name, decision
        found["victims, new shape"].append(took)
        shake(core, i)
        took, decision = decide(core, f"like-{i}", 1000)
        assert decision.eviction, decision
        found["victims, known shape"].append(took)
        shake(core, i)
        took, decision = decide(core, f"large-{i}", FULL - KEEPER + 1)
        assert not decision.nominated_node_name, decision
        found["nothing to gain"].append(took)
        took, _ = decide(core, f"again-{i}", FULL - KEEPER + 1)
        found["nothing to gain, nothing changed"].append(took)
    return found


def shake(core: Core, i: int) -> None:
    """Something happens: kept answers have something to repair."""
    core.intake.remove_pod(f"victim-{i}-0")
    core.intake.set_pod(decode_pod(pod(f"victim-{i}-0", 1500, 3, f"node-{i}")))


BOUNDS = {
    "victims, new shape": 50.0,
    "victims, known shape": None,
    "nothing to gain": None,
    "nothing to gain, nothing changed": 5.0,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--victims", type=int, default=4)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("-o", dest="form", choices=["table", "json"], default="table")
    options = parser.parse_args()
    found = measure(core_with(options.nodes, options.victims), options.times)
    rows = [
        {
            "what": what,
            "median ms": round(statistics.median(taken), 2),
            "worst ms": round(max(taken), 2),
            "bound ms": BOUNDS[what],
        }
        for what, taken in found.items()
    ]
    if options.form == "json":
        print(json.dumps(rows))
        return
    python = sys.version.split()[0]
    print(f"{options.nodes} nodes with {options.victims} victims each, Python {python}")
    for line in rows:
        print("  ".join(f"{value!s:>34}" for value in line.values()))


if __name__ == "__main__":
    main()
