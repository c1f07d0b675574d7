"""A watch that never ends: it lists, watches and resumes, and its reader sees none of it.

The reader gets five kinds of events with one promise each (the shape is kube-rs's):

    INIT         a new list begins; what was known before is void once INIT_DONE has come
    INIT_APPLY   an object of that list; there is none outside of INIT … INIT_DONE
    INIT_DONE    the list is whole: what was not in it does not exist
    APPLY        an object as it is now, new or changed
    DELETE       an object as it was last

    EMPTY ──list──▶ WATCHING ──stream ends or breaks──▶ WATCHING, from the last version
      ▲                 │
      └─ 410, or the server no longer makes sense ─┘

The first list and every later one is a consistent read: `resourceVersion=0` may go back in time
(kubernetes#59848). Silence is not health: a server that has seen a change sends a bookmark about
once a minute, so 70 seconds without a byte may mean a dead connection, and the watch is opened
anew; on a quiet resource that costs one request.

Reads: one resource of the API server. Writes: nothing.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from typing import Any, Literal, NamedTuple

import aiohttp
import msgspec
from msgspec import Raw, Struct

from fairlead.kube.client import Client
from fairlead.kube.errors import (
    UNREADABLE,
    ApiError,
    Gone,
    KubeError,
    ServerError,
    TooManyRequests,
    Undecodable,
    Unreachable,
    error_from_response,
    error_from_status,
    unreachable,
)
from fairlead.kube.lines import Lines
from fairlead.kube.resource import Resource

IDLE = 70.0
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0


class Kind(Enum):
    """What a `WatchEvent` says; the module's docstring holds the promises."""

    INIT = "INIT"
    INIT_APPLY = "INIT_APPLY"
    INIT_DONE = "INIT_DONE"
    APPLY = "APPLY"
    DELETE = "DELETE"


class State(Enum):
    """Where the machine stands: without a list, or with one that a watch keeps true."""

    EMPTY = "Empty"
    WATCHING = "Watching"


class WatchEvent(NamedTuple):
    """One step of what the reader must know; `object` is None for INIT and INIT_DONE."""

    kind: Kind
    object: Any = None


Step = Literal["list", "watch", "decode"]
Deliver = Callable[[list[WatchEvent]], None]
DecodeEvent = Callable[[bytes], tuple[str, object]]


class _Envelope(Struct, gc=False):
    type: str
    object: Raw


class _ListMeta(Struct, rename="camel", gc=False):
    resource_version: str = ""


class _Page(Struct, gc=False):
    metadata: _ListMeta
    items: list[Raw] | None = None


class _Versioned(Struct, gc=False):
    metadata: _ListMeta


class _VersionedEvent(Struct, gc=False):
    object: _Versioned


_KINDS = {"ADDED": Kind.APPLY, "MODIFIED": Kind.APPLY, "DELETED": Kind.DELETE}
_envelope = msgspec.json.Decoder(_Envelope).decode
_page = msgspec.json.Decoder(_Page).decode
_versioned_event = msgspec.json.Decoder(_VersionedEvent).decode


def _ignore(step: Step, error: KubeError) -> None:
    """Retrying is the watch's business; who wants a line in the log passes `on_error`."""


