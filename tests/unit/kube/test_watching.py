"""The watch against servers that forget, fall silent, cut lines and talk nonsense."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from fairlead.kube.client import Client
from fairlead.kube.errors import (
    Forbidden,
    Gone,
    KubeError,
    ServerError,
    TooManyRequests,
    Undecodable,
    Unreachable,
)
from fairlead.kube.resource import PODS
from fairlead.kube.watching import Kind, State, Watch, WatchEvent
from tests.unit.kube.wire import HEAD, Peer, Request, Script, Wire


def obj(name: str, version: int, **extra: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version), **extra}}


def event(word: str, what: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": word, "object": what}) + b"\n"


def error_event(code: int, reason: str = "") -> bytes:
    return event("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": "said"})


def listed(*objects: dict[str, Any], version: int = 10, token: str | None = None) -> bytes:
    metadata = {"resourceVersion": str(version), "continue": token}
    return msgspec.json.encode({"metadata": metadata, "items": objects})


class Story:
    """A server with one script per request, and a watch that lives through them."""

    def __init__(self, *acts: Callable[[Peer, Request], Any]) -> None:
        self._acts = list(acts)
        self.requests: list[Request] = []
        self.events: list[WatchEvent] = []
        self.problems: list[tuple[str, KubeError]] = []
        self.pauses: list[float] = []
        self._over = asyncio.Event()

    async def _script(self, peer: Peer) -> None:
        while True:
            request = await peer.request()
            self.requests.append(request)
            if not self._acts:
                self._over.set()
                await peer.closed()
                return
            await self._acts.pop(0)(peer, request)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def play(self, **options: Any) -> Watch:
        """Runs until one request more has come than there are acts."""
        options.setdefault("on_error", lambda step, error: self.problems.append((step, error)))
        script: Script = self._script
        async with Wire(script) as wire, Client(wire.access) as client:
            watch = Watch(client, PODS, self.events.extend, sleep=self._sleep, **options)
            running = asyncio.create_task(watch.run())
            over = asyncio.create_task(self._over.wait())
            async with asyncio.timeout(20):
                await asyncio.wait({running, over}, return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
            if running.done():
                running.result()
            running.cancel()
            await asyncio.gather(running, over, return_exceptions=True)
        return watch

    @property
    def told(self) -> list[str]:
        """The events as words: `INIT`, `APPLY a`."""
        words: list[str] = []
        for kind, data in self.events:
            name = "" if data is None else " " + msgspec.json.decode(data)["metadata"]["name"]
            words.append(kind.value + name)
        return words

    @property
    def versions(self) -> list[str]:
        return [request.query.get("resourceVersion", "list") for request in self.requests]


def answers(body: bytes, status: int = 200, *headers: str) -> Callable[[Peer, Request], Any]:
    async def act(peer: Peer, request: Request) -> None:
        await peer.answer(body, status, *headers)

    return act


def streams(*chunks: bytes, end: bool = True) -> Callable[[Peer, Request], Any]:
    """A watch's stream in these chunks; without `end` it breaks off."""

    async def act(peer: Peer, request: Request) -> None:
        await peer.send(HEAD)
        for chunk in chunks:
            await peer.chunk(chunk)
        if end:
            await peer.send(b"0\r\n\r\n")
        else:
            peer.reset()

    return act


LIST = ["INIT", "INIT_APPLY a", "INIT_DONE"]


async def test_list_watch_and_resume_from_the_last_event() -> None:
    story = Story(
        answers(listed(obj("a", 3))),
        streams(event("ADDED", obj("b", 11)) + event("MODIFIED", obj("b", 12))),
        streams(event("DELETED", obj("b", 13))),
    )
    await story.play(field_selector="spec.nodeName=", label_selector="a=b", namespace="ns")
    assert story.told == [*LIST, "APPLY b", "APPLY b", "DELETE b"]
    assert story.versions == ["list", "10", "12", "13"]
    first, second = story.requests[:2]
    selectors = {"fieldSelector": "spec.nodeName=", "labelSelector": "a=b"}
    assert first.path == second.path == "/api/v1/namespaces/ns/pods"
    assert first.query == {"limit": "500", **selectors}
    timeout = second.query.pop("timeoutSeconds")
    assert 300 <= int(timeout) <= 600
    assert second.query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "10",
        **selectors,
    }
    assert not story.problems
    assert not story.pauses


