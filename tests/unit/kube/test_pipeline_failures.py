"""The path of binds, on both loops, against servers that reset, throttle, stall, talk nonsense."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.kube.errors import Unreachable
from fairlead.kube.pipeline import Posts
from tests.unit.kube.posting import echo, on_both_loops, posting
from tests.unit.kube.wire import Peer, Wire


@on_both_loops
async def test_a_reset_after_the_request_was_written_leaves_its_outcome_open() -> None:
    async def reset(peer: Peer) -> None:
        await peer.request()
        peer.reset()

    async with Wire(reset, echo) as wire, posting(wire.access) as box:
        box.post("a")
        box.post("b")
        assert await box.posts.drain(10)
        assert wire.connections == 2
    assert box.statuses == [("b", 201)], "what was not written is sent on the next connection"
    (name, error) = box.failures[0]
    assert (name, len(box.failures), error.written) == ("a", 1, True)
    assert f"{wire.access.server}/a" in str(error)


@on_both_loops
async def test_half_an_answer_leaves_the_outcome_open() -> None:
    async def half(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nabc")

    async with Wire(half, echo) as wire, posting(wire.access) as box:
        box.post("a")
        assert await box.posts.drain(10)
    assert [(name, error.written) for name, error in box.failures] == [("a", True)]


@on_both_loops
async def test_garbage_ends_the_connection_and_the_next_serves_on() -> None:
    async def garbage(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"SMTP ready\r\n\r\n")
        await peer.closed()

    async with Wire(garbage, echo) as wire, posting(wire.access) as box:
        box.post("a")
        box.post("b")
        assert await box.posts.drain(10)
    assert [(name, error.written) for name, error in box.failures] == [("a", True)]
    assert "no HTTP/1.1 answer" in str(box.failures[0][1])
    assert box.statuses == [("b", 201)]


@on_both_loops
async def test_a_connection_that_the_server_closed_in_silence_is_replaced() -> None:
    closed = asyncio.Event()

    async def short(peer: Peer) -> None:
        await peer.request()
        await peer.answer()
        closed.set()

    async with Wire(short, echo) as wire, posting(wire.access) as box:
        box.post("a")
        await closed.wait()
        await asyncio.sleep(0.05)
        box.post("b")
        assert await box.posts.drain(10)
    assert box.statuses == [("a", 200), ("b", 201)]
    assert not box.failures


@on_both_loops
async def test_connection_close_is_obeyed() -> None:
    async def once(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"x", 200, "Connection: close")
        await peer.closed()

    async with Wire(once) as wire, posting(wire.access) as box:
        for name in "abc":
            box.post(name)
        assert await box.posts.drain(10)
        assert wire.connections == 3
    assert box.statuses == [("a", 200), ("b", 200), ("c", 200)]


@on_both_loops
async def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    async def eager(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"x")
        await asyncio.sleep(0.02)
        await peer.answer(b"408")
        await peer.closed()

    async with Wire(eager, echo) as wire, posting(wire.access) as box:
        box.post("a")
        assert await box.posts.drain(10)
        await asyncio.sleep(0.1)
        box.post("b")
        assert await box.posts.drain(10)
    assert box.answers == [("a", 200, b"x"), ("b", 201, b"/b")]


@on_both_loops
async def test_a_throttled_request_is_sent_again_and_the_others_wait() -> None:
    seen: list[str] = []

    async def script(peer: Peer) -> None:
        seen.append((await peer.request()).path)
        await peer.answer(b"slow", 429, "Retry-After: 0")
        while True:
            seen.append((await peer.request()).path)
            await peer.answer(b"ok", 201)

    async with Wire(script) as wire, posting(wire.access) as box:
        for name in "ab":
            box.post(name)
        assert await box.posts.drain(10)
    assert seen == ["/a", "/a", "/b"]
    assert box.statuses == [("a", 201), ("b", 201)]


@on_both_loops
async def test_throttling_past_the_deadline_or_without_a_time_is_an_answer() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"budget", 429)
        await peer.request()
        await peer.answer(b"slow", 429, "Retry-After: 60")

    async with Wire(script) as wire, posting(wire.access) as box:
        for name in "ab":
            box.post(name)
        assert await box.posts.drain(10)
    assert box.statuses == [("a", 429), ("b", 429)]


@on_both_loops
async def test_no_answer_within_the_deadline_leaves_the_outcome_open() -> None:
    async def silent(peer: Peer) -> None:
        await peer.request()
        await peer.closed()

    async with Wire(silent, echo) as wire, posting(wire.access, deadline=0.1) as box:
        box.post("a")
        assert await box.posts.drain(10)
        box.post("b")
        assert await box.posts.drain(10)
    assert [(name, error.written) for name, error in box.failures] == [("a", True)]
    assert "no answer in time" in str(box.failures[0][1])
    assert box.statuses == [("b", 201)]


@on_both_loops
async def test_what_was_never_written_fails_only_when_the_server_stays_away() -> None:
    async def last(peer: Peer) -> None:
        await peer.request()
        wire.stop()
        await peer.answer()

    async with Wire(last) as wire, posting(wire.access, deadline=0.3) as box:
        box.post("a")
        assert await box.posts.drain(10)
        await asyncio.sleep(0.05)
        box.post("b")
        assert await box.posts.drain(10)
    assert box.statuses == [("a", 200)]
    assert [(name, error.written) for name, error in box.failures] == [("b", False)]
    assert "connection refused" in str(box.failures[0][1])


@on_both_loops
async def test_nobody_there_at_the_start() -> None:
    async with Wire(echo) as wire:
        access = wire.access
    with pytest.raises(Unreachable, match="connection refused"):
        await Posts(access, 1).start()


@on_both_loops
async def test_a_server_that_comes_back_gets_what_waited() -> None:
    gone = asyncio.Event()

    async def script(peer: Peer) -> None:
        try:
            await echo(peer)
        finally:
            gone.set()

    async with Wire(script) as wire, posting(wire.access, 4) as box:
        box.post("a")
        assert await box.posts.drain(10)
        back = asyncio.create_task(wire.restart())
        await gone.wait()
        await asyncio.sleep(0.05)
        for number in range(20):
            box.post(str(number))
        assert box.posts.pending == 20
        await back
        assert await box.posts.drain(10)
    assert len(box.answers) == 21
    assert not box.failures