@dataclass
class Watch:
    """Keeps a reader told about one resource: `await Watch(client, PODS, deliver).run()`.

    `deliver` is called synchronously with batches, so nothing can come between two events.
    Objects are bytes, or what `decode` makes of them; `decode_event` makes a line into (type,
    object) in one go, for resources whose events are many. `on_error` hears of each failure once,
    with the step; the watch goes on unless `on_error` itself raises, which ends `run`.
    """

    client: Client
    resource: Resource
    deliver: Deliver
    _: KW_ONLY
    namespace: str | None = None
    field_selector: str | None = None
    label_selector: str | None = None
    decode: Callable[[bytes], object] | None = None
    decode_event: DecodeEvent | None = None
    on_error: Callable[[Step, KubeError], None] = _ignore
    idle: float = IDLE
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    state: State = field(default=State.EMPTY, init=False)
    _version: str = field(default="", init=False)
    _last_line: bytes | None = field(default=None, init=False)
    _failures: int = field(default=0, init=False)

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            step: Step = "list" if self.state is State.EMPTY else "watch"
            try:
                if self.state is State.EMPTY:
                    await self._list()
                else:
                    await self._follow()
            except KubeError as error:
                if step == "watch" and not _resumable(error):
                    self.state = State.EMPTY
                self._failures += 1
                if not (isinstance(error, Gone) and self._failures == 1):
                    # The first 410 is ordinary life: history has a length, and we list again.
                    self.on_error(step, error)
                    await self.sleep(self._pause(error))

    @property
    def resource_version(self) -> str:
        """The version up to which the reader has been told everything.

        It is read from the last line when somebody asks, not from every line: only the last counts.
        """
        if self._last_line is not None:
            try:
                self._version = _versioned_event(self._last_line).object.metadata.resource_version
            except UNREADABLE as error:
                raise Undecodable(
                    f"an event without a version: {error}", self._last_line
                ) from error
            finally:
                self._last_line = None
        return self._version

    def _pause(self, error: KubeError) -> float:
        """Exponential, and jittered so that the watches of one process do not return in step.

        Only a stream that told something ends the series: a list that succeeds does not, or a
        server whose watches always answer 410 would be asked for lists without a pause.
        """
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self._failures - 1, 10))
        asked = error.retry_after if isinstance(error, ApiError) else None
        return max(random.uniform(longest / 2, longest), asked or 0.0)

    async def _list(self) -> None:
        """Delivers a whole list; when its pages expire on the way, once more and unpaged."""
        selectors = {"fieldSelector": self.field_selector, "labelSelector": self.label_selector}
        try:
            version = await self._list_pages(selectors)
        except Gone:
            version = await self._list_pages({**selectors, "limit": None})
        self._version, self._last_line = version, None
        self.state = State.WATCHING
        self.deliver([WatchEvent(Kind.INIT_DONE)])

    async def _list_pages(self, params: Mapping[str, str | int | bool | None]) -> str:
        version = ""
        batch = [WatchEvent(Kind.INIT)]
        async for data in self.client.pages(self.resource, self.namespace, params=params):
            try:
                page = _page(data)
            except UNREADABLE as error:
                raise Undecodable(f"a list is not what it should be: {error}", data) from error
            version = page.metadata.resource_version
            for item in page.items or ():
                # Copied out of the page: a reader that keeps parts of an object keeps that much.
                self._append(batch, Kind.INIT_APPLY, bytes(item))
            self.deliver(batch)
            batch = []
        return version

    async def _follow(self) -> None:
        """Reads one stream to its end; a clean end that told something is no failure."""
        version = self.resource_version
        if not version:
            raise Undecodable(f"{self.resource}: the server named no resourceVersion")
        params = {
            "watch": True,
            "allowWatchBookmarks": True,
            "resourceVersion": version,
            # Spread, or the watches of all clients would come back at the same moment.
            "timeoutSeconds": random.randint(300, 600),
            "fieldSelector": self.field_selector,
            "labelSelector": self.label_selector,
        }
        path = self.resource.path(self.namespace)
        url = f"{self.client.access.server}{path}?watch=true"
        opened = asyncio.get_running_loop().time()
        told, is_open = False, False
        try:
            async with self.client.stream(path, params, self.idle) as response:
                if response.status != 200:
                    body = await response.read()
                    retry_after = response.headers.get("Retry-After")
                    raise error_from_response(response.status, body, retry_after)
                lines, is_open = Lines(), True
                async for chunk in response.content.iter_any():
                    if self._take(lines.feed(chunk)):
                        told, self._failures = True, 0
        except TimeoutError as error:
            if not is_open:
                raise unreachable(url, error) from error
            self._failures = 0
            return  # the version is kept, and a new connection asks from there
        except (aiohttp.ClientError, ConnectionError) as error:
            raise unreachable(url, error) from error
        if not told and asyncio.get_running_loop().time() - opened < 1:
            raise Unreachable(f"the watch of {url} ended at once without a word")

    def _take(self, lines: list[bytes]) -> bool:
        """Delivers the events of these lines as one batch; what came before an error is kept."""
        batch: list[WatchEvent] = []
        try:
            for line in lines:
                self._read(batch, line)
                self._last_line = line
        finally:
            if batch:
                self.deliver(batch)
        return bool(lines)

    def _read(self, batch: list[WatchEvent], line: bytes) -> None:
        if self.decode_event is not None:
            try:
                word, obj = self.decode_event(line)
            except UNREADABLE:
                word = ""  # told apart below: an ERROR, an object that is no such object, garbage
                obj = None
            kind = _KINDS.get(word)
            if kind is not None:
                batch.append(WatchEvent(kind, obj))
                return
            if word == "BOOKMARK":
                return
        try:
            envelope = _envelope(line)
        except UNREADABLE as error:
            raise Undecodable(f"a line of a watch is no event: {error}", line) from error
        if envelope.type == "BOOKMARK":
            return
        if envelope.type == "ERROR":
            raise _error_of(envelope)
        kind = _KINDS.get(envelope.type)
        if kind is None:
            raise Undecodable(f"an event of the unknown type {envelope.type!r}", line)
        self._append(batch, kind, bytes(envelope.object))

    def _append(self, batch: list[WatchEvent], kind: Kind, data: bytes) -> None:
        """Adds an object as the reader wants it; one that cannot be read is told and skipped."""
        if self.decode is None and self.decode_event is None:
            batch.append(WatchEvent(kind, data))
            return
        try:
            obj = self._decoded(data)
        except UNREADABLE as error:
            failure = Undecodable(f"{self.resource.kind} {_name(data)} is skipped: {error}", data)
            failure.__cause__ = error
            self.on_error("decode", failure)
            return
        batch.append(WatchEvent(kind, obj))

    def _decoded(self, data: bytes) -> object:
        if self.decode is not None:
            return self.decode(data)
        assert self.decode_event is not None
        # With an event decoder alone, a list's item is put into the envelope that it lacks.
        return self.decode_event(b'{"type":"ADDED","object":' + data + b"}")[1]


def _resumable(error: KubeError) -> bool:
    """Whether the version is still good: the server may be away or busy, it has not forgotten.

    An `Undecodable` line is not: asked again from the same version, the same line would come.
    """
    return isinstance(error, Unreachable | TooManyRequests | ServerError)


def _error_of(envelope: _Envelope) -> ApiError | Undecodable:
    try:
        status = msgspec.json.decode(envelope.object)
    except UNREADABLE as error:
        return Undecodable(f"an ERROR event without a Status: {error}", bytes(envelope.object))
    if not isinstance(status, dict):
        return Undecodable("an ERROR event without a Status", bytes(envelope.object))
    return error_from_status(status)


def _name(data: bytes) -> str:
    """Namespace and name of an object that cannot be read as a whole, if that much can be."""
    try:
        metadata = msgspec.json.decode(data)["metadata"]
        return "/".join(str(metadata[key]) for key in ("namespace", "name") if key in metadata)
    except (*UNREADABLE, LookupError, TypeError):
        return "of unknown name"
