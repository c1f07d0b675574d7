"""What the watch relies on, asked of both API servers, and what its reader is promised."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from fairlead.kube.client import Client
from fairlead.kube.errors import Gone, KubeError, Unreachable
from fairlead.kube.resource import EVENTS, PODS, Resource
from fairlead.kube.watching import Kind, State, Watch, WatchEvent
from tests.contract.api import Api
from tests.contract.proxy import Proxy


class Meta(msgspec.Struct):
    name: str


class Pod(msgspec.Struct):
    metadata: Meta


class PodEvent(msgspec.Struct):
    type: str
    object: Pod


class Reader:
    """Keeps what a watch delivers, and can wait until something is true of it."""

    def __init__(self) -> None:
        self.events: list[WatchEvent] = []
        self.objects: dict[str, dict[str, Any]] = {}
        self.problems: list[tuple[str, KubeError]] = []
        self._changed = asyncio.Event()
        self._listing: dict[str, dict[str, Any]] | None = None

    def deliver(self, events: list[WatchEvent]) -> None:
        self.events += events
        for kind, data in events:
            if kind is Kind.INIT:
                self._listing = {}
            elif kind is Kind.INIT_DONE:
                assert self._listing is not None
                self.objects, self._listing = self._listing, None
            else:
                self._store(kind, msgspec.json.decode(data))
        self._changed.set()

    def _store(self, kind: Kind, obj: dict[str, Any]) -> None:
        name = obj["metadata"]["name"]
        if kind is Kind.INIT_APPLY:
            assert self._listing is not None, "INIT_APPLY outside of a list"
            self._listing[name] = obj
            return
        assert self._listing is None, f"{kind} inside of a list"
        if kind is Kind.APPLY:
            self.objects[name] = obj
        else:
            del self.objects[name]

    def problem(self, step: str, error: KubeError) -> None:
        self.problems.append((step, error))
        self._changed.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not true():
                self._changed.clear()
                await self._changed.wait()

    def versions(self) -> dict[str, str]:
        return {name: obj["metadata"]["resourceVersion"] for name, obj in self.objects.items()}

    def count(self, kind: Kind) -> int:
        return sum(event.kind is kind for event in self.events)


@asynccontextmanager
async def watching(
    client: Client, resource: Resource, namespace: str, **options: Any
) -> AsyncIterator[tuple[Reader, Watch]]:
    reader = Reader()
    watch = Watch(
        client,
        resource,
        reader.deliver,
        namespace=namespace,
        on_error=reader.problem,
        **options,
    )
    task = asyncio.create_task(watch.run())
    try:
        await reader.until(lambda: reader.count(Kind.INIT_DONE) > 0 or task.done())
        yield reader, watch
        assert not task.done(), "the watch ended by itself"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_the_reader_is_told_of_what_is_there_and_of_what_happens(api: Api) -> None:
    await api.pod("first")
    async with watching(api.client, PODS, api.namespace) as (reader, _):
        assert set(reader.objects) == {"first"}
        assert [event.kind for event in reader.events] == [
            Kind.INIT,
            Kind.INIT_APPLY,
            Kind.INIT_DONE,
        ]
        await api.pod("second")
        await reader.until(lambda: "second" in reader.objects)
        patch = {"metadata": {"labels": {"x": "y"}}}
        await api.client.patch(PODS, "second", patch, api.namespace)
        await reader.until(lambda: "labels" in reader.objects["second"]["metadata"])
        await api.client.delete(PODS, "first", api.namespace)
        await reader.until(lambda: "first" not in reader.objects)
        assert reader.objects["second"] == await api.get(PODS, "second")
    assert not reader.problems


async def test_an_empty_list_is_a_list(api: Api) -> None:
    async with watching(api.client, PODS, api.namespace) as (reader, _):
        assert [event.kind for event in reader.events] == [Kind.INIT, Kind.INIT_DONE]
        await api.pod("first")
        await reader.until(lambda: "first" in reader.objects)


async def test_a_pod_that_leaves_the_selection_is_deleted_from_it(api: Api) -> None:
    node = await api.node()
    await api.pod("p")
    async with watching(api.client, PODS, api.namespace, field_selector="spec.nodeName=") as (
        reader,
        _,
    ):
        assert set(reader.objects) == {"p"}
        await api.client.bind(api.namespace, "p", node)
        await reader.until(lambda: not reader.objects)
        assert reader.events[-1].kind is Kind.DELETE


async def test_a_pod_that_enters_the_selection_is_added_to_it(api: Api) -> None:
    node = await api.node()
    await api.pod("p")
    selector = f"spec.nodeName={node}"
    async with watching(api.client, PODS, api.namespace, field_selector=selector) as (reader, _):
        assert not reader.objects
        await api.client.bind(api.namespace, "p", node)
        await reader.until(lambda: "p" in reader.objects)
        assert reader.objects["p"]["spec"]["nodeName"] == node


async def test_labels_select_too(api: Api) -> None:
    await api.pod("mine", labels={"app": "a"})
    await api.pod("theirs", labels={"app": "b"})
    async with watching(api.client, PODS, api.namespace, label_selector="app=a") as (reader, _):
        assert set(reader.objects) == {"mine"}
        body = {"metadata": {"labels": {"app": "b"}}}
        await api.client.patch(PODS, "mine", body, api.namespace)
        await reader.until(lambda: not reader.objects)


async def test_a_broken_connection_is_resumed_without_a_new_list(api: Api) -> None:
    async with (
        Proxy(api.client.access) as proxy,
        Client(proxy.access) as behind,
        watching(behind, PODS, api.namespace) as (reader, _),
    ):
        for number in range(3):
            await proxy.cut()
            await api.pod(f"p-{number}")
            await reader.until(lambda name=f"p-{number}": name in reader.objects)
        assert reader.count(Kind.INIT) == 1
        pods = [msgspec.json.decode(event.object) for event in reader.events[2:]]
        assert [pod["metadata"]["name"] for pod in pods] == ["p-0", "p-1", "p-2"]
        assert all(isinstance(error, Unreachable) for _, error in reader.problems)
        assert reader.problems


async def test_whatever_is_cut_the_reader_ends_with_what_is_there(api: Api) -> None:
    rng = random.Random(7)
    living: set[str] = set()
    async with (
        Proxy(api.client.access) as proxy,
        Client(proxy.access) as behind,
        watching(behind, PODS, api.namespace) as (reader, _),
    ):
        for number in range(80):
            if rng.random() < 0.15:
                await proxy.cut()
            choice = rng.choice(["create", "create", "label", "delete"])
            if choice == "create" or not living:
                await api.pod(f"p-{number}")
                living.add(f"p-{number}")
                continue
            name = rng.choice(sorted(living))
            if choice == "label":
                body = {"metadata": {"labels": {"n": str(number)}}}
                await api.client.patch(PODS, name, body, api.namespace)
            else:
                await api.client.delete(PODS, name, api.namespace)
                living.discard(name)
        found = (await api.client.list(PODS, api.namespace))["items"]
        wanted = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in found}
        assert set(wanted) == living
        await reader.until(lambda: reader.versions() == wanted)
        assert reader.count(Kind.INIT) == 1


async def test_silence_opens_the_watch_anew_and_loses_nothing(api: Api) -> None:
    async with watching(api.client, PODS, api.namespace, idle=0.3) as (reader, watch):
        before = watch.resource_version
        await asyncio.sleep(1.0)
        await api.pod("p")
        await reader.until(lambda: "p" in reader.objects)
        assert reader.count(Kind.INIT) == 1
        assert not reader.problems
        assert int(watch.resource_version) > int(before)


async def test_a_version_that_the_server_has_forgotten_means_a_new_list(
    api: Api, forget_history: Callable[[Resource], None]
) -> None:
    # Events, since a real server answers watches of them from etcd and not from a cache.
    await _event(api, "early")
    old = (await api.client.list(EVENTS, api.namespace))["metadata"]["resourceVersion"]
    for name in ("second", "third"):
        await _event(api, name)
    forget_history(EVENTS)
    reader = Reader()
    watch = Watch(
        api.client, EVENTS, reader.deliver, namespace=api.namespace, on_error=reader.problem
    )
    watch.state, watch._version = State.WATCHING, old
    task = asyncio.create_task(watch.run())
    try:
        await reader.until(lambda: reader.count(Kind.INIT_DONE) > 0)
        assert set(reader.objects) == {"early", "second", "third"}
        await _event(api, "late")
        await reader.until(lambda: "late" in reader.objects)
        assert reader.count(Kind.INIT) == 1
        assert not reader.problems
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_page_of_a_forgotten_version_is_gone(
    api: Api, forget_history: Callable[[Resource], None]
) -> None:
    for number in range(4):
        await _event(api, f"event-{number}")
    pages = api.client.pages(EVENTS, api.namespace, params={"limit": 2})
    await anext(pages)
    await _event(api, "event-4")
    forget_history(EVENTS)
    with pytest.raises(Gone) as caught:
        await anext(pages)
    assert caught.value.reason == "Expired"


async def test_a_typed_decoder_sees_each_event_once(api: Api) -> None:
    event, pod = msgspec.json.Decoder(PodEvent), msgspec.json.Decoder(Pod)
    lines: list[bytes] = []

    def decode_event(line: bytes) -> tuple[str, object]:
        lines.append(line)
        decoded = event.decode(line)
        return decoded.type, decoded.object

    await api.pod("a")
    seen: list[WatchEvent] = []
    changed = asyncio.Event()

    def deliver(events: list[WatchEvent]) -> None:
        seen.extend(events)
        changed.set()

    watch = Watch(
        api.client,
        PODS,
        deliver,
        namespace=api.namespace,
        decode=pod.decode,
        decode_event=decode_event,
    )
    task = asyncio.create_task(watch.run())
    try:
        async with asyncio.timeout(20):
            while Kind.INIT_DONE not in [event.kind for event in seen]:
                await changed.wait()
                changed.clear()
            await api.pod("b")
            while seen[-1].kind is not Kind.APPLY:
                await changed.wait()
                changed.clear()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [e.object.metadata.name for e in seen if e.object is not None] == ["a", "b"]
    assert len(lines) == 1


async def _event(api: Api, name: str) -> None:
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": api.namespace},
        "eventTime": "2026-11-18T10:00:00.123456Z",
        "reportingController": "contract",
        "reportingInstance": "contract-1",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": api.namespace, "name": "pod", "uid": "u"},
    }
    await api.client.create(EVENTS, body, api.namespace)
