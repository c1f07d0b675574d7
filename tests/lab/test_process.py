"""What the process does when something that must not go wrong goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead.config.loading import load
from fairlead.kube.access import ClusterAccess
from fairlead.lab.cluster import Cluster
from fairlead.profiles import BUILT_IN
from fairlead.run import Listeners, Process
from tests.lab.faults import Faults
from tests.lab.stage import ASLEEP, NODES, PLAIN, PODS, at_work, node, pod


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(timing=ASLEEP) as running:
        running.create(node("a"))
        yield running


def process_on(cluster: Cluster) -> Process:
    access = ClusterAccess(server=cluster.server)
    return Process(load(PLAIN), BUILT_IN, access, listeners=Listeners())


class BugError(Exception):
    """What nobody has foreseen."""


def broken(*_: object) -> Any:
    raise BugError


async def ended(process: Process) -> None:
    """The process ends with the bug, soon and by itself."""
    async with asyncio.timeout(5):
        with pytest.raises(ExceptionGroup) as raised:
            await process.run()
    assert raised.value.subgroup(BugError) is not None


@pytest.mark.parametrize("what", ["set_node", "end_pods", "end_nodes"])
async def test_a_bug_in_what_a_watch_calls_ends_the_process(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    process = process_on(cluster)
    monkeypatch.setattr(process.core.intake, what, broken)
    await ended(process)


async def test_a_bug_in_what_time_calls_ends_the_process(cluster: Cluster) -> None:
    process = process_on(cluster)
    process.core.waiting.expire = broken  # type: ignore[method-assign]
    await ended(process)


async def test_a_pod_that_breaks_the_engine_does_not_stop_the_others(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with at_work(cluster) as stage:
        cycle = stage.process.core.cycle
        real = cycle.schedule_one

        def poisoned(profile: Any, entry: Any, detail: Any = None) -> Any:
            decision = real(profile, entry, detail)  # all is done, the assumption too
            if entry.pod.name == "poison":
                raise BugError
            return decision

        cycle.schedule_one = poisoned  # type: ignore[method-assign]
        cluster.create(pod("poison", "3"))
        assert await stage.refused("poison") == "internal error: BugError: "
        assert stage.process.core.cluster.assumed == 0
        cluster.create(pod("next", "3"))
        assert await stage.placed("next") == ["a"]
    (record,) = [each for each in caplog.records if "default/poison" in each.getMessage()]
    assert record.exc_info is not None


async def test_a_listener_that_breaks_loses_no_pod(cluster: Cluster) -> None:
    process = process_on(cluster)
    process.listeners.bound = broken
    process.listeners.ready = lambda: cluster.create(pod("web")) and None
    working = asyncio.create_task(process.run())
    async with asyncio.timeout(10):
        while not (len(process.core.cluster) and process.core.cluster.assumed == 0):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    process.stop()
    await working
    found = cluster.get("pods", "web")
    assert found is not None
    assert found["spec"]["nodeName"] == "a"


async def test_objects_that_cannot_be_read_are_left_out_and_told(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """What no API server would have admitted: amounts that are none, fields of other types."""

    def spoil(resource: Any, value: dict[str, Any], name: str) -> None:
        cluster.store.put(resource, {**value, "metadata": {**value["metadata"], "name": name}})

    good = cluster.create(pod("good"))
    machine = cluster.get("nodes", "a")
    assert machine is not None
    odd = {**good, "metadata": {**good["metadata"], "uid": "odd"}}
    spoil(
        PODS,
        {**odd, "spec": pod("x", "many")["spec"] | {"schedulerName": "default-scheduler"}},
        "b1",
    )
    spoil(PODS, {**odd, "spec": {**good["spec"], "tolerations": 7}}, "b2")
    spoil(NODES, {**machine, "status": {"allocatable": {"cpu": "a few"}}}, "b3")
    spoil(NODES, {**machine, "spec": {"taints": "none"}}, "b4")
    async with at_work(cluster) as stage:
        assert await stage.placed("good") == ["a"]
        spoil(PODS, {**odd, "spec": {**good["spec"], "tolerations": 8}}, "b5")
        cluster.create(pod("later"))
        assert await stage.placed("later") == ["a"]
        assert list(stage.process.core.cluster.nodes.rows) == ["a"]
    told = caplog.text
    for name in ("b1", "b2", "b3", "b4", "b5"):
        assert f"{name}" in told


async def test_a_server_that_is_away_for_a_while_costs_nothing(cluster: Cluster) -> None:
    """Bindings wait for the connection, watches go on from where they were."""
    async with Faults(cluster.server) as faults, at_work(cluster, access=faults.access) as stage:
        names = [f"p{number}" for number in range(20)]
        for name in names[:10]:
            cluster.create(pod(name))
        await stage.placed(names[0])
        faults.down = True
        await faults.cut()
        for name in names[10:]:
            cluster.create(pod(name))
        await stage.until(lambda: faults.turned_away >= 4)
        faults.down = False
        await stage.placed(*names)
        core = stage.process.core
        await stage.until(lambda: core.cluster.assumed == 0 and len(core.cluster) == 20)
        await stage.until(lambda: all(stage.events(name, "Scheduled") for name in names))
        assert core.queue.in_flight == len(core.queue) == 0


async def test_a_stop_before_all_is_known_is_heard(cluster: Cluster) -> None:
    process = process_on(cluster)
    process.stop()
    async with asyncio.timeout(5):
        await process.run()
