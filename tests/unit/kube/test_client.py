"""The client against servers that throttle, hang up, and talk nonsense."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fairlead.kube import errors
from fairlead.kube.access import ClusterAccess
from fairlead.kube.client import Client
from fairlead.kube.resource import PODS
from tests.unit.kube.wire import Peer, Request, Wire


def page(*names: str, token: str = "", version: str = "7") -> bytes:
    items = [{"metadata": {"name": name}} for name in names]
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    return msgspec.json.encode({"kind": "PodList", "metadata": metadata, "items": items or None})


def expired(code: int = 410) -> bytes:
    return msgspec.json.encode({"kind": "Status", "code": code, "reason": "Expired"})


async def test_who_asks_and_what_is_asked() -> None:
    seen: list[Request] = []

    async def script(peer: Peer) -> None:
        while True:
            seen.append(await peer.request())
            await peer.answer()

    async with Wire(script) as wire, Client(wire.access, field_manager="me") as client:
        await client.get(PODS, "p", "ns")
        await client.patch(PODS, "p", {"a": 1}, "ns", kind="apply")
        await client.delete(PODS, "p", "ns", uid="u", propagation_policy="Background")
        assert wire.connections == 1
    read, applied, deleted = seen
    assert (read.method, read.path) == ("GET", "/api/v1/namespaces/ns/pods/p")
    assert read.headers["authorization"] == "bearer t"
    assert read.headers["user-agent"].startswith("fairlead/")
    assert "accept-encoding" not in read.headers
    assert applied.query == {"fieldManager": "me", "force": "true"}
    assert applied.headers["content-type"] == "application/apply-patch+yaml"
    assert applied.body == b'{"a":1}'
    options = msgspec.json.decode(deleted.body)
    assert options["preconditions"] == {"uid": "u"}
    assert options["propagationPolicy"] == "Background"


async def test_a_throttled_call_is_repeated_whatever_it_is() -> None:
    async def script(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            await peer.answer(b"slow down", 429, "Retry-After: 0")
        await peer.request()
        await peer.answer(b'{"done":true}', 201)

    async with Wire(script) as wire, Client(wire.access) as client:
        assert await client.create(PODS, {}, "ns") == {"done": True}


async def test_a_call_that_is_always_throttled_fails() -> None:
    requests = 0

    async def script(peer: Peer) -> None:
        nonlocal requests
        while True:
            await peer.request()
            requests += 1
            await peer.answer(b"slow down", 429, "Retry-After: 0")

    async with Wire(script) as wire, Client(wire.access) as client:
        with pytest.raises(errors.TooManyRequests):
            await client.create(PODS, {}, "ns")
    assert requests == 5


async def test_a_pause_longer_than_the_deadline_is_not_waited_for() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"slow down", 429, "Retry-After: 60")

    async with Wire(script) as wire, Client(wire.access, timeout=5) as client:
        with pytest.raises(errors.TooManyRequests) as caught:
            await client.create(PODS, {}, "ns")
    assert caught.value.retry_after == 60


async def test_a_blocked_eviction_is_not_repeated() -> None:
    requests = 0

    async def script(peer: Peer) -> None:
        nonlocal requests
        while True:
            await peer.request()
            requests += 1
            await peer.answer(b"budget", 429)

    async with Wire(script) as wire, Client(wire.access) as client:
        with pytest.raises(errors.TooManyRequests):
            await client.evict("ns", "p")
    assert requests == 1


async def test_a_read_is_repeated_after_a_reset_and_a_write_is_not() -> None:
    async def hang_up(peer: Peer) -> None:
        await peer.request()
        peer.reset()

    async def serve(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.answer(b'{"here":true}')

    async with Wire(hang_up, serve) as wire, Client(wire.access) as client:
        assert await client.get(PODS, "p", "ns") == {"here": True}
    async with Wire(hang_up, serve) as wire, Client(wire.access) as client:
        with pytest.raises(errors.Unreachable) as caught:
            await client.create(PODS, {}, "ns")
        assert caught.value.written
        assert "/api/v1/namespaces/ns/pods" in str(caught.value)
        assert wire.connections == 1


async def test_a_call_has_a_deadline() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.closed()

    async with Wire(script) as wire, Client(wire.access) as client:
        with pytest.raises(errors.Unreachable, match="no answer in time") as caught:
            await client.within(0.05).create(PODS, {}, "ns")
        assert caught.value.written
        with pytest.raises(errors.Unreachable) as caught:
            await client.within(0.05).get(PODS, "p", "ns")
        assert not caught.value.written


async def test_half_an_answer_is_none() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        peer.reset()

    async with Wire(script) as wire, Client(wire.access) as client:
        with pytest.raises(errors.Unreachable):
            await client.get(PODS, "p", "ns")
        assert wire.connections == 5


@pytest.mark.parametrize("data", [b"garbage\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x46"])
async def test_garbage_is_no_answer(data: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(data)

    async with Wire(script) as wire, Client(wire.access) as client:
        with pytest.raises(errors.Unreachable):
            await client.create(PODS, {}, "ns")


async def test_an_answer_that_is_not_json_is_said_to_be_none() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"<html>")

    async with Wire(script) as wire, Client(wire.access) as client:
        with pytest.raises(errors.Undecodable) as caught:
            await client.get(PODS, "p", "ns")
    assert caught.value.data == b"<html>"


async def test_nobody_there() -> None:
    async with Wire(_never) as wire:
        access = wire.access
    async with Client(access) as client:
        with pytest.raises(errors.Unreachable, match="connection refused; is it running"):
            await client.get(PODS, "p", "ns")


async def test_a_redirect_is_not_followed() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"", 302, "Location: http://elsewhere.invalid/")

    async with Wire(script) as wire, Client(wire.access) as client:
        with pytest.raises(errors.ApiError) as caught:
            await client.get(PODS, "p", "ns")
    assert caught.value.status == 302


async def test_pages_become_one_list() -> None:
    seen: list[dict[str, str]] = []

    async def script(peer: Peer) -> None:
        for data in (page("a", "b", token="x/y="), page("c")):
            seen.append((await peer.request()).query)
            await peer.answer(data)

    async with Wire(script) as wire, Client(wire.access) as client:
        found = await client.list(PODS, label_selector="a in (b, c)")
    assert [item["metadata"]["name"] for item in found["items"]] == ["a", "b", "c"]
    assert found["metadata"] == {"resourceVersion": "7"}
    assert seen[0] == {"limit": "500", "labelSelector": "a in (b, c)"}
    assert seen[1] == {**seen[0], "continue": "x/y="}


async def test_pages_that_expire_become_one_unpaged_list() -> None:
    seen: list[dict[str, str]] = []

    async def script(peer: Peer) -> None:
        for status, data in ((200, page("a", token="x")), (410, expired()), (200, page("a", "b"))):
            seen.append((await peer.request()).query)
            await peer.answer(data, status)

    async with Wire(script) as wire, Client(wire.access) as client:
        found = await client.list(PODS)
    assert len(found["items"]) == 2
    assert seen[-1] == {}


async def test_a_list_of_nothing_is_empty() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(page())

    async with Wire(script) as wire, Client(wire.access) as client:
        assert (await client.list(PODS))["items"] == []


async def test_a_closed_client_says_so() -> None:
    client = Client(await _access())
    with pytest.raises(errors.KubeError, match="async with"):
        await client.get(PODS, "p", "ns")


async def _access() -> ClusterAccess:
    async with Wire(_never) as wire:
        return wire.access


async def _never(peer: Peer) -> None:
    await asyncio.Event().wait()
