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


def started(environment: dict[str, str], *arguments: str) -> Demo:
    return subprocess.Popen(
        [FAIRLEAD, "demo", *arguments],
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


def test_with_v_it_tells_of_every_pod(environment: dict[str, str]) -> None:
    command = [FAIRLEAD, "demo", "--once", "-v=2"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count('"Successfully bound pod to node"') == 6
    assert done.stderr.count('"Unable to schedule pod; no fit; waiting"') >= 1
    assert '"Starting Fairlead"' in done.stderr


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


def written(folder: Path, profiles: str) -> str:
    path = folder / "scheduler.yaml"
    path.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"leaderElection: {{leaderElect: false}}\nprofiles: {profiles}\n"
    )
    return str(path)


def test_it_can_be_stopped_while_pods_still_wait(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Here by a plugin that keeps every pod from every node."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "never.py").write_text(
        "from fairlead.framework.status import unschedulable\n\n\n"
        "class Never:\n    name = 'Never'\n\n"
        "    def filter(self, pod, node, state):\n        return unschedulable('never')\n"
    )
    config = written(
        tmp_path, "[{schedulerName: s, plugins: {filter: {enabled: [{name: Never}]}}}]"
    )
    plugins = str(tmp_path / "plugins")
    with started(environment, "--config", config, "--plugin-dir", plugins) as demo:
        try:
            read_to(demo, "3 never")
            demo.send_signal(signal.SIGINT)
            _, err = demo.communicate(timeout=10)
        finally:
            demo.kill()
    assert (demo.returncode, err) == (0, "")


def test_a_configuration_without_resources_places_all(
    environment: dict[str, str], tmp_path: Path
) -> None:
    off = "[{schedulerName: s, plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]"
    command = [FAIRLEAD, "demo", "--once", "--config", written(tmp_path, off)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert "7 pods placed; too-big too" in done.stdout


def test_a_reader_that_has_seen_enough_is_no_failure(environment: dict[str, str]) -> None:
    with started(environment, "--once") as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        demo.stdout.readline()
        demo.stdout.close()
        assert demo.wait(timeout=30) == 0
        assert demo.stderr.read() == ""


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
