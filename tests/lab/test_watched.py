"""What the scheduler watches beside nodes and pods is there when it decides, and goes with it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairlead.lab.cluster import Cluster
from tests.lab.stage import ASLEEP, Stage, at_work, node, pod

ZONE = "topology.kubernetes.io/zone"
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}
LABELLED = {"labels": {"app": "web"}}


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(timing=ASLEEP) as embedded:
        yield embedded


@pytest.fixture
async def stage(cluster: Cluster) -> AsyncIterator[Stage]:
    """A big node in one zone and a small one in another: only spreading prefers the small one."""
    cluster.create(node("big", "64", {ZONE: "a"}))
    cluster.create(node("small", "8", {ZONE: "b"}))
    async with at_work(cluster) as working:
        yield working


async def test_pods_behind_a_service_are_spread(stage: Stage) -> None:
    stage.cluster.create(SERVICE)
    await stage.until(lambda: stage.process.core.cluster.objects.get("Service", "default", "web"))
    names = [f"web-{number}" for number in range(4)]
    for name in names:
        stage.cluster.create(pod(name, "2", metadata=LABELLED))
        await stage.placed(name)
    assert sorted(await stage.placed(*names)) == ["big", "big", "small", "small"]


async def test_without_a_service_they_are_not(stage: Stage) -> None:
    names = [f"web-{number}" for number in range(4)]
    for name in names:
        stage.cluster.create(pod(name, "2", metadata=LABELLED))
        await stage.placed(name)
    assert set(await stage.placed(*names)) == {"big"}


async def test_a_service_that_goes_is_forgotten(stage: Stage) -> None:
    known = stage.process.core.cluster.objects
    stage.cluster.create(SERVICE)
    await stage.until(lambda: known.get("Service", "default", "web"))
    stage.cluster.delete("services", "web")
    await stage.until(lambda: known.get("Service", "default", "web") is None)


async def test_namespaces_are_known_by_their_labels(stage: Stage) -> None:
    labelled = {"name": "team", "labels": {"team": "blue"}}
    stage.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": labelled})
    known = stage.process.core.cluster.objects
    await stage.until(lambda: known.get("Namespace", "", "team"))
    team = known.get("Namespace", "", "team")
    assert team is not None
    assert dict(team.metadata.labels)["team"] == "blue"
