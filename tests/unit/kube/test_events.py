"""What the recorder sends, and what it keeps to itself."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec
import pytest

from fairlead.kube import events
from fairlead.kube.errors import Dropped, Unreachable
from fairlead.kube.events import FINISH, REFRESH, EventRecorder, Regarding
from fairlead.kube.pipeline import Done, Failed

POD = Regarding("Pod", "ns", "p", "uid-1", "7")


class Wall:
    def __init__(self) -> None:
        self.seconds = 1_700_000_000.5

    def wall(self) -> float:
        return self.seconds


class Posts:
    """Keeps requests, for the test to answer."""

    def __init__(self) -> None:
        self.sent: deque[tuple[str, str, dict[str, Any], Done, Failed]] = deque()
        self.dropped = 0
        self.closed = False

    def send(
        self, method: str, path: str, body: bytes, content_type: str, done: Done, failed: Failed
    ) -> None:
        if self.closed:
            raise Dropped("closed")
        assert ("strategic" in content_type) is (method == "PATCH")
        self.sent.append((method, path, msgspec.json.decode(body), done, failed))

    def answer(self, status: int) -> tuple[str, str, dict[str, Any]]:
        method, path, body, done, _ = self.sent.popleft()
        done(status, b"said")
        return method, path, body

    def fail(self, error: Unreachable) -> None:
        self.sent.popleft()[4](error)


class Stage:
    def __init__(self) -> None:
        self.wall, self.posts = Wall(), Posts()
        self.rejected: list[tuple[int, bytes]] = []
        self.recorder = EventRecorder(
            self.posts,  # pyright: ignore[reportArgumentType]
            "default-scheduler",
            "default-scheduler-host",
            self.wall,
            lambda status, body: self.rejected.append((status, body)),
        )


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_scheduled_event(stage: Stage) -> None:
    stage.recorder.scheduled(POD, "n1")
    method, path, body = stage.posts.answer(201)
    assert (method, path) == ("POST", "/apis/events.k8s.io/v1/namespaces/ns/events")
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "p.17979cfe53f76500", "namespace": "ns"},
        "eventTime": "2023-11-14T22:13:20.500000Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-host",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "Successfully assigned ns/p to n1",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p",
            "namespace": "ns",
            "uid": "uid-1",
            "resourceVersion": "7",
        },
    }
    assert stage.recorder.posted == 1


def test_repeats_are_counted_and_written_once_then_at_the_end(stage: Stage) -> None:
    recorder, posts, wall = stage.recorder, stage.posts, stage.wall
    recorder.failed_scheduling(POD, "one")
    _, _, created = posts.answer(201)
    for _ in range(4):
        wall.seconds += 60
        recorder.failed_scheduling(POD, "another note does not make another event")
    method, path, body = posts.answer(200)
    name = created["metadata"]["name"]
    assert (method, path) == ("PATCH", f"/apis/events.k8s.io/v1/namespaces/ns/events/{name}")
    assert body == {"series": {"count": 2, "lastObservedTime": "2023-11-14T22:14:20.500000Z"}}
    assert not posts.sent
    recorder.flush()
    assert not posts.sent, "the series may go on"
    wall.seconds += FINISH + 1
    recorder.flush()
    _, _, body = posts.answer(200)
    assert body == {"series": {"count": 5, "lastObservedTime": "2023-11-14T22:17:20.500000Z"}}
    recorder.failed_scheduling(POD, "later")
    assert posts.answer(201)[0] == "POST", "a series that has ended does not go on"


def test_a_changed_pod_or_another_reason_is_another_event(stage: Stage) -> None:
    stage.recorder.failed_scheduling(POD, "no")
    stage.recorder.failed_scheduling(POD._replace(resource_version="8"), "no")
    stage.recorder.record(POD, "Normal", "Preempted", "Preempting", "x")
    assert [sent[0] for sent in stage.posts.sent] == ["POST"] * 3


def test_a_lone_event_that_ends_is_not_written_again(stage: Stage) -> None:
    stage.recorder.failed_scheduling(POD, "no")
    stage.posts.answer(201)
    stage.wall.seconds += FINISH + 1
    stage.recorder.flush()
    assert not stage.posts.sent


def test_a_long_series_is_written_again_every_half_hour(stage: Stage) -> None:
    for _ in range(int(REFRESH / 60) + 2):
        stage.recorder.failed_scheduling(POD, "no")
        stage.wall.seconds += 60
    counts = [sent[2].get("series", {}).get("count") for sent in stage.posts.sent]
    assert counts == [None, 2, 32]


def test_a_series_whose_event_is_gone_is_created_with_it(stage: Stage) -> None:
    stage.recorder.failed_scheduling(POD, "no")
    stage.posts.answer(201)
    stage.recorder.failed_scheduling(POD, "no")
    stage.posts.answer(404)
    method, _, body = stage.posts.answer(201)
    assert method == "POST"
    assert body["series"]["count"] == 2
    assert body["note"] == "no"


def test_what_the_server_refuses_is_counted_and_not_repeated(stage: Stage) -> None:
    stage.recorder.scheduled(POD, "n1")
    stage.posts.answer(403)
    assert not stage.posts.sent
    assert (stage.recorder.rejected, stage.recorder.posted) == (1, 0)
    assert stage.rejected == [(403, b"said")]


def test_an_event_that_arrived_after_all_is_posted(stage: Stage) -> None:
    stage.recorder.scheduled(POD, "n1")
    stage.posts.fail(Unreachable("reset", written=True))
    assert not stage.posts.sent
    stage.recorder.resend()
    stage.posts.answer(409)
    assert stage.recorder.posted == 1


def test_tries_end(stage: Stage) -> None:
    stage.recorder.scheduled(POD, "n1")
    for _ in range(events.TRIES):
        stage.posts.fail(Unreachable("reset", written=True))
        stage.recorder.resend()
    assert not stage.posts.sent
    assert stage.recorder.lost == 1


def test_only_so_many_wait_to_be_sent_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "CAPACITY", 2)
    for number in range(3):
        stage.recorder.scheduled(POD._replace(name=f"p{number}"), "n1")
    for _ in range(3):
        stage.posts.fail(Unreachable("reset", written=True))
    stage.recorder.resend()
    assert len(stage.posts.sent) == 2
    assert stage.recorder.lost == 1


def test_a_dropped_event_is_not_sent_again(stage: Stage) -> None:
    stage.recorder.scheduled(POD, "n1")
    stage.posts.fail(Dropped("full"))
    assert not stage.posts.sent
    assert stage.recorder.lost == 1


def test_after_the_end_events_are_lost_in_silence(stage: Stage) -> None:
    stage.posts.closed = True
    stage.recorder.scheduled(POD, "n1")
    assert stage.recorder.lost == 1


def test_only_so_many_series_are_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "SERIES_KEPT", 2)
    for number in range(3):
        pod = POD._replace(name=f"p{number}")
        for _ in range(3):
            stage.recorder.failed_scheduling(pod, "no")
    written = [
        (sent[0], sent[2].get("series", {}).get("count"))
        for sent in stage.posts.sent
        if "p0." in sent[1] or sent[2].get("regarding", {}).get("name") == "p0"
    ]
    assert written == [("POST", None), ("PATCH", 2), ("PATCH", 3)]


@pytest.mark.parametrize(
    ("note", "wanted"),
    [
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1020 + " ..."),
        ("é" * 600, "é" * 510 + " ..."),
        ("x" + "é" * 600, "x" + "é" * 509 + " ..."),
        ('"quoted"\n100% \\ \x00', '"quoted"\n100% \\ \x00'),
        ("half \ud800 a pair", "half ? a pair"),
    ],
)
def test_notes_fit_and_are_escaped(stage: Stage, note: str, wanted: str) -> None:
    stage.recorder.failed_scheduling(POD, note)
    body = stage.posts.answer(201)[2]
    assert body["note"] == wanted
    assert len(body["note"].encode()) <= 1024


def test_an_object_without_a_namespace_has_its_events_in_default(stage: Stage) -> None:
    stage.recorder.record(Regarding("Node", "", "n", "u"), "Normal", "R", "A", "x")
    _, path, body = stage.posts.answer(201)
    assert path == "/apis/events.k8s.io/v1/namespaces/default/events"
    assert body["metadata"]["namespace"] == "default"
    assert "namespace" not in body["regarding"]
    assert "resourceVersion" not in body["regarding"]


def test_a_name_that_no_event_can_have_is_replaced(stage: Stage) -> None:
    for name in ("system:node", "a" * 250, "a..b"):
        stage.recorder.scheduled(POD._replace(name=name), "n")
        body = stage.posts.answer(201)[2]
        assert len(body["metadata"]["name"]) == 36
        assert body["regarding"]["name"] == name
