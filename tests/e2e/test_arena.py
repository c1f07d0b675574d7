"""The measurement beside kube-scheduler: that its figures are of what happened."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.arena.__main__ import known, run, table
from bench.arena.measuring import Scheduler
from bench.arena.workloads import Workload

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(("name", "mode"), [("null", "backlog"), ("kube-scheduler", "online")])
def test_a_scheduler_that_places_all_is_measured_whole(name: str, mode: str) -> None:
    workload = Workload("basic", mode, 20, 10, 60)
    result = run(Scheduler(name, known()[name]), workload, 60)
    assert result["whole"], result
    assert result["bound"] == result["scheduled_events"] == 60
    assert result["pods_per_s"] > 0
    assert result["cpu_s_per_1000"] > 0
    assert result["most_per_node"] >= 3
    assert "NOT WHOLE" not in "\n".join(table(workload, [result]))


def test_a_scheduler_that_ends_is_said_to_have_ended(tmp_path: Path) -> None:
    command = f"{sys.executable} -c 'raise SystemExit(\"no such flag\")'"
    workload = Workload("basic", "online", 2, 0, 2)
    result = run(Scheduler("broken", command), workload, 10)
    assert "broken bound nothing" in result["error"]
    assert "no such flag" in result["error"]
    assert "NOT WHOLE" in "\n".join(table(workload, [result]))
