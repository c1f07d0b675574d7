"""What became of a binding whose answer was lost, or was not what was hoped for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from fairlead.lab.cluster import Cluster
from fairlead.lab.http import Reply, Request, Stream, json_reply
from tests.lab.faults import Fault, Faults
from tests.lab.stage import ASLEEP, Stage, at_work, node, pod

Answer = Callable[[Request], Reply | Stream]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(timing=ASLEEP) as running:
        running.create(node("a"))
        yield running


def is_bind(method: str, path: str) -> bool:
    return method == "POST" and path.endswith("/binding")


def first_binds(fault: Fault, times: int) -> Callable[[str, str], Fault | None]:
    left = [fault] * times

    def rule(method: str, path: str) -> Fault | None:
        return left.pop() if left and is_bind(method, path) else None

    return rule


@pytest.mark.parametrize("fault", list(Fault))
async def test_a_lost_connection_is_followed_by_a_look(cluster: Cluster, fault: Fault) -> None:
    """Whether the lost request was carried out or not, each pod ends up bound, and once."""
    async with Faults(cluster.server) as faults, at_work(cluster, access=faults.access) as stage:
        faults.rule = first_binds(fault, 8)
        names = [f"p{number}" for number in range(20)]
        for name in names:
            cluster.create(pod(name))
        assert await stage.placed(*names) == ["a"] * 20
        await stage.until(lambda: all(stage.events(name, "Scheduled") for name in names))
        assert sorted(name for name, _ in stage.bound) == sorted(names)
        # Nothing was carried out where the request was lost: these are tried again, as failures.
        assert len(stage.failed) == (8 if fault is Fault.LOSE_REQUEST else 0)
        assert stage.process.core.queue.in_flight == 0


def answering(cluster: Cluster, answer: Callable[[Request, Answer], Reply | Stream]) -> None:
    """Put `answer` before the embedded API: it is given each binding, and the real answer."""
    real = cluster.api.answer

    def instead(request: Request) -> Reply | Stream:
        return answer(request, real) if is_bind(request.method, request.path) else real(request)

    cluster.api.answer = instead  # type: ignore[method-assign]


def status(code: int, message: str) -> Reply:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message}
    return json_reply({**body, "code": code}, code)


async def test_a_server_error_after_the_write_is_a_bound_pod(cluster: Cluster) -> None:
    def answer(request: Request, real: Answer) -> Reply:
        real(request)
        return status(500, "etcdserver: request timed out")

    answering(cluster, answer)
    async with at_work(cluster) as stage:
        cluster.create(pod("web"))
        await stage.until(lambda: stage.events("web", "Scheduled"))
        assert stage.failed == []


async def test_a_server_error_without_a_write_is_tried_again(cluster: Cluster) -> None:
    left = [status(500, "etcdserver: leader changed")]
    answering(cluster, lambda request, real: left.pop() if left else real(request))
    async with at_work(cluster) as stage:
        cluster.create(pod("web"))
        assert await stage.refused("web") == (
            'running Bind plugin "DefaultBinder": etcdserver: leader changed'
        )
        assert await stage.placed("web") == ["a"]


async def test_a_refusal_needs_no_look(cluster: Cluster) -> None:
    left = [status(403, "pods is forbidden")]
    answering(cluster, lambda request, real: left.pop() if left else real(request))
    async with at_work(cluster) as stage:
        cluster.create(pod("web"))
        why = await stage.refused("web")
        assert why == 'running Bind plugin "DefaultBinder": pods is forbidden'
        assert stage.process.core.cluster.assumed == 0
        assert await stage.placed("web") == ["a"]


async def test_a_pod_that_somebody_else_was_quicker_to_bind_is_theirs(cluster: Cluster) -> None:
    cluster.create(node("b", labels={"theirs": "yes"}))

    def answer(request: Request, real: Answer) -> Reply | Stream:
        assert request.body.count(b'"a"') == 1
        theirs = Request("POST", request.path, {}, request.body.replace(b'"a"', b'"b"'))
        real(theirs)
        return real(request)

    answering(cluster, answer)
    async with at_work(cluster) as stage:
        cluster.create(pod("web", nodeSelector={"kubernetes.io/hostname": "a"}))
        assert await stage.placed("web") == ["b"]
        await stage.until(lambda: stage.events("web", "FailedScheduling"))
        core = stage.process.core
        await stage.until(lambda: not core.intake.pending and core.cluster.assumed == 0)
        await stage.settled()
        condition = stage.condition("web")
        assert condition is not None
        assert condition["status"] == "True"  # it has a node: nobody may say that it has none
        assert stage.events("web", "Scheduled") == []


async def test_a_pod_that_is_deleted_while_it_is_bound_is_let_go(cluster: Cluster) -> None:
    def answer(request: Request, real: Answer) -> Reply | Stream:
        cluster.delete("pods", "web")
        return real(request)

    answering(cluster, answer)
    async with at_work(cluster) as stage:
        cluster.create(pod("web", "4"))
        core = stage.process.core
        await stage.until(lambda: stage.failed and not core.intake.pending)
        assert core.cluster.assumed == len(core.cluster) == len(core.queue) == 0
        assert core.queue.in_flight == 0


async def test_a_stopping_scheduler_waits_for_the_bindings_under_way(cluster: Cluster) -> None:
    stages: list[Stage] = []

    def answer(request: Request, real: Answer) -> Reply | Stream:
        stages[0].process.stop()
        return real(request)

    answering(cluster, answer)
    async with at_work(cluster) as stage:
        stages.append(stage)
        cluster.create(pod("web"))
        assert stage.working is not None
        async with asyncio.timeout(10):
            await stage.working
        assert stage.bound == [("web", "a")]
        assert stage.events("web", "Scheduled")
