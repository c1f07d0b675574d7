"""The whole loop on the embedded cluster: what is placed where, what waits, and what wakes it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead.lab.cluster import Cluster
from tests.builders import before_preemption
from tests.lab.faults import Faults
from tests.lab.stage import ASLEEP, HEADER, NODES, PODS, Stage, at_work, node, pod

TWO = HEADER + "profiles: [{schedulerName: default-scheduler}, {schedulerName: second}]\n"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(timing=ASLEEP) as running:
        yield running


@pytest.fixture
async def stage(cluster: Cluster) -> AsyncIterator[Stage]:
    """Two nodes of 4 CPUs, and the default scheduler."""
    cluster.create(node("a"))
    cluster.create(node("b"))
    async with at_work(cluster) as working:
        yield working


def on(name: str) -> dict[str, Any]:
    return {"nodeSelector": {"kubernetes.io/hostname": name}}


async def test_a_pod_is_bound_and_its_event_says_so(stage: Stage) -> None:
    stage.cluster.create(pod("web"))
    (where,) = await stage.placed("web")
    await stage.until(lambda: stage.events("web", "Scheduled"))
    (event,) = stage.events("web", "Scheduled")
    assert event["message"] == f"Successfully assigned default/web to {where}"
    assert event["type"] == "Normal"
    assert event["action"] == "Binding"
    assert event["reportingComponent"] == "default-scheduler"
    assert event["involvedObject"]["uid"] == stage.uid("web")
    condition = stage.condition("web")
    assert condition is not None
    assert condition["status"] == "True"


async def test_a_pod_that_does_not_fit_is_told_why_in_kube_schedulers_words(stage: Stage) -> None:
    stage.cluster.create(pod("big", "5"))
    why = await stage.refused("big")
    assert before_preemption(why) == "0/2 nodes are available: 2 Insufficient cpu."
    (event,) = stage.events("big", "FailedScheduling")
    assert (event["type"], event["action"]) == ("Warning", "Scheduling")
    assert event["message"] == why
    condition = stage.condition("big")
    assert condition is not None
    assert condition["status"] == "False"
    assert condition["reason"] == "Unschedulable"
    assert condition["message"] == why


async def test_without_nodes_a_pod_waits_for_the_first(cluster: Cluster) -> None:
    async with at_work(cluster) as stage:
        cluster.create(pod("early"))
        assert await stage.refused("early") == "no nodes available to schedule pods"
        cluster.create(node("first"))
        assert await stage.placed("early") == ["first"]


async def test_a_node_that_comes_is_found(stage: Stage) -> None:
    stage.cluster.create(pod("big", "5"))
    await stage.refused("big")
    stage.cluster.create(node("large", "8"))
    assert await stage.placed("big") == ["large"]


async def test_a_pod_that_leaves_makes_room(stage: Stage) -> None:
    stage.cluster.create(pod("first", "3", **on("a")))
    await stage.placed("first")
    stage.cluster.create(pod("next", "3", **on("a")))
    why = await stage.refused("next")
    assert before_preemption(why) == (
        "0/2 nodes are available: 1 Insufficient cpu,"
        " 1 node(s) didn't match Pod's node affinity/selector."
    )
    stage.cluster.delete("pods", "first", grace=0)
    assert await stage.placed("next") == ["a"]


async def test_a_pod_that_ends_makes_room_while_it_is_still_there(stage: Stage) -> None:
    stage.cluster.create(pod("job", "3", restartPolicy="Never", **on("a")))
    await stage.placed("job")
    stage.cluster.create(pod("next", "3", **on("a")))
    await stage.refused("next")
    job = stage.copy("pods", "job")
    job["status"]["phase"] = "Succeeded"
    stage.cluster.update(job, "status")
    assert await stage.placed("next") == ["a"]


async def test_a_label_that_changes_makes_a_node_fit(stage: Stage) -> None:
    stage.cluster.create(pod("disk", nodeSelector={"disk": "ssd"}))
    why = await stage.refused("disk")
    assert before_preemption(why) == (
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    )
    changed = stage.copy("nodes", "b")
    changed["metadata"]["labels"]["disk"] = "ssd"
    stage.cluster.update(changed)
    assert await stage.placed("disk") == ["b"]


async def test_a_gated_pod_is_not_tried_until_its_gate_is_gone(stage: Stage) -> None:
    stage.cluster.create(pod("gated", schedulingGates=[{"name": "example.com/quota"}]))
    await stage.settled()
    assert [name for name, _ in stage.failed] == []
    assert stage.node_of("gated") == ""
    opened = stage.copy("pods", "gated")
    del opened["spec"]["schedulingGates"]
    stage.cluster.update(opened)
    await stage.placed("gated")
    assert [name for name, _ in stage.failed] == []


async def test_the_pod_of_higher_priority_is_first(cluster: Cluster) -> None:
    for name, value in (("low", 1), ("middle", 500), ("high", 1000)):
        meta = {"name": name}
        cluster.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": meta,
                "value": value,
            }
        )
        cluster.create(pod(f"is-{name}", priorityClassName=name))
    cluster.create(node("a"))
    async with at_work(cluster) as stage:
        await stage.placed("is-low", "is-middle", "is-high")
    assert [name for name, _ in stage.bound] == ["is-high", "is-middle", "is-low"]


async def test_a_pod_that_is_being_deleted_is_left_alone(cluster: Cluster) -> None:
    held = {"finalizers": ["example.com/wait"]}
    cluster.create(pod("leaving", metadata=held))
    cluster.delete("pods", "leaving")
    cluster.create(node("a"))
    async with at_work(cluster) as stage:
        await stage.until(lambda: stage.events("leaving", "FailedScheduling"))
        await stage.settled()
        assert stage.node_of("leaving") == ""
        (event,) = stage.events("leaving", "FailedScheduling")
        assert event["message"] == "skip schedule deleting pod: default/leaving"


async def test_pods_of_other_schedulers_count_and_are_not_touched(stage: Stage) -> None:
    stage.cluster.create(pod("theirs", schedulerName="other"))
    stage.cluster.create(pod("placed-by-hand", "3", nodeName="a", schedulerName="other"))
    await stage.settled()
    stage.cluster.create(pod("ours", "2"))
    assert await stage.placed("ours") == ["b"]
    assert stage.node_of("theirs") == ""
    assert stage.condition("theirs") is None


async def test_two_profiles_work_side_by_side_each_by_its_own_name(cluster: Cluster) -> None:
    cluster.create(node("a"))
    async with at_work(cluster, TWO) as stage:
        cluster.create(pod("one"))
        cluster.create(pod("two", schedulerName="second"))
        await stage.placed("one", "two")
        await stage.until(lambda: stage.events("one", "Scheduled"))
        await stage.until(lambda: stage.events("two", "Scheduled"))
        told = {
            name: stage.events(name, "Scheduled")[0]["reportingComponent"]
            for name in ("one", "two")
        }
    assert told == {"one": "default-scheduler", "two": "second"}


async def test_pods_of_a_daemon_set_go_to_the_nodes_that_they_name(stage: Stage) -> None:
    def affinity(name: str) -> dict[str, Any]:
        field = {"key": "metadata.name", "operator": "In", "values": [name]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

    for name in ("a", "b"):
        stage.cluster.create(pod(f"agent-{name}", affinity=affinity(name)))
    stage.cluster.create(pod("agent-c", affinity=affinity("c")))
    assert await stage.placed("agent-a", "agent-b") == ["a", "b"]
    why = await stage.refused("agent-c")
    assert "2 node(s) didn't satisfy plugin(s) [NodeAffinity]" in why
    stage.cluster.create(node("c"))
    assert await stage.placed("agent-c") == ["c"]


async def test_a_node_that_is_gone_gets_no_more_pods(stage: Stage) -> None:
    stage.cluster.create(pod("stays", "3", **on("a")))
    await stage.placed("stays")
    stage.cluster.delete("nodes", "a")
    stage.cluster.create(pod("next", **on("a")))
    assert "1 node(s) didn't match" in await stage.refused("next")
    stage.cluster.create(node("a"))  # back, with the pod that was on it: there is 1 CPU left
    await stage.placed("next")
    stage.cluster.create(pod("large", "2", **on("a")))
    await stage.refused("large")


async def test_nothing_is_overcommitted_and_all_is_placed_that_fits(stage: Stage) -> None:
    names = [f"p{number}" for number in range(60)]
    for name in names:
        stage.cluster.create(pod(name, "250m"))
    await stage.until(lambda: len(stage.bound) == 32)
    await stage.until(lambda: len({name for name, _ in stage.failed}) == 28)
    for name, _ in stage.bound[:10]:
        stage.cluster.delete("pods", name, grace=0)
    await stage.until(lambda: len(stage.bound) == 42)


async def test_a_new_list_drops_what_is_gone(cluster: Cluster) -> None:
    """The watches are cut and history is forgotten, while pods and a node go away."""
    cluster.create(node("a"))
    cluster.create(node("b"))
    async with Faults(cluster.server) as faults, at_work(cluster, access=faults.access) as stage:
        for name in ("a", "b"):
            cluster.create(pod(f"on-{name}", "3", **on(name)))
        cluster.create(pod("waits", "8"))
        await stage.placed("on-a", "on-b")
        await stage.refused("waits")
        core = stage.process.core
        await stage.until(lambda: core.cluster.assumed == 0)
        faults.down = True
        await faults.cut()
        for name in ("on-a", "on-b", "waits"):
            cluster.delete("pods", name, grace=0)
        cluster.delete("nodes", "a")
        cluster.store.forget_history(PODS)
        cluster.store.forget_history(NODES)
        faults.down = False
        await stage.until(lambda: list(core.cluster.nodes.rows) == ["b"])
        cluster.create(pod("next", "3"))
        assert await stage.placed("next") == ["b"]
        await stage.until(lambda: core.cluster.assumed == 0)
        assert len(core.cluster) == 1
        assert core.intake.pending == {}
        assert len(core.queue) == core.queue.in_flight == 0


async def test_what_happened_while_the_server_was_away_is_caught_up_with(cluster: Cluster) -> None:
    cluster.create(node("a"))
    async with Faults(cluster.server) as faults, at_work(cluster, access=faults.access) as stage:
        faults.down = True
        await faults.cut()
        cluster.create(pod("meanwhile"))
        await stage.until(lambda: faults.turned_away >= 2)
        faults.down = False
        assert await stage.placed("meanwhile") == ["a"]
        await stage.until(lambda: stage.events("meanwhile", "Scheduled"))
