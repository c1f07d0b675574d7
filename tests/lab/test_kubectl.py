"""The real kubectl against the embedded cluster: what a person would type."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from fairlead.lab.cluster import Cluster
from fairlead.lab.kubelet import Timing
from tests.control_plane.programs import program
from tests.unit.lab.objects import bind

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
  - name: main
    image: registry.example/web:1
    resources: {requests: {cpu: 500m, memory: 1Gi}}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: count}
spec:
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "registry.example/count:1"}]
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: site}
spec:
  replicas: 2
  selector: {matchLabels: {app: site}}
  template:
    metadata: {labels: {app: site}}
    spec:
      containers: [{name: main, image: "registry.example/site:1"}]
"""

pytestmark = pytest.mark.e2e

Answer = tuple[int, str, str]
Kubectl = Callable[..., Awaitable[Answer]]


def program_of_kubectl() -> str:
    """The machine's own kubectl, or the one that was built; none is a failure."""
    return shutil.which("kubectl") or str(program("kubectl"))


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    timing = Timing(start_seconds=0.05, stop_seconds=0.05, job_seconds=0.05)
    async with Cluster(nodes=2, timing=timing) as running:
        yield running


@pytest.fixture
def environment(cluster: Cluster, tmp_path: Path) -> dict[str, str]:
    kubeconfig = cluster.write_kubeconfig(tmp_path / "kubeconfig")
    own = {"KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": str(tmp_path), "HOME": str(tmp_path)}
    return os.environ | own


@pytest.fixture
def kubectl(environment: dict[str, str]) -> Kubectl:
    async def run(*arguments: str, given: str = "") -> Answer:
        process = await asyncio.create_subprocess_exec(
            program_of_kubectl(),
            *arguments,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate(given.encode())
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()

    return run


async def done(answer: Awaitable[Answer]) -> str:
    code, out, err = await answer
    assert code == 0, err
    return out


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - a client polls
            await asyncio.sleep(0.01)


def phase(cluster: Cluster, name: str) -> str:
    found = cluster.get("pods", name)
    return "gone" if found is None else found["status"]["phase"]


async def test_apply_creates_leaves_and_changes(kubectl: Kubectl) -> None:
    assert await done(kubectl("apply", "-f", "-", given=POD)) == "pod/web created\n"
    assert await done(kubectl("apply", "-f", "-", given=POD)) == "pod/web unchanged\n"
    changed = POD.replace("{app: web}", "{app: web, tier: front}")
    assert await done(kubectl("apply", "-f", "-", given=changed)) == "pod/web configured\n"
    names = await done(kubectl("get", "pods", "-l", "tier=front", "-o", "name"))
    assert names == "pod/web\n"


async def test_apply_is_told_of_a_field_that_does_not_exist(kubectl: Kubectl) -> None:
    wrong = POD.replace("containers:", "contaners:")
    code, _, err = await kubectl("apply", "-f", "-", given=wrong)
    assert code == 1
    assert 'unknown field "spec.contaners"' in err


async def test_server_side_apply_creates_and_says_what_it_cannot_do(kubectl: Kubectl) -> None:
    await done(kubectl("apply", "--server-side", "-f", "-", given=POD))
    changed = POD.replace("{app: web}", "{app: other}")
    code, _, err = await kubectl("apply", "--server-side", "-f", "-", given=changed)
    assert code == 1
    assert "keeps no managed fields" in err


async def test_get_prints_the_columns_of_the_real_server(
    kubectl: Kubectl, cluster: Cluster
) -> None:
    await done(kubectl("apply", "-f", "-", given=POD))
    head, row = cells(await done(kubectl("get", "pods")))
    assert head == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row[:4] == ["web", "0/1", "Pending", "0"]
    bind(cluster, "web", "node-1")
    await until(lambda: phase(cluster, "web") == "Running")
    head, row = cells(await done(kubectl("get", "pods", "-A", "-o", "wide")))
    assert head[:2] == ["NAMESPACE", "NAME"]
    assert row[:5] == ["default", "web", "1/1", "Running", "0"]
    assert row[7] == "node-1"
    head, *rows = cells(await done(kubectl("get", "nodes")))
    assert head == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert [each[:2] for each in rows] == [["node-1", "Ready"], ["node-2", "Ready"]]
    everything = await done(kubectl("get", "all,ns,events,leases,priorityclasses", "-A"))
    assert "service/kubernetes" in everything
    assert "system-node-critical" in everything


async def test_describe_shows_a_pod_with_its_events(kubectl: Kubectl, cluster: Cluster) -> None:
    await done(kubectl("apply", "-f", "-", given=POD))
    found = cluster.get("pods", "web")
    assert found is not None
    cluster.create(
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "web.1", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "default-scheduler",
            "reportingInstance": "default-scheduler-0",
            "action": "Scheduling",
            "reason": "FailedScheduling",
            "regarding": {
                "kind": "Pod",
                "name": "web",
                "namespace": "default",
                "uid": found["metadata"]["uid"],
            },
            "note": "0/2 nodes are available",
            "type": "Warning",
        }
    )
    text = await done(kubectl("describe", "pod", "web"))
    assert "QoS Class:                   Burstable" in text
    assert "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s" in text
    event = next(line for line in text.splitlines() if "FailedScheduling" in line)
    assert event.split()[0] == "Warning"
    assert event.endswith("default-scheduler  0/2 nodes are available")
    listed = await done(kubectl("get", "events"))
    assert cells(listed)[0] == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert "pod/web" in listed


