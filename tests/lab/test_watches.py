"""Watches over a socket: history, bookmarks, selectors, initial events, ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import msgspec
import pytest

from fairlead.lab.cluster import Cluster
from fairlead.lab.kubelet import Timing
from fairlead.lab.resources import resource_named
from tests.unit.lab.objects import bind, labelled, pod

PATH = "/api/v1/namespaces/default/pods"
Lines = list[dict[str, Any]]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(nodes=1, timing=Timing(start_seconds=3600)) as running:
        yield running


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


class Following:
    """An open watch, read line by line."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(10):
            return msgspec.json.decode(await self._response.content.readline())

    async def rest(self) -> Lines:
        async with asyncio.timeout(10):
            text = await self._response.read()
        return [msgspec.json.decode(line) for line in text.splitlines()]


Follow = Callable[..., Awaitable[Following]]


@pytest.fixture
async def follow(session: aiohttp.ClientSession) -> AsyncIterator[Follow]:
    """Open a watch; all are left behind at the test's end."""
    opened: list[aiohttp.ClientResponse] = []

    async def begin(cluster: Cluster, path: str = PATH, **query: str) -> Following:
        response = await session.get(cluster.server + path, params={"watch": "1"} | query)
        opened.append(response)
        assert response.status == 200
        return Following(response)

    yield begin
    for response in opened:
        response.close()


def told(lines: Lines) -> list[tuple[str, str]]:
    return [(each["type"], each["object"]["metadata"].get("name", "")) for each in lines]


async def test_a_watch_goes_on_where_a_list_ended(
    cluster: Cluster, session: aiohttp.ClientSession, follow: Follow
) -> None:
    cluster.create(pod("a"))
    async with session.get(cluster.server + PATH) as listed:
        revision = (await listed.json())["metadata"]["resourceVersion"]
    cluster.create(pod("b"))
    bind(cluster, "a", "node-1")
    watch = await follow(cluster, resourceVersion=revision)
    assert told([await watch.next(), await watch.next()]) == [("ADDED", "b"), ("MODIFIED", "a")]
    cluster.delete("pods", "b")
    event = await watch.next()
    assert told([event]) == [("DELETED", "b")]
    assert event["object"]["kind"] == "Pod"
    assert event["object"]["metadata"]["resourceVersion"] == str(cluster.store.revision)


async def test_a_watch_without_a_revision_begins_with_what_is_there(
    cluster: Cluster, follow: Follow
) -> None:
    cluster.create(pod("a"))
    watch = await follow(cluster, timeoutSeconds="1")
    assert told(await watch.rest()) == [("ADDED", "a")]


async def test_a_forgotten_revision_is_an_error_event(cluster: Cluster, follow: Follow) -> None:
    first = cluster.create(pod("a"))["metadata"]["resourceVersion"]
    cluster.create(pod("b"))
    cluster.store.forget_history(resource_named("pods"))
    watch = await follow(cluster, resourceVersion=first)
    (only,) = await watch.rest()
    assert only["type"] == "ERROR"
    assert (only["object"]["code"], only["object"]["reason"]) == (410, "Expired")
    assert "too old resource version" in only["object"]["message"]


async def test_initial_events_end_with_a_bookmark(cluster: Cluster, follow: Follow) -> None:
    cluster.create(pod("a"))
    watch = await follow(
        cluster,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        timeoutSeconds="1",
    )
    added, bookmark = await watch.rest()
    assert told([added, bookmark]) == [("ADDED", "a"), ("BOOKMARK", "")]
    metadata = bookmark["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert metadata["resourceVersion"] == str(cluster.store.revision)


async def test_objects_enter_and_leave_a_selection(cluster: Cluster, follow: Follow) -> None:
    made = cluster.create(labelled(pod("a"), app="x"))
    watch = await follow(
        cluster, labelSelector="app=y", resourceVersion=str(cluster.store.revision)
    )
    entered = cluster.update(labelled(made, app="y"))
    assert told([await watch.next()]) == [("ADDED", "a")]
    left = cluster.update(labelled(entered, app="x"))
    event = await watch.next()
    assert told([event]) == [("DELETED", "a")]
    assert event["object"]["metadata"]["labels"] == {"app": "y"}
    revision = left["metadata"]["resourceVersion"]
    assert event["object"]["metadata"]["resourceVersion"] == revision


async def test_a_bound_pod_leaves_the_selection_of_unbound_ones(
    cluster: Cluster, follow: Follow
) -> None:
    cluster.create(pod("a"))
    watch = await follow(
        cluster, path="/api/v1/pods", fieldSelector="spec.nodeName=,metadata.name=a"
    )
    assert told([await watch.next()]) == [("ADDED", "a")]
    bind(cluster, "a", "node-1")
    assert told([await watch.next()]) == [("DELETED", "a")]


async def test_only_the_namespace_that_is_watched_is_told(cluster: Cluster, follow: Follow) -> None:
    watch = await follow(cluster, resourceVersion=str(cluster.store.revision))
    cluster.create(pod("other", namespace="kube-system"))
    cluster.create(pod("mine"))
    assert told([await watch.next()]) == [("ADDED", "mine")]


async def test_both_faces_of_events_see_the_same_write(cluster: Cluster, follow: Follow) -> None:
    now = str(cluster.store.revision)
    core = await follow(cluster, path="/api/v1/events", resourceVersion=now)
    path = "/apis/events.k8s.io/v1/events"
    new = await follow(cluster, path=path, resourceVersion=now)
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"},
            "message": "hello",
        }
    )
    first, second = (await core.next())["object"], (await new.next())["object"]
    assert (first["apiVersion"], first["message"]) == ("v1", "hello")
    assert (second["apiVersion"], second["note"]) == ("events.k8s.io/v1", "hello")


async def test_a_client_that_goes_away_is_forgotten(
    cluster: Cluster, session: aiohttp.ClientSession
) -> None:
    pods = cluster.store.shelf(resource_named("pods"))
    before = len(pods.subscribers)
    response = await session.get(cluster.server + PATH, params={"watch": "1"})
    assert len(pods.subscribers) == before + 1
    response.close()
    async with asyncio.timeout(10):
        while len(pods.subscribers) > before:
            cluster.create(pod(f"p{cluster.store.revision}"))
            await asyncio.sleep(0.01)


async def test_open_watches_end_with_the_cluster(follow: Follow) -> None:
    async with Cluster() as cluster:
        watch = await follow(cluster)
    assert await watch.rest() == []
