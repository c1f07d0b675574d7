"""One connection of the lean path, and the request that it carries; `pipeline` owns them all."""

import asyncio
from collections.abc import Callable
from typing import cast

from fairlead.kube.errors import Unreachable
from fairlead.kube.response import Answer, MalformedError, ResponseParser

Done = Callable[[int, bytes], None]
Failed = Callable[[Unreachable], None]


class Request:
    """What waits in the queue, or is under way on one connection."""

    __slots__ = ("body", "content_type", "done", "failed", "method", "path", "since")

    def __init__(
        self, method: str, path: str, body: bytes, content_type: str, done: Done, failed: Failed
    ) -> None:
        self.method = method
        self.path = path
        self.body = body
        self.content_type = content_type
        self.done = done
        self.failed = failed
        self.since = 0.0


class Connection(asyncio.Protocol):
    """One kept-alive connection, with at most one request under way."""

    __slots__ = (
        "_answered",
        "_connected",
        "_ended",
        "_lost",
        "_parser",
        "request",
        "since",
        "transport",
    )

    def __init__(
        self,
        connected: "Callable[[Connection], None]",
        answered: "Callable[[Connection, Request, Answer], None]",
        lost: "Callable[[Connection, Exception | None], None]",
        ended: "Callable[[Connection], None]",
    ) -> None:
        self._connected = connected
        self._answered = answered
        self._lost = lost
        self._ended = ended
        self.request: Request | None = None
        self.since = 0.0  # of the request under way, or of the silence
        self.transport: asyncio.Transport | None = None
        self._parser = ResponseParser()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self._connected(self)

    def write(self, request: Request, data: bytes, now: float) -> None:
        assert self.transport is not None
        self.request = request
        self.since = now
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        request = self.request
        try:
            answer = self._parser.feed(data)
        except MalformedError as error:
            self._lost(self, error)
            return
        if request is None:
            self._lost(self, None)  # nobody asked: whatever this is, it is no answer
        elif answer is not None:
            self.request = None
            self._answered(self, request, answer)

    def connection_lost(self, exc: Exception | None) -> None:
        request = self.request
        if exc is None and request is not None and (answer := self._parser.end()) is not None:
            self.request = None
            self._answered(self, request, answer)
        else:
            self._lost(self, exc)
        self._ended(self)