async def test_a_list_comes_in_pages_between_one_init_and_one_done() -> None:
    story = Story(
        answers(listed(obj("a", 1), token="more")),
        answers(listed(obj("b", 2))),
    )
    watch = await story.play()
    assert story.told == ["INIT", "INIT_APPLY a", "INIT_APPLY b", "INIT_DONE"]
    assert story.requests[1].query["continue"] == "more"
    assert watch.state is State.WATCHING
    assert watch.resource_version == "10"


async def test_pages_that_expire_begin_a_new_list_without_pages() -> None:
    story = Story(
        answers(listed(obj("a", 1), token="more")),
        answers(b"{}", 410),
        answers(listed(obj("a", 1), obj("b", 2))),
    )
    await story.play()
    assert story.told == [
        "INIT",
        "INIT_APPLY a",
        "INIT",
        "INIT_APPLY a",
        "INIT_APPLY b",
        "INIT_DONE",
    ]
    assert "limit" not in story.requests[2].query
    assert not story.problems


@pytest.mark.parametrize(
    "gone",
    [answers(b"{}", 410), streams(error_event(410, "Expired")), streams(error_event(410))],
    ids=["status", "expired", "gone"],
)
async def test_what_the_server_has_forgotten_is_listed_again(gone: Any) -> None:
    story = Story(
        answers(listed(obj("a", 1))),
        streams(event("ADDED", obj("b", 11))),
        gone,
        answers(listed(obj("a", 1), version=50)),
    )
    await story.play()
    assert story.told == [*LIST, "APPLY b", *LIST]
    assert story.versions == ["list", "10", "11", "list", "50"]
    assert not story.pauses, "the first 410 is ordinary life"


async def test_a_server_that_always_forgets_is_asked_ever_more_slowly() -> None:
    acts = [act for _ in range(6) for act in (answers(listed()), answers(b"{}", 410))]
    story = Story(*acts)
    await story.play()
    assert len(story.pauses) == 5
    assert story.pauses[-1] > 4 * story.pauses[0]
    assert all(isinstance(error, Gone) for _, error in story.problems)


async def test_events_before_an_error_count() -> None:
    story = Story(
        answers(listed(obj("a", 1))),
        streams(event("ADDED", obj("b", 11)) + error_event(500, "InternalError")),
    )
    await story.play()
    assert story.told == [*LIST, "APPLY b"]
    assert story.versions == ["list", "10", "11"]
    assert [type(error) for _, error in story.problems] == [ServerError]


async def test_bookmarks_advance_the_version_and_tell_nothing() -> None:
    story = Story(answers(listed()), streams(event("BOOKMARK", obj("", 99))))
    await story.play()
    assert story.told == ["INIT", "INIT_DONE"]
    assert story.versions[-1] == "99"


async def test_a_truncated_line_is_not_an_event() -> None:
    whole, half = event("ADDED", obj("b", 11)), event("ADDED", obj("c", 12))[:-5]
    story = Story(
        answers(listed(obj("a", 1))),
        streams(whole + half, end=False),
        streams(event("ADDED", obj("c", 12))),
    )
    await story.play()
    assert story.told == [*LIST, "APPLY b", "APPLY c"]
    assert story.versions == ["list", "10", "11", "12"]
    assert [type(error) for _, error in story.problems] == [Unreachable]
    assert len(story.pauses) == 1


async def test_a_line_of_megabytes_in_many_chunks() -> None:
    line = event("ADDED", obj("b", 11, annotations={"x": "é" * (3 << 20)}))
    chunks = [line[at : at + 65537] for at in range(0, len(line), 65537)]
    story = Story(answers(listed(obj("a", 1))), streams(*chunks))
    await story.play()
    assert story.told == [*LIST, "APPLY b"]
    assert story.versions[-1] == "11"


async def test_silence_means_a_new_connection_from_the_same_version() -> None:
    async def silent(peer: Peer, request: Request) -> None:
        await peer.send(HEAD)
        await peer.chunk(event("ADDED", obj("b", 11)))
        await peer.closed()

    story = Story(answers(listed(obj("a", 1))), silent)
    await story.play(idle=0.1)
    assert story.versions == ["list", "10", "11"]
    assert not story.problems
    assert not story.pauses


@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b"{}\n",
        b'{"type":"ADDED"}\n',
        event("UNHEARD", obj("b", 11)),
        b"[" * 9999 + b"\n",
        b'{"type":"\xff","object":{}}\n',
        b'{"type":"ERROR","object":"\xff"}\n',
        b'{"type":"ERROR","object":[]}\n',
    ],
)
async def test_a_line_that_is_no_event_means_a_new_list(line: bytes) -> None:
    story = Story(
        answers(listed(obj("a", 1))),
        streams(event("ADDED", obj("b", 11)) + line),
        answers(listed(obj("a", 1), version=20)),
    )
    await story.play()
    assert story.told == [*LIST, "APPLY b", *LIST]
    assert [type(error) for _, error in story.problems] == [Undecodable]
    assert len(story.pauses) == 1


