"""A server that says exactly what a test tells it to, byte by byte, and hangs up when told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from fairlead.kube.access import ClusterAccess

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


class Request(NamedTuple):
    """What came over the wire."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Peer:
    """One connection, seen from the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def request(self) -> Request:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await self._reader.readexactly(int(headers.get("content-length", 0)))
        url = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        return Request(method, url.path, query, headers, body)

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self, body: bytes = b"{}", status: int = 200, *headers: str) -> None:
        more = "".join(f"{header}\r\n" for header in headers)
        head = f"HTTP/1.1 {status} X\r\n{more}Content-Length: {len(body)}\r\n\r\n"
        await self.send(head.encode() + body)

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def closed(self) -> None:
        """Waits until the other side has hung up."""
        while await self._reader.read(1 << 16):
            pass

    def reset(self) -> None:
        self._writer.transport.abort()


Script = Callable[[Peer], Awaitable[None]]


class Wire:
    """Plays one script for each connection in turn, the last one for all that follow."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        self._more = asyncio.Event()
        self.problems: list[Exception] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 24)
        port = self._server.sockets[0].getsockname()[1]
        self.access = ClusterAccess(server=f"http://127.0.0.1:{port}", token="t", source="test")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)
        assert not self.problems

    def stop(self) -> None:
        """Refuses connections from now on."""
        self._server.close()

    async def restart(self) -> None:
        """Hangs up on everybody, and listens again on the same port after a while."""
        self.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.sleep(0.1)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.access.port)

    async def connected(self, count: int) -> None:
        """Waits until so many connections have come."""
        while self.connections < count:
            self._more.clear()
            await self._more.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        self._more.set()
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        try:
            await script(Peer(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client hung up, or the test is over
        except Exception as error:  # noqa: BLE001 - it must fail the test, not the server's task
            self.problems.append(error)
        finally:
            writer.close()
