"""The blocks of the documents that need a cluster, on a real one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.control_plane.plane import ControlPlane
from tests.control_plane.programs import program

pytestmark = pytest.mark.e2e

SEEDS = Path(__file__).parents[1] / "fixtures" / "seeds"
FAIRLEAD = Path(sys.executable).parent / "fairlead"
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"pods": "10", "cpu": "4", "memory": "8Gi"}},
}


def pod(plane: ControlPlane, name: str) -> Any:
    return plane.request("GET", f"/api/v1/namespaces/default/pods/{name}")


def test_each_pod_goes_to_the_scheduler_that_it_names(tmp_path: Path) -> None:
    """plugin-demo/08.yaml applied, plugin-demo/18.sh typed with the first configuration."""
    with ControlPlane(tmp_path / "plane") as plane:
        plane.request("POST", "/api/v1/nodes", NODE)
        kubectl = [str(program("kubectl")), "--kubeconfig", str(plane.kubeconfig)]
        pods = str(SEEDS / "plugin-demo/08.yaml")
        subprocess.run([*kubectl, "apply", "-f", pods], check=True, capture_output=True)

        config = tmp_path / "scheduler.yaml"
        config.write_text(
            (SEEDS / "config-1-most-allocated.yaml").read_text()
            + "leaderElection: {leaderElect: false}\n"
            + f"clientConnection: {{kubeconfig: {plane.scheduler_kubeconfig}}}\n"
        )
        _, *arguments = (SEEDS / "plugin-demo/18.sh").read_text().split()
        command = [str(FAIRLEAD), "run", *arguments]
        command[command.index("<filename>")] = str(config)
        with (tmp_path / "log").open("wb") as log:
            scheduler = subprocess.Popen(command, stderr=log, stdout=log)
        try:
            wait_for(plane, "nginx-custom", scheduler, tmp_path / "log")
            assert "nodeName" not in pod(plane, "nginx-default")["spec"]
            assert "conditions" not in pod(plane, "nginx-default")["status"]
        finally:
            os.kill(scheduler.pid, signal.SIGTERM)
            assert scheduler.wait(20) == 0


def wait_for(plane: ControlPlane, name: str, scheduler: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while pod(plane, name)["spec"].get("nodeName") != "n1":
        said = log.read_text(errors="replace")[-2000:]
        assert scheduler.poll() is None, f"the scheduler ended:\n{said}"
        assert time.monotonic() < deadline, f"{name} was not placed:\n{said}"
        time.sleep(0.1)
