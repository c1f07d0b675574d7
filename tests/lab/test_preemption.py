"""Preemption on the embedded cluster: promises, victims, and what is written of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead.framework.status import Status, wait
from fairlead.lab.cluster import Cluster
from fairlead.lab.kubelet import Timing
from fairlead.model.podinfo import PodInfo
from tests.lab.stage import Stage, at_work, node, pod, with_plugins

SLOW = Timing(start_seconds=0.01, stop_seconds=0.3)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(timing=SLOW) as running:
        for name, value in (("low", 10), ("high", 1000)):
            running.create(
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": name},
                    "value": value,
                }
            )
        running.create(node("a"))
        yield running


@pytest.fixture
async def stage(cluster: Cluster) -> AsyncIterator[Stage]:
    async with at_work(cluster) as working:
        yield working


def ranked(name: str, cpu: str, rank: str = "", **more: Any) -> dict[str, Any]:
    return pod(name, cpu, **({"priorityClassName": rank} if rank else {}), **more)


def condition(found: dict[str, Any] | None, kind: str) -> dict[str, Any] | None:
    conditions = [] if found is None else found["status"].get("conditions", [])
    return next((c for c in conditions if c["type"] == kind), None)


def nominated(stage: Stage, name: str) -> str:
    found = stage.cluster.get("pods", name)
    return "" if found is None else found["status"].get("nominatedNodeName", "")


async def test_room_is_made_and_the_pod_comes_to_its_node(stage: Stage) -> None:
    cluster = stage.cluster
    for name in ("v1", "v2"):
        cluster.create(ranked(name, "2", "low"))
    await stage.placed("v1", "v2")
    uids = {name: stage.uid(name) for name in ("v1", "v2")}
    cluster.create(ranked("vip", "4", "high"))
    await stage.until(lambda: nominated(stage, "vip") == "a")
    said = condition(cluster.get("pods", "vip"), "PodScheduled")
    assert said is not None
    assert said["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    await stage.until(lambda: condition(cluster.get("pods", "v1"), "DisruptionTarget"))
    target = condition(cluster.get("pods", "v1"), "DisruptionTarget")
    assert target is not None
    assert (target["status"], target["reason"]) == ("True", "PreemptionByScheduler")
    assert target["message"] == (
        "default-scheduler: preempting to accommodate a higher priority pod"
    )
    assert await stage.placed("vip") == ["a"]
    await stage.until(lambda: stage.events("v1", "Preempted") and stage.events("v2", "Preempted"))
    (event,) = stage.events("v1", "Preempted")
    assert event["message"] == f"Preempted by pod {stage.uid('vip')} on node a"
    assert (event["type"], event["action"]) == ("Normal", "Preempting")
    assert event["involvedObject"]["uid"] == uids["v1"]
    metrics = stage.process.metrics
    assert metrics.cell("scheduler_preemption_attempts_total").value >= 1
    done = metrics.cell("scheduler_preemption_goroutines_execution_total", "success")
    assert done.value == 1
    assert len(stage.process.core.queue.nominator) == 0


async def test_a_less_important_pod_loses_its_promise(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.create(ranked("v1", "4"))
    await stage.placed("v1")
    cluster.create(ranked("middle", "4", "low"))
    await stage.until(lambda: nominated(stage, "middle") == "a")
    cluster.create(ranked("vip", "4", "high"))
    await stage.until(lambda: nominated(stage, "vip") == "a" or stage.node_of("vip"))
    await stage.until(lambda: not nominated(stage, "middle"))
    assert await stage.placed("vip") == ["a"]
    assert stage.node_of("middle") == ""


async def test_a_promise_that_cannot_be_kept_is_taken_back(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.create(ranked("v1", "4", "high"))
    await stage.placed("v1")
    late = ranked("late", "2", "low")
    late["status"] = {"nominatedNodeName": "a"}
    cluster.create(late)
    found = stage.copy("pods", "late")
    found["status"]["nominatedNodeName"] = "a"
    cluster.update(found)
    await stage.refused("late")
    await stage.until(lambda: not nominated(stage, "late"))


class Holding:
    """Holds every pod that has no priority."""

    name = "Holding"

    def permit(self, pod: PodInfo, node_name: str, state: object) -> Status | None:
        return None if pod.priority else wait(60)


async def test_a_pod_that_is_only_held_gives_way_without_being_deleted(cluster: Cluster) -> None:
    async with at_work(cluster, with_plugins(permit="Holding"), (Holding,)) as stage:
        cluster.create(ranked("held", "4"))
        await stage.until(lambda: list(stage.process.core.waiting))
        uid = stage.uid("held")
        cluster.create(ranked("vip", "4", "high"))
        assert await stage.placed("vip") == ["a"]
        assert stage.uid("held") == uid
        await stage.until(lambda: stage.events("held", "Preempted"))
        (event,) = stage.events("held", "Preempted")
        assert event["message"].endswith("on node a (in kube-scheduler memory).")
        assert ("held", "waiting on permit for pod: preempted") in stage.failed
