"""The path of binds, on both loops: order, connections, queue, callbacks."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.kube import pipeline
from fairlead.kube.errors import Dropped
from tests.unit.kube.posting import echo, never, ok, on_both_loops, posting
from tests.unit.kube.wire import HEAD, Peer, Request, Wire


@on_both_loops
async def test_one_connection_carries_one_request_at_a_time_in_order() -> None:
    seen: list[Request] = []

    async def script(peer: Peer) -> None:
        while True:
            seen.append(await peer.request())
            await peer.answer(b"ok", 201)

    async with Wire(script) as wire, posting(wire.access, user_agent="me/1") as box:
        for number in range(20):
            box.post(str(number), b'{"n":%d}' % number)
        assert box.posts.pending == 20
        assert await box.posts.drain(10)
        assert box.posts.pending == 0
        assert wire.connections == 1
    assert box.answers == [(str(number), 201, b"ok") for number in range(20)]
    assert [request.path for request in seen] == [f"/{number}" for number in range(20)]
    first = seen[0]
    assert first.method == "POST"
    assert first.body == b'{"n":0}'
    assert first.headers["host"] == wire.access.url.netloc
    assert first.headers["authorization"] == "bearer t"
    assert first.headers["user-agent"] == "me/1"
    assert first.headers["content-type"] == "application/json"


@on_both_loops
async def test_more_requests_open_more_connections_up_to_the_limit() -> None:
    waiting = asyncio.Semaphore(0)

    async def script(peer: Peer) -> None:
        while True:
            await peer.request()
            await waiting.acquire()
            await peer.answer()

    async with Wire(script) as wire, posting(wire.access, 3) as box:
        for number in range(9):
            box.post(str(number))
        await wire.connected(3)
        for _ in range(9):
            waiting.release()
        assert await box.posts.drain(10)
        assert wire.connections == 3
    assert len(box.answers) == 9


@on_both_loops
async def test_a_patch_has_its_content_type_and_a_prefix_goes_before_the_path() -> None:
    seen: list[Request] = []

    async def script(peer: Peer) -> None:
        while True:
            seen.append(await peer.request())
            await peer.answer()

    async with Wire(script) as wire:
        access = msgspec.structs.replace(wire.access, server=wire.access.server + "/k8s/c-1")
        async with posting(access) as box:
            box.posts.send("PATCH", "/x", b"{}", "application/merge-patch+json", ok, never)
            assert await box.posts.drain(10)
    assert (seen[0].method, seen[0].path) == ("PATCH", "/k8s/c-1/x")
    assert seen[0].headers["content-type"] == "application/merge-patch+json"


@on_both_loops
async def test_answers_come_in_pieces_and_in_chunks() -> None:
    long = b"x" * 300_000

    async def script(peer: Peer) -> None:
        await peer.request()
        for byte in b"HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc":
            await peer.send(bytes([byte]))
            await asyncio.sleep(0)
        await peer.request()
        await peer.send(HEAD)
        for at in range(0, len(long), 70_000):
            await peer.chunk(long[at : at + 70_000])
        await peer.send(b"0\r\n\r\n")
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")

    async with Wire(script, echo) as wire, posting(wire.access) as box:
        for name in "abcd":
            box.post(name)
        assert await box.posts.drain(10)
    assert box.answers == [
        ("a", 201, b"abc"),
        ("b", 200, long),
        ("c", 200, b"until the end"),
        ("d", 201, b"/d"),
    ]


@on_both_loops
async def test_a_full_queue_lets_the_oldest_go() -> None:
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        while True:
            await peer.request()
            await go.wait()
            await peer.answer()

    async with Wire(script) as wire, posting(wire.access, capacity=2) as box:
        for name in "abcde":
            box.post(name)
        go.set()
        assert await box.posts.drain(10)
    assert [name for name, _ in box.failures] == ["b", "c"]
    assert all(isinstance(error, Dropped) and not error.written for _, error in box.failures)
    assert [name for name, _ in box.statuses] == ["a", "d", "e"]
    assert box.posts.dropped == 2


@on_both_loops
async def test_a_callback_that_raises_costs_nobody_else_anything() -> None:
    reported: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))

    async def script(peer: Peer) -> None:
        while True:
            request = await peer.request()
            if request.path == "/gone":
                peer.reset()
            await peer.answer()

    def bad(*_: object) -> None:
        raise RuntimeError("a bug")

    async with Wire(script) as wire, posting(wire.access) as box:
        box.posts.post("/a", b"", bad, never)
        box.posts.post("/gone", b"", ok, bad)
        box.post("b")
        assert await box.posts.drain(10)
        assert wire.connections == 2
    assert box.statuses == [("b", 200)]
    assert [str(error) for error in reported] == ["a bug", "a bug"]


@on_both_loops
async def test_an_answer_may_send_the_next_request() -> None:
    async with Wire(echo) as wire, posting(wire.access) as box:
        box.posts.post("/a", b"", lambda status, body: box.post("b"), never)
        assert await box.posts.drain(10)
    assert box.statuses == [("b", 201)]


@on_both_loops
async def test_draining_has_an_end_and_closing_tells_the_truth() -> None:
    async def silent(peer: Peer) -> None:
        await peer.request()
        await peer.closed()

    async with Wire(silent) as wire:
        async with posting(wire.access) as box:
            box.post("under-way")
            box.post("waiting")
            assert not await box.posts.drain(0.05)
        assert [(name, error.written) for name, error in box.failures] == [
            ("under-way", True),
            ("waiting", False),
        ]
        with pytest.raises(Dropped):
            box.post("late")


@on_both_loops
async def test_a_new_token_is_used_at_once() -> None:
    seen: list[str] = []

    async def script(peer: Peer) -> None:
        while True:
            seen.append((await peer.request()).headers["authorization"])
            await peer.answer()

    tokens = iter(["Bearer one", "Bearer one", "Bearer two"])
    async with Wire(script) as wire, posting(wire.access) as box:
        box.posts._authorization = lambda: next(tokens)
        for name in "abc":
            box.post(name)
        assert await box.posts.drain(10)
    assert seen == ["bearer one", "bearer one", "bearer two"]


@on_both_loops
async def test_idle_connections_are_closed_before_the_server_does() -> None:
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer()
        await peer.closed()
        closed.set()

    async with Wire(script, echo) as wire, posting(wire.access) as box:
        box.post("a")
        assert await box.posts.drain(10)
        for connection in box.posts._all:
            connection.since -= pipeline.IDLE + 1
        await closed.wait()
        box.post("b")
        assert await box.posts.drain(10)
        assert wire.connections == 2
    assert not box.failures


@on_both_loops
async def test_a_path_cannot_carry_a_second_request() -> None:
    async with Wire(echo) as wire, posting(wire.access) as box:
        for path in ("/a b", "/a\r\nX: y", "/é"):
            with pytest.raises(ValueError, match="not the path of a URL"):
                box.posts.post(path, b"", ok, never)
        assert box.posts.pending == 0
