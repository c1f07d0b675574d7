"""`fairlead demo` as a person starts it: what it prints, what kubectl sees of it, how it ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.cli.ports import taken_port

FAIRLEAD = str(Path(sys.executable).parent / "fairlead")
POD = """apiVersion: v1
kind: Pod
metadata: {name: mine}
spec:
  containers:
  - name: main
    image: registry.example/mine:1
    resources: {requests: {cpu: 100m}}
"""
Demo = subprocess.Popen[str]
Kubectl = Callable[..., str]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A place of its own for what the demo and kubectl write."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return os.environ | {"TMPDIR": str(folder), "HOME": str(tmp_path)}


def started(environment: dict[str, str]) -> Demo:
    return subprocess.Popen(
        [FAIRLEAD, "demo"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_to(demo: Demo, words: str) -> list[str]:
    """What the demo prints, up to the line with these words."""
    assert demo.stdout is not None
    lines: list[str] = []
    for line in demo.stdout:
        lines.append(line)
        if words in line:
            return lines
    assert demo.stderr is not None
    raise AssertionError(f"no {words!r} in {''.join(lines)}{demo.stderr.read()}")


@pytest.fixture
def demo(environment: dict[str, str]) -> Iterator[Demo]:
    process = started(environment)
    yield process
    process.kill()
    process.communicate()


def test_once_it_prints_each_placement_and_ends(environment: dict[str, str]) -> None:
    command = [FAIRLEAD, "demo", "--once"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines() if line.startswith("  ")]
    placed = {name: (where, by) for name, where, by in rows[1:]}
    assert len(placed) == len(rows) - 1 == 7
    assert placed["lamp"] == ("node-2", "blinking-scheduler")
    assert placed["too-big"][0] == "-"
    assert "3 Insufficient cpu" in placed["too-big"][1]
    webs = {where for name, (where, _) in placed.items() if name.startswith("web-")}
    assert webs == {"node-1", "node-2", "node-3"}
    batch = {where for name, (where, _) in placed.items() if name.startswith("batch-")}
    assert batch == {"node-4"}
    assert list(Path(environment["TMPDIR"]).iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stays_up_until_it_is_told_and_leaves_nothing_behind(
    environment: dict[str, str], demo: Demo, number: signal.Signals
) -> None:
    said = "".join(read_to(demo, "fairlead config show"))
    kubeconfig = re.search(r"export KUBECONFIG=(\S+)", said)
    assert kubeconfig is not None
    assert Path(kubeconfig[1]).exists()
    assert Path(environment["TMPDIR"]) in Path(kubeconfig[1]).parents
    assert demo.poll() is None
    demo.send_signal(number)
    _, err = demo.communicate(timeout=20)
    assert demo.returncode == 0
    assert "Traceback" not in err
    assert list(Path(environment["TMPDIR"]).iterdir()) == []


def test_the_command_that_it_names_works(environment: dict[str, str], demo: Demo) -> None:
    line = read_to(demo, "fairlead config show")[-1]
    command = [FAIRLEAD, *line.split()[1:]]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "BlinkingLight" in shown.stdout


def test_a_port_in_use_is_one_line(environment: dict[str, str]) -> None:
    with taken_port() as port:
        for command in ("demo", "cluster"):
            done = subprocess.run(
                [FAIRLEAD, command, "--port", str(port)],
                env=environment,
                capture_output=True,
                text=True,
                timeout=30,
            )
            assert done.returncode == 1
            (line,) = done.stderr.splitlines()
            assert f"port {port} on 127.0.0.1 is in use; choose another with --port" in line
    assert list(Path(environment["TMPDIR"]).iterdir()) == []


@pytest.fixture
def kubectl(environment: dict[str, str], demo: Demo) -> Kubectl:
    """The real one, with the kubeconfig that the demo prints."""
    said = "".join(read_to(demo, "fairlead config show"))
    kubeconfig = re.search(r"export KUBECONFIG=(\S+)", said)
    assert kubeconfig is not None
    program = shutil.which("kubectl")
    assert program is not None, "kubectl is needed here"

    def run(*arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [program, *arguments],
            env=environment | {"KUBECONFIG": kubeconfig[1]},
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.e2e
def test_kubectl_sees_and_changes_what_the_demo_shows(kubectl: Kubectl) -> None:
    rows = [line.split() for line in kubectl("get", "pods", "-o", "wide").splitlines()]
    assert {row[0].partition("-")[0] for row in rows[1:]} == {"web", "batch", "lamp", "too"}
    described = kubectl("describe", "pod", "too-big")
    assert "FailedScheduling" in described
    assert "3 Insufficient cpu." in described
    assert kubectl("apply", "-f", "-", given=POD) == "pod/mine created\n"
    deadline = time.monotonic() + 20
    while "Successfully" not in (described := kubectl("describe", "pod", "mine")):
        assert time.monotonic() < deadline, described
        time.sleep(0.1)
    assert re.search(r"Successfully assigned default/mine to node-\d", described)
    kubectl("delete", "pod", "mine", "--wait=false")
