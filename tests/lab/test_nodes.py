"""Nodes whose pods start, end and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.lab.cluster import Cluster
from fairlead.lab.kubelet import Timing
from tests.unit.lab.objects import bind, pod, workload

QUICK = Timing(start_seconds=0.01, stop_seconds=0.01, job_seconds=0.01)


def annotated(value: dict[str, Any], **annotations: str) -> dict[str, Any]:
    named = {f"lab.fairlead.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
    return value | {"metadata": value["metadata"] | {"annotations": named}}


def phase(cluster: Cluster, name: str) -> str:
    found = cluster.get("pods", name)
    return "gone" if found is None else found["status"]["phase"]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - a client polls
            await asyncio.sleep(0.01)


async def test_a_bound_pod_runs_and_says_where() -> None:
    async with Cluster(nodes=1, timing=QUICK) as cluster:
        cluster.create(pod("a"))
        bind(cluster, "a", "node-1")
        await until(lambda: phase(cluster, "a") == "Running")
        found = cluster.get("pods", "a")
    assert found is not None
    status = found["status"]
    assert status["hostIP"] == "10.99.0.1"
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["startTime"]
    true = {each["type"] for each in status["conditions"] if each["status"] == "True"}
    assert true == {
        "PodScheduled",
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
    }
    (state,) = status["containerStatuses"]
    assert state["ready"]
    assert "running" in state["state"]


async def test_a_pod_ends_when_its_annotation_says_so() -> None:
    async with Cluster(nodes=1, timing=QUICK) as cluster:
        never = {"restartPolicy": "Never"}
        cluster.create(annotated(pod("good", **never), run_seconds="0.01"))
        cluster.create(annotated(pod("bad", **never), run_seconds="0.01", exit_code="3"))
        cluster.create(annotated(pod("always"), run_seconds="0.01"))
        for name in ("good", "bad", "always"):
            bind(cluster, name, "node-1")
        await until(lambda: phase(cluster, "good") == "Succeeded")
        await until(lambda: phase(cluster, "bad") == "Failed")
        assert phase(cluster, "always") == "Running", "its policy starts containers again"
        found = cluster.get("pods", "bad")
    assert found is not None
    (state,) = found["status"]["containerStatuses"]
    assert state["state"]["terminated"]["exitCode"] == 3


async def test_a_terminating_pod_goes_when_its_containers_have_ended() -> None:
    async with Cluster(nodes=1, timing=QUICK) as cluster:
        cluster.create(pod("a"))
        bind(cluster, "a", "node-1")
        await until(lambda: phase(cluster, "a") == "Running")
        cluster.delete("pods", "a")
        assert phase(cluster, "a") == "Running"
        await until(lambda: phase(cluster, "a") == "gone")


async def test_a_pod_on_a_node_that_is_not_there_waits_for_it() -> None:
    async with Cluster(timing=QUICK) as cluster:
        cluster.create(pod("a"))
        bind(cluster, "a", "late")
        await asyncio.sleep(0.05)
        assert phase(cluster, "a") == "Pending"
        cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "late"}})
        await until(lambda: phase(cluster, "a") == "Running")


async def test_pods_that_were_there_before_the_nodes_woke_are_taken_over() -> None:
    cluster = Cluster(nodes=1, timing=QUICK)
    cluster.create(pod("a"))
    bind(cluster, "a", "node-1")
    async with cluster:
        await until(lambda: phase(cluster, "a") == "Running")


async def test_a_job_is_complete_when_its_pods_have_run() -> None:
    async with Cluster(nodes=1, timing=QUICK) as cluster:
        cluster.create(workload("Job", "batch/v1", "count", completions=3))

        def complete() -> bool:
            for each in cluster.items("pods"):
                if "nodeName" not in each["spec"]:
                    bind(cluster, each["metadata"]["name"], "node-1")
            (job,) = cluster.items("jobs")
            return any(each["type"] == "Complete" for each in job["status"].get("conditions", ()))

        await until(complete)
        assert [phase(cluster, each["metadata"]["name"]) for each in cluster.items("pods")] == [
            "Succeeded"
        ] * 3
