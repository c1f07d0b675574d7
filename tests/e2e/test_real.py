"""The same loop on a real kube-apiserver, run as an operator runs it."""

from __future__ import annotations

import contextlib
import json
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.control_plane.plane import ControlPlane
from tests.control_plane.programs import program

pytestmark = pytest.mark.e2e

FAIRLEAD = str(Path(sys.executable).parent / "fairlead")
NODES, PODS = 50, 300
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
"""
Object = dict[str, Any]


def pod(name: str, cpu: str = "100m", **more: Any) -> Object:
    requests = {"cpu": cpu, "memory": "64Mi"}
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": requests}}
    spec = {"containers": [container], "nodeSelector": {"set": "loop"}, **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def node(name: str, cpu: str = "4", labels: Object | None = None) -> Object:
    capacity = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    metadata = {"name": name, "labels": labels or {"set": "loop"}}
    status = {"capacity": capacity, "allocatable": capacity}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


class Corner:
    """A namespace and nodes of our own on the plane that all tests share."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        self.path = f"/api/v1/namespaces/{namespace}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        plane.request("POST", "/api/v1/namespaces", body)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        plane.request("POST", f"{self.path}/serviceaccounts", account)

    def create(self, plural: str, body: Object) -> Object:
        path = f"/api/v1/{plural}" if plural == "nodes" else f"{self.path}/{plural}"
        return self.plane.request("POST", path, body)

    def pods(self) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in self._items("pods")}

    def nodes_of_pods(self) -> dict[str, str]:
        found = {name: each["spec"].get("nodeName", "") for name, each in self.pods().items()}
        return {name: where for name, where in found.items() if where}

    def events(self, reason: str) -> list[Object]:
        return [each for each in self._items("events") if each["reason"] == reason]

    def _items(self, plural: str) -> list[Object]:
        return self.plane.request("GET", f"{self.path}/{plural}")["items"]


@pytest.fixture
def corner(real_plane: ControlPlane) -> Iterator[Corner]:
    one = Corner(real_plane, "loop")
    names = [f"loop-{number}" for number in range(NODES)]
    for name in names:
        one.create("nodes", node(name))
    yield one
    for name in names:
        real_plane.request("DELETE", f"/api/v1/nodes/{name}")


class Scheduler:
    """`fairlead run` as a process, with the rights of kube-scheduler; ends with SIGTERM."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        config = folder / "scheduler.yaml"
        config.write_text(CONFIG)
        self.log = folder / "log"
        arguments = ["run", "--config", str(config), "--logging-format", "json"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [FAIRLEAD, *arguments, "--kubeconfig", str(plane.scheduler_kubeconfig)],
                stdout=log,
                stderr=log,
            )

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


def until(condition: Callable[[], object], scheduler: Scheduler, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        log = scheduler.log.read_text()[-2000:]
        assert scheduler.process.poll() is None, log
        assert time.monotonic() < deadline, log
        time.sleep(0.1)


class Witness:
    """No part of the product: hears of every state of every pod, and counts the bindings."""

    def __init__(self, corner: Corner) -> None:
        self.times: Counter[str] = Counter()
        self.seen: dict[str, str] = {}
        plane = corner.plane
        bearer = {"Authorization": f"Bearer {plane.token}"}
        url = f"{plane.server}{corner.path}/pods?watch=true"
        trust = ssl.create_default_context(cafile=str(plane.authority))
        request = urllib.request.Request(url, headers=bearer)
        self._answer = urllib.request.urlopen(request, context=trust, timeout=120)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        for line in self._answer:
            told = json.loads(line)["object"]
            uid, where = told["metadata"]["uid"], told["spec"].get("nodeName", "")
            if where != self.seen.get(uid, ""):
                self.times[told["metadata"]["name"]] += 1
            self.seen[uid] = where
            if told["metadata"]["name"] == "the-end":
                break
        self._answer.close()

    def ended(self) -> Counter[str]:
        """The counts, once the pod `the-end` was heard of."""
        self._thread.join(timeout=30)
        assert not self._thread.is_alive()
        return self.times


def test_three_hundred_pods_with_a_restart_in_the_middle(corner: Corner, tmp_path: Path) -> None:
    witness = Witness(corner)
    first = Scheduler(corner.plane, tmp_path)
    try:
        names = [f"p{number:03}" for number in range(PODS)]
        for name in names[:100]:
            corner.create("pods", pod(name))
        until(lambda: len(corner.nodes_of_pods()) >= 50, first)
        first.process.send_signal(signal.SIGTERM)  # pods are on their way, and more are coming
        for name in names[100:]:
            corner.create("pods", pod(name))
        assert first.process.wait(timeout=30) == 0
        second = Scheduler(corner.plane, tmp_path)
        until(lambda: len(corner.nodes_of_pods()) == PODS, second)
        until(lambda: len(corner.events("Scheduled")) >= PODS, second)
        assert second.stop() == 0
    finally:
        first.process.kill()
    corner.create("pods", pod("the-end"))
    assert "Traceback" not in first.log.read_text()
    assert witness.ended() == dict.fromkeys(names, 1)
    told = Counter(each["involvedObject"]["name"] for each in corner.events("Scheduled"))
    assert told == dict.fromkeys(names, 1)
    pods_on = Counter(corner.nodes_of_pods().values())
    assert max(pods_on.values()) <= 40
    assert sum(pods_on.values()) == PODS
    assert corner.events("FailedScheduling") == []


def condition(corner: Corner, name: str) -> Object:
    conditions = corner.pods()[name]["status"].get("conditions", [])
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


KUBE = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: KUBECONFIG}
profiles: [{schedulerName: upstream}]
"""


