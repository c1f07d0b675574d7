"""A proxy in front of an API server that loses requests and answers, as a bad network does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from enum import Enum
from typing import Self

from fairlead.kube.access import ClusterAccess

LENGTH = re.compile(rb"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)


class Fault(Enum):
    """What becomes of one request."""

    LOSE_REQUEST = "it never arrives, and the connection breaks"
    LOSE_ANSWER = "it is carried out, and the connection breaks before the answer"


Rule = Callable[[str, str], Fault | None]
"""Is asked with method and path of each request."""


class Faults:
    """Passes everything on, but for what `rule` says; while `down`, it lets nobody in."""

    def __init__(self, server: str) -> None:
        self.rule: Rule = lambda _method, _path: None
        self.down = False
        self.turned_away = 0
        self._target = ClusterAccess(server=server)
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.access = ClusterAccess(server=f"http://127.0.0.1:{port}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.down = True
        await self.cut()

    async def cut(self) -> None:
        """Break every connection that is open now."""
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.down:
            self.turned_away += 1
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        far_reader, far_writer = await asyncio.open_connection(self._target.host, self._target.port)
        both = (writer, far_writer)
        self._writers.update(both)
        if self.down:
            writer.transport.abort()
        lost = asyncio.Event()
        try:
            await asyncio.gather(
                self._requests(reader, far_writer, lost), self._answers(far_reader, writer, lost)
            )
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            for each in both:
                each.transport.abort()
                self._writers.discard(each)

    async def _requests(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, lost: asyncio.Event
    ) -> None:
        while True:
            head = await source.readuntil(b"\r\n\r\n")
            length = LENGTH.search(head)
            body = await source.readexactly(int(length[1])) if length else b""
            method, path, _ = head.split(b" ", 2)
            fault = self.rule(method.decode(), path.decode())
            if fault is Fault.LOSE_REQUEST:
                raise ConnectionResetError
            if fault is Fault.LOSE_ANSWER:
                lost.set()
            sink.write(head + body)
            await sink.drain()

    async def _answers(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, lost: asyncio.Event
    ) -> None:
        while data := await source.read(1 << 16):
            if lost.is_set():
                break
            sink.write(data)
            await sink.drain()
        raise ConnectionResetError
