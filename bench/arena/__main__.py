"""Run schedulers in turn over the same workloads, each on a fresh real control plane; print ratios.

    python -m bench.arena [--suite quick|full|scale] [--repeat 3] [--only KIND]
                          [--scheduler NAME[='COMMAND --config {config}']]...

The first scheduler is the yardstick. Without --scheduler: kube-scheduler, fairlead, and null, a
binder without logic. Orders alternate (A B, B A, ...), figures are medians, and only ratios within
one run count: a machine that does something else makes every figure worse, and not equally. Each
measurement is a line of JSON in bench/out/.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.arena.measuring import Scheduler, SchedulerEndedError, measure
from bench.arena.workloads import SUITES, Workload
from tests.control_plane.programs import program

FIGURES = {
    "pods_per_s": "pods/s",
    "cpu_s_per_1000": "CPU s/1000",
    "plane_cpu_s_per_1000": "API CPU s/1000",
    "start_cpu_s": "start CPU s",
    "first_bind_s": "first s",
    "peak_mib": "MiB",
    "wait_p99_ms": "p99 ms",
    "stdev_per_node": "stdev",
}
OUT = Path(__file__).parents[1] / "out"


def known() -> dict[str, str]:
    python = shlex.quote(sys.executable)
    fairlead = shlex.quote(str(Path(sys.executable).parent / "fairlead"))
    return {
        "kube-scheduler": f"{program('kube-scheduler')} --config {{config}} --secure-port 0",
        "fairlead": f"{fairlead} run --config {{config}}",
        "null": f"{python} -m bench.arena.null {{kubeconfig}}",
    }


def named(text: str) -> Scheduler:
    name, _, command = text.partition("=")
    if not command and name not in known():
        raise argparse.ArgumentTypeError(f"{name} needs a command: {name}='… {{config}}'")
    return Scheduler(name, command or known()[name])


def run(scheduler: Scheduler, workload: Workload, patience: float) -> dict[str, Any]:
    result: dict[str, Any] = {"name": scheduler.name, "workload": str(workload)}
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        try:
            result |= measure(Path(folder), scheduler, workload, patience)
        except* SchedulerEndedError as errors:
            result["error"] = str(errors.exceptions[0])
    return result


def table(workload: Workload, results: list[dict[str, Any]]) -> list[str]:
    """A line a scheduler: medians, and how many times the yardstick's."""
    mine = [result for result in results if result["workload"] == str(workload)]
    yardstick: dict[str, float] = {}
    lines = [str(workload)]
    for name in dict.fromkeys(result["name"] for result in mine):
        runs = [result for result in mine if result["name"] == name]
        cells: list[str] = []
        for key, label in FIGURES.items():
            values = [result[key] for result in runs if result.get(key) is not None]
            if values:
                value = statistics.median(values)
                base = yardstick.setdefault(key, value)
                ratio = f" ({value / base:.2f}x)" if base else ""
                cells.append(f"{label} {value:g}{ratio}")
        whole = all(r.get("whole") and r["scheduled_events"] == r["bound"] for r in runs)
        lines.append(f"  {name:16s}{'' if whole else 'NOT WHOLE  '}{'  '.join(cells)}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.arena",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scheduler", action="append", type=named, metavar="NAME[=COMMAND]")
    parser.add_argument("--suite", choices=SUITES, default="quick")
    parser.add_argument("--only", help="the workloads of this kind or mode alone")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--patience", type=float, default=240, help="seconds")
    options = parser.parse_args()
    schedulers = options.scheduler or [Scheduler(*pair) for pair in known().items()]
    OUT.mkdir(exist_ok=True)
    results: list[dict[str, Any]] = []
    with (OUT / f"live-{time.strftime('%Y%m%d-%H%M%S')}.jsonl").open("w") as lines:
        for workload in SUITES[options.suite]:
            if options.only and options.only not in (workload.kind, workload.mode):
                continue
            for turn in range(options.repeat):
                for scheduler in schedulers if turn % 2 == 0 else reversed(schedulers):
                    if scheduler.name == "null" and workload.mode == "online":
                        continue
                    result = run(scheduler, workload, options.patience)
                    results.append(result)
                    print(json.dumps(result), file=lines, flush=True)
                    print(json.dumps(result), file=sys.stderr, flush=True)
            print("\n".join(table(workload, results)), flush=True)
    return 0 if all(result.get("whole") for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
