"""The path of binds and events, on both API servers and both event loops."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec

from fairlead.kube.content import PATCH_TYPES
from fairlead.kube.errors import Unreachable
from fairlead.kube.events import EventRecorder, Regarding
from fairlead.kube.pipeline import Posts
from fairlead.kube.resource import EVENTS, PODS
from tests.contract.api import Api


class Answers:
    """Counts what comes back, and keeps the last body of each status."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.bodies: dict[int, bytes] = {}
        self.failures: list[Unreachable] = []

    def done(self, status: int, body: bytes) -> None:
        self.statuses[status] += 1
        self.bodies[status] = body


def binding(pod: dict[str, str], node: str) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod["name"], "namespace": pod["namespace"], "uid": pod["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
    )


async def test_many_binds_arrive_and_a_second_bind_is_a_conflict(api: Api) -> None:
    node = await api.node()
    pods = [(await api.pod())["metadata"] for _ in range(40)]
    posts, answers = Posts(api.client.access, 6), Answers()
    await posts.start()
    try:
        for pod in pods:
            path = PODS.path(api.namespace, pod["name"], "binding")
            posts.post(path, binding(pod, node), answers.done, answers.failures.append)
        assert posts.pending == 40
        assert await posts.drain(20)
        assert answers.statuses == {201: 40}
        path = PODS.path(api.namespace, pods[0]["name"], "binding")
        posts.post(path, binding(pods[0], node), answers.done, answers.failures.append)
        assert await posts.drain(20)
    finally:
        await posts.close()
    assert answers.statuses == {201: 40, 409: 1}
    assert msgspec.json.decode(answers.bodies[201])["status"] == "Success"
    assert msgspec.json.decode(answers.bodies[409])["reason"] == "Conflict"
    assert not answers.failures
    bound = await api.client.list(PODS, api.namespace)
    assert {pod["spec"].get("nodeName") for pod in bound["items"]} == {node}


async def test_a_status_patch_takes_the_same_way_and_its_long_answer_comes_whole(api: Api) -> None:
    annotations = {f"example.com/{number}": "x" * 1000 for number in range(100)}
    pod = (await api.pod(annotations=annotations))["metadata"]
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    body = msgspec.json.encode({"status": {"conditions": [condition]}})
    posts, answers = Posts(api.client.access, 1), Answers()
    await posts.start()
    try:
        path = PODS.path(api.namespace, pod["name"], "status")
        kind = PATCH_TYPES["strategic"]
        posts.send("PATCH", path, body, kind, answers.done, answers.failures.append)
        assert await posts.drain(20)
    finally:
        await posts.close()
    assert answers.statuses == {200: 1}
    patched = msgspec.json.decode(answers.bodies[200])
    assert patched["metadata"]["annotations"] == annotations
    assert patched["status"]["conditions"][-1]["reason"] == "Unschedulable"


class Wall:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.25

    def wall(self) -> float:
        return self.seconds


async def test_events_are_created_and_repeats_become_a_series(api: Api) -> None:
    wall = Wall()
    posts = Posts(api.client.access, 2)
    await posts.start()
    rejected: list[bytes] = []
    recorder = EventRecorder(
        posts, "contract", "contract-host", wall, lambda _, body: rejected.append(body)
    )
    meta = (await api.pod("p"))["metadata"]
    pod = Regarding("Pod", api.namespace, "p", meta["uid"], meta["resourceVersion"])
    try:
        recorder.failed_scheduling(pod, "0/1 nodes are available: " + "€" * 1000)
        assert await posts.drain(20)
        for _ in range(3):
            wall.seconds += 10
            recorder.failed_scheduling(pod, "0/2 nodes are available")
        assert await posts.drain(20)
        wall.seconds += 400
        recorder.flush()
        recorder.scheduled(pod, "node-1")
        assert await posts.drain(20)
    finally:
        await posts.close()
    assert not rejected
    assert recorder.posted == 2
    found = await api.client.list(EVENTS, api.namespace)
    events = {event["reason"]: event for event in found["items"]}
    assert set(events) == {"Scheduled", "FailedScheduling"}
    failed, scheduled = events["FailedScheduling"], events["Scheduled"]
    assert failed["series"]["count"] == 4
    assert failed["series"]["lastObservedTime"] == "2023-11-14T22:13:50.250000Z"
    assert failed["eventTime"] == "2023-11-14T22:13:20.250000Z"
    assert failed["type"] == "Warning"
    assert failed["action"] == "Scheduling"
    assert len(failed["note"].encode()) <= 1024
    assert failed["note"].endswith(" ...")
    assert scheduled["note"] == f"Successfully assigned {api.namespace}/p to node-1"
    assert scheduled["action"] == "Binding"
    assert scheduled["type"] == "Normal"
    assert scheduled["regarding"]["uid"] == meta["uid"]
    assert scheduled["reportingController"] == "contract"
    assert scheduled["reportingInstance"] == "contract-host"


async def test_an_event_that_the_server_has_lost_is_created_with_its_series(api: Api) -> None:
    wall = Wall()
    posts = Posts(api.client.access, 2)
    await posts.start()
    recorder = EventRecorder(posts, "contract", "contract-host", wall)
    pod = Regarding("Pod", api.namespace, "p", "u")
    try:
        recorder.failed_scheduling(pod, "no")
        assert await posts.drain(20)
        name = (await api.client.list(EVENTS, api.namespace))["items"][0]["metadata"]["name"]
        await api.client.delete(EVENTS, name, api.namespace)
        recorder.failed_scheduling(pod, "no")
        assert await posts.drain(20)
    finally:
        await posts.close()
    again = await api.client.get(EVENTS, name, api.namespace)
    assert again["series"]["count"] == 2


async def test_posts_to_nowhere_say_so_at_the_start(api: Api) -> None:
    access = msgspec.structs.replace(api.client.access, server="https://127.0.0.1:9")
    posts = Posts(access, 1)
    try:
        await posts.start()
    except Unreachable as error:
        assert "https://127.0.0.1:9: connection refused" in str(error)  # noqa: PT017
        assert not error.written  # noqa: PT017
    else:
        raise AssertionError("port 9 answered")
    await asyncio.sleep(0)
