"""From the decision to the bound pod: the plugins on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest

from fairlead.framework.handle import Handle
from fairlead.framework.status import SKIP, Status, error, unschedulable, wait
from fairlead.lab.cluster import Cluster
from fairlead.model.podinfo import PodInfo
from fairlead.queue.events import ASSIGNED_POD_DELETE, Registration
from tests.builders import before_preemption
from tests.lab.stage import ASLEEP, HEADER, at_work, node, pod, with_plugins


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(timing=ASLEEP) as running:
        running.create(node("a"))
        yield running


class Patience:
    """Permit: holds each pod for as long as its label says."""

    name = "Patience"

    def permit(self, pod: PodInfo, node_name: str, state: Any) -> Status | None:
        seconds = pod.labels.get("seconds")
        return wait(float(seconds)) if seconds else None


HELD = with_plugins(permit="Patience")


def held(name: str, seconds: str = "600", cpu: str = "3", **metadata: Any) -> dict[str, Any]:
    return pod(name, cpu, metadata={"labels": {"seconds": seconds}, **metadata})


async def test_a_held_pod_counts_and_is_bound_when_it_is_allowed(cluster: Cluster) -> None:
    async with at_work(cluster, HELD, (Patience,)) as stage:
        cluster.create(held("first"))
        waiting = stage.process.core.waiting
        await stage.until(lambda: waiting.get(stage.uid("first")))
        cluster.create(pod("second", "3"))
        why = await stage.refused("second")
        assert before_preemption(why) == "0/1 nodes are available: 1 Insufficient cpu."
        assert stage.node_of("first") == ""
        assert waiting.allow(stage.uid("first"), "Patience")
        assert await stage.placed("first") == ["a"]


async def test_a_rejected_pod_gives_its_place_to_others_and_waits(cluster: Cluster) -> None:
    async with at_work(cluster, HELD, (Patience,)) as stage:
        cluster.create(held("first"))
        waiting = stage.process.core.waiting
        await stage.until(lambda: waiting.get(stage.uid("first")))
        cluster.create(pod("second", "3"))
        await stage.refused("second")
        assert waiting.reject(stage.uid("first"), "Patience", "not today")
        assert await stage.refused("first") == "0/1 nodes are available: 1 not today."
        assert await stage.placed("second") == ["a"]


class Pairs:
    """Permit: nobody goes alone; the second pod of a pair takes the first along."""

    name = "Pairs"

    def __init__(self, args: object, handle: Handle) -> None:
        self.handle = handle

    def permit(self, pod: PodInfo, node_name: str, state: Any) -> Status | None:
        held = [each for each in self.handle.waiting if each.pod.uid != pod.uid]
        for each in held:
            self.handle.waiting.allow(each.pod.uid, "Pairs")
        return None if held else wait(600)


async def test_a_plugin_allows_the_pods_that_it_holds(cluster: Cluster) -> None:
    async with at_work(cluster, with_plugins(permit="Pairs"), (Pairs,)) as stage:
        cluster.create(pod("first"))
        await stage.until(lambda: stage.process.core.waiting.get(stage.uid("first")))
        assert stage.node_of("first") == ""
        cluster.create(pod("second"))
        assert await stage.placed("first", "second") == ["a", "a"]
        assert list(stage.process.core.waiting) == []


class Patient(Patience):
    """As Patience, and to be asked again only when a placed pod leaves."""

    def events_to_register(self) -> list[Registration]:
        return [(ASSIGNED_POD_DELETE, None)]


async def test_a_rejected_pod_is_tried_again_when_it_loses_its_promise(cluster: Cluster) -> None:
    """It was promised the node while it was held. As in kube-scheduler, the end of the promise
    counts as a pod that leaves, also for itself; its own leaving does not wake it a second time."""
    async with at_work(cluster, HELD, (Patient,)) as stage:
        cluster.create(held("alone"))
        waiting, queue = stage.process.core.waiting, stage.process.core.queue
        await stage.until(lambda: waiting.get(stage.uid("alone")))
        waiting.reject(stage.uid("alone"), "Patience", "no")
        await stage.refused("alone")
        await stage.until(lambda: waiting.get(stage.uid("alone")))
        assert queue.pending() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0}


async def test_patience_ends(cluster: Cluster) -> None:
    async with at_work(cluster, HELD, (Patience,)) as stage:
        cluster.create(held("late", "0.05"))
        assert await stage.refused("late") == (
            "0/1 nodes are available:"
            " 1 rejected due to timeout after waiting 50ms at plugin Patience."
        )


async def test_a_held_pod_that_is_deleted_frees_its_place(cluster: Cluster) -> None:
    async with at_work(cluster, HELD, (Patience,)) as stage:
        core = stage.process.core
        cluster.create(held("gone"))
        cluster.create(held("leaving", "600", "500m", finalizers=["example.com/wait"]))
        await stage.until(lambda: core.cluster.assumed == 2)
        cluster.delete("pods", "gone")
        cluster.delete("pods", "leaving")  # it stays, marked: no place is kept for it either
        await stage.until(lambda: core.cluster.assumed == 0)
        cluster.create(pod("next", "4"))
        assert await stage.placed("next") == ["a"]
        assert list(stage.process.core.waiting) == []
        assert stage.node_of("leaving") == ""


async def test_the_node_of_a_held_pod_goes_and_comes_back(cluster: Cluster) -> None:
    async with at_work(cluster, HELD, (Patience,)) as stage:
        core = stage.process.core
        cluster.create(held("first"))
        await stage.until(lambda: core.cluster.assumed)
        cluster.delete("nodes", "a")
        await stage.until(lambda: not core.cluster.nodes.rows)
        cluster.create(node("a"))
        await stage.until(lambda: core.cluster.nodes.rows)
        cluster.create(pod("second", "3"))
        await stage.refused("second")
        stage.process.core.waiting.reject(stage.uid("first"), "Patience", "no")
        assert await stage.placed("second") == ["a"]


async def test_a_stop_does_not_wait_for_held_pods(cluster: Cluster) -> None:
    async with at_work(cluster, HELD, (Patience,)) as stage:
        cluster.create(held("first"))
        await stage.until(lambda: stage.process.core.cluster.assumed)
        stage.process.stop()
        assert stage.working is not None
        async with asyncio.timeout(5):
            await stage.working
    assert stage.node_of("first") == ""


class Diary:
    """Is at every point from Reserve to PostBind; notes what it is asked, refuses as told."""

    name = "Diary"
    told: ClassVar[dict[str, Any]] = {}
    seen: ClassVar[list[str]] = []

    def _say(self, point: str, pod: PodInfo, state: Any) -> Status | None:
        self.seen.append(f"{point} {pod.name}")
        state.write("Diary", [*(state.read("Diary") if "Diary" in state else ()), point])
        word = self.told.get(point)
        if isinstance(word, Exception):
            raise word
        return word

    def reserve(self, pod: PodInfo, node_name: str, state: Any) -> Status | None:
        return self._say("reserve", pod, state)

    def unreserve(self, pod: PodInfo, node_name: str, state: Any) -> None:
        self._say("unreserve", pod, state)

    def permit(self, pod: PodInfo, node_name: str, state: Any) -> Status | None:
        return self._say("permit", pod, state)

    async def pre_bind(self, pod: PodInfo, node_name: str, state: Any, io: Any) -> Status | None:
        return self._say("preBind", pod, state)

    async def bind(self, pod: PodInfo, node_name: str, state: Any, io: Any) -> Status | None:
        word = self._say("bind", pod, state)
        if word is None or self.told.get("bind it first"):
            body = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
                "target": {"kind": "Node", "name": node_name},
            }
            await io.request("POST", f"/api/v1/namespaces/default/pods/{pod.name}/binding", body)
        return word

    async def post_bind(self, pod: PodInfo, node_name: str, state: Any, io: Any) -> None:
        self._say("postBind", pod, state)
        self.told["state"] = state.read("Diary")


POINTS = ("reserve", "permit", "preBind", "postBind")
DIARY = with_plugins(**dict.fromkeys(POINTS, "Diary"))
OWN_BINDER = f"""{HEADER}profiles:
- schedulerName: default-scheduler
  plugins:
    reserve: {{enabled: [{{name: Diary}}]}}
    postBind: {{enabled: [{{name: Diary}}]}}
    bind:
      disabled: [{{name: DefaultBinder}}]
      enabled: [{{name: Diary}}, {{name: DefaultBinder}}]