@pytest.mark.parametrize("version", [{}, {"resourceVersion": 7}, {"resourceVersion": ""}])
async def test_an_event_without_a_version_means_a_new_list(version: dict[str, Any]) -> None:
    story = Story(
        answers(listed(obj("a", 1))),
        streams(event("ADDED", {"metadata": {"name": "b", **version}})),
        answers(listed(obj("a", 1), version=20)),
    )
    await story.play()
    assert story.versions == ["list", "10", "list", "20"]


async def test_a_stream_that_ends_at_once_is_not_asked_for_without_a_pause() -> None:
    story = Story(answers(listed()), streams(), streams(), streams())
    await story.play()
    assert story.versions == ["list", "10", "10", "10", "10"]
    assert len(story.pauses) == 3
    assert "ended at once" in str(story.problems[0][1])


async def test_a_forbidden_list_is_told_and_tried_again() -> None:
    forbidden = {
        "kind": "Status",
        "code": 403,
        "reason": "Forbidden",
        "message": "pods is forbidden",
    }
    story = Story(
        answers(msgspec.json.encode(forbidden), 403),
        answers(listed(obj("a", 1))),
    )
    await story.play()
    assert story.told == LIST
    assert [(step, type(error)) for step, error in story.problems] == [("list", Forbidden)]
    assert len(story.pauses) == 1


async def test_a_throttled_watch_waits_as_long_as_it_is_told() -> None:
    story = Story(answers(listed()), answers(b"busy", 429, "Retry-After: 17"))
    await story.play()
    assert story.versions == ["list", "10", "10"]
    assert [type(error) for _, error in story.problems] == [TooManyRequests]
    assert story.pauses == [17.0]


async def test_a_reader_s_on_error_may_end_the_watch() -> None:
    def give_up(step: str, error: KubeError) -> None:
        raise error

    story = Story(answers(b"{}", 403))
    with pytest.raises(Forbidden):
        await story.play(on_error=give_up)


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b"[" * 9999, b"\xff", b'{"metadata":{"continue":"\xff"}}']
)
async def test_a_list_that_is_none_is_tried_again(body: bytes) -> None:
    story = Story(answers(body), answers(listed(obj("a", 1))))
    await story.play()
    assert [step for step, _ in story.problems] == ["list"]
    assert isinstance(story.problems[0][1], Undecodable)
    assert story.told[-3:] == LIST


class Meta(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str


class Pod(msgspec.Struct):
    metadata: Meta


class PodEvent(msgspec.Struct):
    type: str
    object: Pod


def pod_event(line: bytes) -> tuple[str, object]:
    decoded = msgspec.json.decode(line, type=PodEvent)
    return decoded.type, decoded.object


@pytest.mark.parametrize("typed", [True, False], ids=["whole lines", "objects"])
async def test_an_object_that_cannot_be_decoded_is_told_and_skipped(typed: bool) -> None:
    bad = {"metadata": {"name": 5, "namespace": "ns", "resourceVersion": "12"}}
    story = Story(
        answers(listed(obj("a", 1), bad)),
        streams(
            event("BOOKMARK", {"metadata": {"resourceVersion": "10"}})
            + event("ADDED", obj("b", 11))
            + event("ADDED", bad)
        ),
        streams(error_event(410, "Expired")),
        answers(listed()),
    )
    decode = msgspec.json.Decoder(Pod).decode
    await story.play(decode=decode, decode_event=pod_event if typed else None)
    told = [(e.kind, e.object.metadata.name) for e in story.events if e.object is not None]
    assert told == [(Kind.INIT_APPLY, "a"), (Kind.APPLY, "b")]
    assert [step for step, _ in story.problems] == ["decode", "decode"]
    error = story.problems[0][1]
    assert isinstance(error, Undecodable)
    assert str(error).startswith("Pod ns/5 is skipped: ")
    assert msgspec.json.decode(error.data) == bad
    assert story.versions == ["list", "10", "12", "list", "10"]


async def test_a_decoder_of_events_alone_serves_lists_too() -> None:
    story = Story(answers(listed(obj("a", 1))), streams(event("DELETED", obj("a", 11))))
    await story.play(decode_event=pod_event)
    told = [(e.kind, e.object.metadata.name) for e in story.events if e.object is not None]
    assert told == [(Kind.INIT_APPLY, "a"), (Kind.DELETE, "a")]
