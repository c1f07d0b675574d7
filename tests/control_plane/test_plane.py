"""The real control plane itself: that it is the release we follow, and that it goes when we go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.control_plane.plane import EXTRAS, ControlPlane
from tests.control_plane.programs import KUBERNETES, program

pytestmark = pytest.mark.e2e


def eventually(question: Callable[[], Any], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)
    return answer


def kubectl(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(program("kubectl")), "--kubeconfig", str(kubeconfig), *arguments]
    return subprocess.run(command, text=True, capture_output=True)


def test_it_is_the_release_that_we_follow(real_plane: ControlPlane) -> None:
    assert real_plane.request("GET", "/version")["gitVersion"] == KUBERNETES


@pytest.mark.parametrize(
    ("action", "allowed"),
    [
        ("create pods --subresource=binding", "yes"),
        ("patch pods --subresource=status", "yes"),
        ("create events", "yes"),
        ("delete nodes", "no"),
        ("create deployments", "no"),
    ],
)
def test_the_scheduler_has_the_rights_of_kube_scheduler(
    real_plane: ControlPlane, action: str, allowed: str
) -> None:
    answer = kubectl(real_plane.scheduler_kubeconfig, "auth", "can-i", *action.split())
    assert answer.stdout.strip() == allowed


def test_with_the_extras_a_bound_pod_runs_and_a_deleted_one_goes(tmp_path: Path) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p1"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "pause"}]},
    }
    with ControlPlane(tmp_path, extras=EXTRAS) as plane:
        plane.request("POST", "/api/v1/nodes", node)
        pods = "/api/v1/namespaces/default/pods"
        plane.request("POST", pods, pod)
        one = f"{pods}/p1"
        eventually(lambda: plane.request("GET", one)["status"].get("phase") == "Running")
        plane.request("DELETE", f"{one}?gracePeriodSeconds=1")

        def is_gone() -> bool:
            try:
                plane.request("GET", one)
            except urllib.error.HTTPError as error:
                return error.code == 404
            return False

        eventually(is_gone)


def test_it_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    program_text = (
        "import sys, time; from pathlib import Path\n"
        "from tests.control_plane.plane import ControlPlane\n"
        "plane = ControlPlane(Path(sys.argv[1])); plane.start()\n"
        "print(plane.pid('etcd'), plane.pid('kube-apiserver'), flush=True); time.sleep(600)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", program_text, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    with starter.stdout:
        pids = [int(word) for word in starter.stdout.readline().split()]
    assert len(pids) == 2
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    eventually(lambda: not any(_runs(pid) for pid in pids))


def test_up_leaves_one_running_and_down_ends_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.control_plane"]
    up = subprocess.run([*command, "up", str(tmp_path)], text=True, capture_output=True, check=True)
    kubeconfig = Path(up.stdout.strip())
    assert "kube-system" in kubectl(kubeconfig, "get", "namespaces").stdout
    subprocess.run([*command, "down", str(tmp_path)], check=True)
    assert "refused" in kubectl(kubeconfig, "get", "namespaces").stderr


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