"""


@pytest.fixture
def diary() -> type[Diary]:
    """A diary that nobody has written in."""
    return type("Diary", (Diary,), {"told": {}, "seen": []})


async def test_the_points_come_in_order_and_share_one_state(
    cluster: Cluster, diary: type[Diary]
) -> None:
    async with at_work(cluster, DIARY, (diary,)) as stage:
        cluster.create(pod("web"))
        assert await stage.placed("web") == ["a"]
        await stage.until(lambda: "postBind web" in diary.seen)
        assert diary.seen == [f"{point} web" for point in POINTS]
        assert diary.told["state"] == list(POINTS)


@pytest.mark.parametrize(
    ("point", "word", "reason", "message"),
    [
        ("reserve", unschedulable("full"), "Unschedulable", "0/1 nodes are available: 1 full."),
        ("permit", unschedulable("no"), "Unschedulable", "0/1 nodes are available: 1 no."),
        ("preBind", unschedulable("no disk"), "Unschedulable", "no disk"),
        ("reserve", error("x"), "SchedulerError", 'running Reserve plugin "Diary": x'),
        ("permit", error("x"), "SchedulerError", 'running Permit plugin "Diary": x'),
        ("preBind", error("x"), "SchedulerError", 'running PreBind plugin "Diary": x'),
        ("reserve", KeyError("x"), "SchedulerError", "plugin 'Diary' failed in Reserve: KeyError"),
        ("permit", KeyError("x"), "SchedulerError", "plugin 'Diary' failed in Permit: KeyError"),
        ("preBind", KeyError("x"), "SchedulerError", "plugin 'Diary' failed in PreBind: KeyError"),
    ],
)
async def test_a_no_on_the_way_takes_everything_back(
    cluster: Cluster, diary: type[Diary], point: str, word: object, reason: str, message: str
) -> None:
    diary.told[point] = word
    async with at_work(cluster, DIARY, (diary,)) as stage:
        cluster.create(pod("web"))
        assert (await stage.refused("web")).startswith(message)
        condition = stage.condition("web")
        assert condition is not None
        assert condition["reason"] == reason
        assert diary.seen.count("unreserve web") == diary.seen.count("reserve web")
        cluster.delete("pods", "web")
        await stage.until(lambda: not stage.process.core.intake.pending)
        diary.told.clear()
        cluster.create(pod("other", "4"))
        await stage.placed("other")  # the whole node was free again
    assert "postBind web" not in diary.seen


async def test_a_pod_that_an_error_stopped_is_tried_again(
    cluster: Cluster, diary: type[Diary]
) -> None:
    diary.told["preBind"] = OSError("no route")
    async with at_work(cluster, DIARY, (diary,)) as stage:
        cluster.create(pod("web"))
        await stage.refused("web")
        diary.told.clear()
        assert await stage.placed("web") == ["a"]


async def test_a_binder_of_ones_own_binds_or_passes_on(
    cluster: Cluster, diary: type[Diary]
) -> None:
    async with at_work(cluster, OWN_BINDER, (diary,)) as stage:
        cluster.create(pod("own"))
        await stage.placed("own")
        await stage.until(lambda: stage.events("own", "Scheduled"))
        diary.told["bind"] = SKIP
        cluster.create(pod("passed-on"))
        await stage.placed("passed-on")
        await stage.until(lambda: "postBind passed-on" in diary.seen)
    assert [line for line in diary.seen if line.startswith("postBind")] == [
        "postBind own",
        "postBind passed-on",
    ]


async def test_a_binder_that_fails_after_it_has_bound_has_bound(
    cluster: Cluster, diary: type[Diary]
) -> None:
    diary.told |= {"bind": error("lost the answer"), "bind it first": True}
    async with at_work(cluster, OWN_BINDER, (diary,)) as stage:
        cluster.create(pod("web"))
        await stage.until(lambda: stage.events("web", "Scheduled"))
        assert stage.failed == []
        assert "unreserve web" not in diary.seen


async def test_a_binder_that_refuses_leaves_the_pod_to_be_tried_again(
    cluster: Cluster, diary: type[Diary]
) -> None:
    diary.told["bind"] = unschedulable("not by me")
    async with at_work(cluster, OWN_BINDER, (diary,)) as stage:
        cluster.create(pod("web"))
        assert await stage.refused("web") == "not by me"
        diary.told.clear()
        assert await stage.placed("web") == ["a"]


class Moody:
    """Crashes over the pods that are called so, at the point that their label names."""

    name = "Moody"

    def _look(self, pod: PodInfo, point: str) -> None:
        if pod.labels.get("crash") == point:
            raise ZeroDivisionError(point)

    def pre_filter(self, pod: PodInfo, state: Any) -> None:
        self._look(pod, "PreFilter")

    def filter(self, pod: PodInfo, node: Any, state: Any) -> None:
        self._look(pod, "Filter")

    def score(self, pod: PodInfo, node: Any, state: Any) -> int:
        self._look(pod, "Score")
        return 0


@pytest.mark.parametrize("point", ["PreFilter", "Filter", "Score"])
async def test_a_plugin_that_crashes_fails_its_pod_and_no_other(
    cluster: Cluster, point: str
) -> None:
    cluster.create(node("b"))
    moody = with_plugins(preFilter="Moody", filter="Moody", score="Moody")
    async with at_work(cluster, moody, (Moody,)) as stage:
        cluster.create(pod("bad", metadata={"labels": {"crash": point}}))
        cluster.create(pod("good"))
        await stage.placed("good")
        why = await stage.refused("bad")
        assert why.startswith(f"plugin 'Moody' failed in {point}: ZeroDivisionError: {point}")
        assert "test_binding.py:" in why
        condition = stage.condition("bad")
        assert condition is not None
        assert condition["reason"] == "SchedulerError"