@pytest.fixture
def upstream(real_plane: ControlPlane, tmp_path: Path) -> Iterator[None]:
    """kube-scheduler itself, for the pods that ask for `upstream`."""
    config = tmp_path / "upstream.yaml"
    config.write_text(KUBE.replace("KUBECONFIG", str(real_plane.kubeconfig)))
    arguments = [f"--config={config}", "--secure-port=0"]
    with (tmp_path / "upstream.log").open("wb") as log:
        process = subprocess.Popen(
            [program("kube-scheduler"), *arguments], stdout=log, stderr=subprocess.STDOUT
        )
    yield
    process.kill()
    process.wait()


@pytest.mark.usefixtures("upstream")
def test_an_unschedulable_pod_is_told_of_as_kube_scheduler_does(
    real_plane: ControlPlane, tmp_path: Path
) -> None:
    """Event and condition are kube-scheduler's, word for word; a larger node takes the pod."""
    corner = Corner(real_plane, "words")
    for name in ("words-0", "words-1"):
        corner.create("nodes", node(name, labels={"set": "words"}))
    names = {"ours": "default-scheduler", "theirs": "upstream"}
    for name, scheduler_name in names.items():
        body = pod(name, "5", schedulerName=scheduler_name, nodeSelector={"set": "words"})
        corner.create("pods", body)
    scheduler = Scheduler(real_plane, tmp_path)
    try:
        until(lambda: len(corner.events("FailedScheduling")) == 2, scheduler)
        until(lambda: all(condition(corner, name) for name in names), scheduler)
        told = {each["involvedObject"]["name"]: each for each in corner.events("FailedScheduling")}
        for field in ("message", "type", "reason", "action"):
            assert told["ours"][field] == told["theirs"][field]
        assert "2 Insufficient cpu" in told["ours"]["message"]
        assert told["ours"]["reportingComponent"] == "default-scheduler"
        said = {name: condition(corner, name) for name in names}
        assert said["ours"]["reason"] == "Unschedulable"
        for each in said.values():
            del each["lastTransitionTime"]
        assert said["ours"] == said["theirs"]
        corner.create("nodes", node("words-large", "8", labels={"set": "words"}))
        until(lambda: "ours" in corner.nodes_of_pods(), scheduler)
        assert corner.nodes_of_pods()["ours"] == "words-large"
        assert scheduler.stop() == 0
    finally:
        scheduler.process.kill()
        for name in ("words-0", "words-1", "words-large"):
            with contextlib.suppress(urllib.error.HTTPError):
                real_plane.request("DELETE", f"/api/v1/nodes/{name}")
