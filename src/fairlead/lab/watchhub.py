"""Watches: who sees which event, as what, and when a stream ends.

A watch with a selector sees an object enter its selection as ADDED and leave it as DELETED. An
event is encoded once for all plain watches; what waits for a slow reader is bounded, and a reader
that falls too far behind is cut off, as the real server does it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

import msgspec

from fairlead.lab.forms import shown_by
from fairlead.lab.objects import Object, key_of
from fairlead.lab.resources import Resource
from fairlead.lab.selectors import Test
from fairlead.lab.status import expired
from fairlead.lab.store import Entry, Event, Store

BACKLOG = 100_000
BOOKMARK_SECONDS = 60.0
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

Show = Callable[[Entry], bytes]


class Selection(msgspec.Struct, frozen=True):
    """Which objects a request is about."""

    namespace: str = ""
    test: Test | None = None

    def takes(self, value: Object) -> bool:
        """Whether the object is selected."""
        if self.namespace and value["metadata"].get("namespace") != self.namespace:
            return False
        return self.test is None or self.test(value)


class WatchOptions(msgspec.Struct, frozen=True):
    """What a watch request asks for besides its selection."""

    revision: int | None = None
    bookmarks: bool = False
    initial_events: bool | None = None
    seconds: float = 1800.0


class Watch:
    """One open watch; `chunks` yields what to send until time is up or the watch is closed."""

    def __init__(
        self,
        store: Store,
        resource: Resource,
        selection: Selection,
        options: WatchOptions,
        show: Show | None = None,
    ) -> None:
        """Begin to watch at once, so that no event between now and the first chunk is lost.

        `show` encodes an object in another way than the resource's own (tables).
        """
        self._store = store
        self._resource = resource
        self._selection = selection
        self._options = options
        self._show = show
        self._waiting: deque[bytes] = deque()
        self._ready = asyncio.Event()
        self._done = False
        self._leave = self._begin()

    def _begin(self) -> Callable[[], None]:
        revision, wants = self._options.revision, self._options.initial_events
        if wants or (wants is None and not revision):
            for entry in self._store.entries(self._resource, self._selection.namespace):
                if self._selection.takes(entry.object):
                    self._waiting.append(self._chunk("ADDED", entry, None))
            if wants or self._options.bookmarks:
                self._waiting.append(self._bookmark(initial=True))
        elif revision:
            events = self._store.since(self._resource, revision)
            if events is None:
                oldest = self._store.shelf(self._resource).forgotten
                refusal = expired(f"too old resource version: {revision} ({oldest})")
                self._waiting.append(_error(refusal.status))
                self._done = True
                self._ready.set()
                return lambda: None
            for event in events:
                self._take(event)
        if self._waiting:
            self._ready.set()
        return self._store.subscribe(self._resource, self._take)

    def _take(self, event: Event) -> None:
        if self._done:
            return
        kind, entry = event.type, event.entry
        if self._selection.test is None:
            namespace = self._selection.namespace
            if namespace and key_of(entry.object)[0] != namespace:
                return
        else:
            now = kind != "DELETED" and self._selection.takes(entry.object)
            before = event.previous is not None and self._selection.takes(event.previous.object)
            if now:
                kind = "MODIFIED" if before else "ADDED"
            elif before:
                entry = entry if kind == "DELETED" else _renumbered(event)
                kind = "DELETED"
            else:
                return
        self._waiting.append(self._chunk(kind, entry, event))
        self._ready.set()
        if len(self._waiting) > BACKLOG:
            self.close()

    def _chunk(self, kind: str, entry: Entry, event: Event | None) -> bytes:
        if self._show is not None:
            return b'{"type":"%s","object":%s}\n' % (kind.encode(), self._show(entry))
        shared = event is not None and entry is event.entry
        chunk = event.chunks.get((self._resource.group, kind)) if event and shared else None
        if chunk is None:
            body = entry.body(self._resource, shown_by(self._resource))
            chunk = b'{"type":"%s","object":%s}\n' % (kind.encode(), headed(self._resource, body))
            if event and shared:
                event.chunks[self._resource.group, kind] = chunk
        return chunk

    def _bookmark(self, initial: bool = False) -> bytes:
        metadata: Object = {"resourceVersion": str(self._store.revision)}
        if initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        body = msgspec.json.encode({"metadata": metadata})
        return b'{"type":"BOOKMARK","object":%s}\n' % headed(self._resource, body)

    async def chunks(self) -> AsyncIterator[bytes]:
        """What to send, joined as far as it has gathered."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._options.seconds
        bookmark = loop.time() + BOOKMARK_SECONDS if self._options.bookmarks else end
        try:
            while True:
                if self._waiting:
                    joined = b"".join(self._waiting)
                    self._waiting.clear()
                    yield joined
                    continue
                now = loop.time()
                if self._done or now >= end:
                    break
                if now >= bookmark:
                    bookmark = now + BOOKMARK_SECONDS
                    self._waiting.append(self._bookmark())
                    continue
                self._ready.clear()
                try:
                    async with asyncio.timeout_at(min(end, bookmark)):
                        await self._ready.wait()
                except TimeoutError:
                    continue
        finally:
            self.close()

    def close(self) -> None:
        """End the stream after what is gathered."""
        self._done = True
        self._leave()
        self._ready.set()


def headed(resource: Resource, body: bytes) -> bytes:
    """A body with kind and apiVersion before its fields."""
    return b'{"kind":"%s","apiVersion":"%s",%s' % (
        resource.kind.encode(),
        resource.api_version.encode(),
        body[1:],
    )


def _error(status: Object) -> bytes:
    return b'{"type":"ERROR","object":%s}\n' % msgspec.json.encode(status)


def _renumbered(event: Event) -> Entry:
    """The object as it was when it left a selection, under the revision at which it left."""
    assert event.previous is not None
    before = event.previous.object
    metadata = before["metadata"] | {"resourceVersion": str(event.revision)}
    return Entry(before | {"metadata": metadata}, event.revision)
