"""The real kube-scheduler schedules on the embedded cluster: the sternest client there is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from fairlead.lab.cluster import Cluster
from fairlead.lab.kubelet import Timing
from tests.control_plane.programs import program
from tests.unit.lab.objects import pod, workload

pytestmark = pytest.mark.e2e

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: {kubeconfig}}}
"""


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """Three nodes, with kube-scheduler at work."""
    async with Cluster(nodes=3, timing=Timing(start_seconds=0.05)) as running:
        config = tmp_path / "scheduler.yaml"
        kubeconfig = running.write_kubeconfig(tmp_path / "kubeconfig")
        config.write_text(CONFIG.format(kubeconfig=kubeconfig))
        with (tmp_path / "scheduler.log").open("wb") as log:
            scheduler = await asyncio.create_subprocess_exec(
                program("kube-scheduler"),
                *("--config", str(config), "--secure-port", "0"),
                "--authentication-skip-lookup",
                stdout=log,
                stderr=log,
            )
        yield running
        scheduler.kill()
        await scheduler.wait()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - a client polls
            await asyncio.sleep(0.05)


def reasons(cluster: Cluster) -> list[str]:
    return [each.get("reason", "") for each in cluster.items("events")]


async def test_what_fits_is_placed_and_what_does_not_is_told(cluster: Cluster) -> None:
    container = {"name": "main", "image": "a", "resources": {"requests": {"cpu": "100"}}}
    cluster.create(pod("too-big", containers=[container]))
    cluster.create(workload("Deployment", "apps/v1", "web", replicas=6))

    def placed() -> list[str]:
        pods = [each for each in cluster.items("pods") if each["status"]["phase"] == "Running"]
        return [each["spec"]["nodeName"] for each in pods]

    await until(lambda: len(placed()) == 6 and "FailedScheduling" in reasons(cluster))
    assert sorted(placed()) == ["node-1", "node-1", "node-2", "node-2", "node-3", "node-3"]
    waiting = cluster.get("pods", "too-big")
    assert waiting is not None
    (condition,) = waiting["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "Unschedulable")
    assert "3 Insufficient cpu" in condition["message"]
    await until(lambda: reasons(cluster).count("Scheduled") == 6)
