"""One decision: how long, by how many rows have changed since the shape was last decided.

    python -m bench.decision [--nodes 5000] [--shapes 50] [--pods 5000] [-o json]

Every node is scored, every pod is assumed and confirmed as the watch would, metrics count, and
garbage collection is on. The shapes (requests, tolerations) come in random order, so that between
two decisions of one shape as many rows change as others have used. Beside it stands the bare numpy
of the same step: fit, least allocated and balanced for the changed rows, and the best of the
totals, without any framework.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from fairlead.cluster.state import Cluster
from fairlead.config.loading import load
from fairlead.cycle.decision import Placed
from fairlead.model.decode import decode_node, decode_pod
from fairlead.observe.metrics import Metrics
from fairlead.profiles import BUILT_IN
from fairlead.scheduler import Core

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Clock:
    now = staticmethod(time.monotonic)


class Deaf:
    def wake(self) -> None:
        return

    def refused(self, line: str) -> None:
        raise SystemExit(line)

    def hint_failed(self, plugin: str, event: object, pod: object, problem: Exception) -> None:
        raise SystemExit(f"{plugin}: {problem}")

    def assumed_gone(self, pod: object) -> None:
        return


def node(i: int) -> bytes:
    labels = {
        "kubernetes.io/hostname": f"node-{i}",
        "topology.kubernetes.io/zone": f"zone-{i % 10}",
    }
    resources = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return json.dumps(
        {
            "metadata": {"name": f"node-{i}", "uid": f"node-{i}", "labels": labels},
            "status": {"allocatable": resources},
        }
    ).encode()


def pod(i: int, shape: int, node_name: str = "") -> bytes:
    requests = {"cpu": f"{100 + 10 * (shape % 25)}m", "memory": f"{200 + 20 * (shape % 10)}Mi"}
    tolerations = [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        *([{"key": "dedicated", "operator": "Exists"}] if shape >= 25 else []),
    ]
    return json.dumps(
        {
            "metadata": {
                "name": f"pod-{i}",
                "namespace": "default",
                "uid": f"pod-{i}",
                "resourceVersion": "2" if node_name else "1",
                "labels": {"app": f"app-{shape}"},
            },
            "spec": {
                "containers": [
                    {"name": "main", "image": "app", "resources": {"requests": requests}}
                ],
                "tolerations": tolerations,
                "nodeName": node_name,
            },
        }
    ).encode()


def core_with(nodes: int) -> Core:
    rng = random.Random(1)
    core = Core(Cluster(), load(CONFIG), BUILT_IN, Clock(), rng.randrange, Deaf())
    for i in range(nodes):
        core.intake.set_node(decode_node(node(i)))
    return core


def measure(core: Core, shapes: int, pods: int) -> tuple[list[tuple[int, float]], list[float]]:
    """Microseconds of each decision with the rows that had changed, and those of new shapes."""
    rng, metrics = random.Random(2), Metrics()
    attempts = metrics.cell("scheduler_schedule_attempts_total", "scheduled", "default-scheduler")
    duration = metrics.histogram("scheduler_scheduling_algorithm_duration_seconds")
    profile = core.profiles["default-scheduler"]
    last: dict[int, int] = {}
    seen: list[tuple[int, float]] = []
    new: list[float] = []
    for i in range(pods):
        shape = rng.randrange(shapes)
        core.intake.set_pod(decode_pod(pod(i, shape)))
        entry = core.queue.pop()
        assert entry is not None
        began = time.perf_counter()
        decision = core.cycle.schedule_one(profile, entry)
        attempts.value += 1
        took = time.perf_counter() - began
        duration.observe(took)
        assert isinstance(decision, Placed), decision
        core.queue.done(entry.pod.uid)
        core.intake.set_pod(decode_pod(pod(i, shape, decision.node_name)))
        if shape in last:
            seen.append((i - last[shape], took * 1e6))
        else:
            new.append(took * 1e6)
        last[shape] = i
    return seen, new


def bare(nodes: int, changed: int) -> float:
    """Microseconds of the same step in numpy alone: the median of many."""
    rng = np.random.default_rng(3)
    capacity = np.full(nodes, 32_000, np.int64)
    memory = np.full(nodes, 256 * 2**30, np.int64)
    used, used_memory = rng.integers(0, 16_000, nodes), rng.integers(0, 2**36, nodes)
    totals = rng.integers(0, 500, nodes)

    def step() -> int:
        rows = rng_rows
        cpu, mem = capacity[rows], memory[rows]
        after, after_memory = used[rows] + 100, used_memory[rows] + 2**28
        fits = (after <= cpu) & (after_memory <= mem)
        least = ((cpu - after) * 100 // cpu + (mem - after_memory) * 100 // mem) // 2
        deviation = np.abs(after / cpu - after_memory / mem) / 2
        totals[rows] = np.where(fits, least + ((1 - deviation) * 100).astype(np.int64), -1)
        best = totals.argmax()
        return int((totals == totals[best]).nonzero()[0][0])

    rng_rows = rng.integers(0, nodes, changed)
    return microseconds(step)


def microseconds(step: Callable[[], object], times: int = 400) -> float:
    taken: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        step()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1e6


def row(
    name: str, values: list[float], bound: float | None, alone: float | None
) -> dict[str, object]:
    ordered = sorted(values)
    return {
        "rows changed": name,
        "decisions": len(values),
        "median us": round(statistics.median(ordered), 1) if values else None,
        "p99 us": round(ordered[int(len(ordered) * 0.99)], 1) if values else None,
        "bound us": bound,
        "bare numpy us": round(alone, 1) if alone is not None else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--shapes", type=int, default=50)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("-o", dest="form", choices=["table", "json"], default="table")
    options = parser.parse_args()
    seen, new = measure(core_with(options.nodes), options.shapes, options.pods)
    one, _ = measure(core_with(options.nodes), 1, options.pods // 5)
    all_new = [
        took
        for seed in range(3)
        for took in measure(core_with(options.nodes), options.shapes, options.shapes * 2)[1]
    ]
    rows = [
        row("1", [t for n, t in one if n == 1], 60, bare(options.nodes, 1)),
        row("at most 16", [t for n, t in seen if n <= 16], 100, bare(options.nodes, 16)),
        row(f"all of {options.shapes} shapes", [t for _, t in seen], 250, bare(options.nodes, 50)),
        row("new shape", all_new or new, 1500, bare(options.nodes, options.nodes)),
    ]
    if options.form == "json":
        print(json.dumps(rows))
        return
    version = sys.version.split()[0]
    print(f"{options.nodes} nodes, {options.shapes} shapes, {options.pods} pods, Python {version}")
    print("  ".join(f"{name:>18}" for name in rows[0]))
    for line in rows:
        print("  ".join(f"{value!s:>18}" for value in line.values()))


if __name__ == "__main__":
    main()