async def test_describe_node_counts_what_its_pods_ask_for(
    kubectl: Kubectl, cluster: Cluster
) -> None:
    await done(kubectl("apply", "-f", "-", given=POD))
    bind(cluster, "web", "node-1")
    text = await done(kubectl("describe", "node", "node-1"))
    assert "Non-terminated Pods:          (1 in total)" in text
    assert "cpu                500m (12%)" in text


async def test_nodes_are_cordoned_tainted_and_labelled(kubectl: Kubectl, cluster: Cluster) -> None:
    await done(kubectl("cordon", "node-1"))
    assert "Ready,SchedulingDisabled" in await done(kubectl("get", "node", "node-1"))
    await done(kubectl("uncordon", "node-1"))
    await done(kubectl("taint", "node", "node-1", "dedicated=db:NoSchedule"))
    await done(kubectl("label", "node", "node-1", "disk=ssd"))
    node = cluster.get("nodes", "node-1")
    assert node is not None
    assert node["spec"] == {"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]}
    assert node["metadata"]["labels"]["disk"] == "ssd"
    await done(kubectl("taint", "node", "node-1", "dedicated-"))
    node = cluster.get("nodes", "node-1")
    assert node is not None
    assert node["spec"] == {}


async def test_delete_waits_until_the_pod_is_gone(kubectl: Kubectl, cluster: Cluster) -> None:
    await done(kubectl("apply", "-f", "-", given=POD))
    bind(cluster, "web", "node-1")
    await until(lambda: phase(cluster, "web") == "Running")
    assert 'pod "web" deleted' in await done(kubectl("delete", "pod", "web"))
    assert phase(cluster, "web") == "gone"


async def test_get_w_follows_a_pod_through_its_life(
    kubectl: Kubectl, cluster: Cluster, environment: dict[str, str]
) -> None:
    await done(kubectl("apply", "-f", "-", given=POD))
    following = await asyncio.create_subprocess_exec(
        program_of_kubectl(), "get", "pods", "-w", env=environment, stdout=asyncio.subprocess.PIPE
    )
    assert following.stdout is not None
    states: list[str] = []
    try:
        async with asyncio.timeout(30):
            await following.stdout.readline()
            states.append((await following.stdout.readline()).decode().split()[2])
            bind(cluster, "web", "node-1")
            while states[-1] != "Running":
                states.append((await following.stdout.readline()).decode().split()[2])
            cluster.delete("pods", "web")
            while states[-1] != "Terminating":
                states.append((await following.stdout.readline()).decode().split()[2])
    finally:
        following.kill()
        await following.wait()
    assert list(dict.fromkeys(states)) == ["Pending", "Running", "Terminating"]


async def test_a_job_completes_once_its_pods_are_placed(kubectl: Kubectl, cluster: Cluster) -> None:
    await done(kubectl("apply", "-f", "-", given=JOB))

    async def place() -> None:
        while True:
            for each in cluster.items("pods"):
                if "nodeName" not in each["spec"]:
                    bind(cluster, each["metadata"]["name"], "node-2")
            await asyncio.sleep(0.01)

    placing = asyncio.create_task(place())
    try:
        await done(kubectl("wait", "--for=condition=complete", "job/count", "--timeout=30s"))
    finally:
        placing.cancel()
    _, row = cells(await done(kubectl("get", "jobs")))
    assert row[:3] == ["count", "Complete", "2/2"]
    await done(kubectl("delete", "job", "count"))
    await until(lambda: not cluster.items("pods"))


async def test_a_deployment_is_scaled_and_deleted(kubectl: Kubectl, cluster: Cluster) -> None:
    await done(kubectl("apply", "-f", "-", given=DEPLOYMENT))
    await until(lambda: len(cluster.items("pods")) == 2)
    await done(kubectl("scale", "deployment", "site", "--replicas=4"))
    await until(lambda: len(cluster.items("pods")) == 4)
    _, row = cells(await done(kubectl("get", "deployments")))
    assert row[:2] == ["site", "0/4"]
    await done(kubectl("delete", "deployment", "site"))
    await until(lambda: not cluster.items("pods"))


async def test_kubectls_own_objects_come_in_protobuf(kubectl: Kubectl, cluster: Cluster) -> None:
    await done(kubectl("create", "namespace", "team"))
    assert cluster.get("serviceaccounts", "default", "team") is not None
    image = "--image=registry.example/site:1"
    await done(kubectl("create", "deployment", "site", image, "--replicas=2", "-n", "team"))
    await until(lambda: len(cluster.items("pods", "team")) == 2)
    await done(kubectl("create", "job", "once", image, "-n", "team"))
    job = cluster.get("jobs", "once", "team")
    assert job is not None
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    budget = ("create", "pdb", "site", "--selector=app=site", "--min-available=50%")
    await done(kubectl(*budget, "-n", "team"))
    found = cluster.get("poddisruptionbudgets", "site", "team")
    assert found is not None
    assert found["spec"]["minAvailable"] == "50%"


async def test_drain_evicts(kubectl: Kubectl, cluster: Cluster) -> None:
    await done(kubectl("apply", "-f", "-", given=POD))
    bind(cluster, "web", "node-1")
    await until(lambda: phase(cluster, "web") == "Running")
    await done(kubectl("drain", "node-1", "--force"))
    assert phase(cluster, "web") == "gone"


async def test_logs_are_refused_with_the_reason(kubectl: Kubectl) -> None:
    await done(kubectl("apply", "-f", "-", given=POD))
    code, _, err = await kubectl("logs", "web")
    assert code == 1
    assert "the embedded cluster runs no containers" in err


async def test_what_is_not_served_is_unknown_to_kubectl(kubectl: Kubectl) -> None:
    code, _, err = await kubectl("get", "secrets")
    assert code == 1
    assert 'the server doesn\'t have a resource type "secrets"' in err
