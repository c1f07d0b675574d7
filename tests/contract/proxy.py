"""A TCP proxy in front of an API server whose connections a test can cut."""

from __future__ import annotations

import asyncio
from typing import Self

import msgspec

from fairlead.kube.access import ClusterAccess


class Proxy:
    """Passes bytes both ways; `cut` resets every connection that is open now."""

    def __init__(self, access: ClusterAccess) -> None:
        self._target = access
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        scheme = self._target.url.scheme
        self.access = msgspec.structs.replace(
            self._target, server=f"{scheme}://127.0.0.1:{port}{self._target.prefix}"
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        self._server.close()
        await self.cut()

    async def cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        far_reader, far_writer = await asyncio.open_connection(self._target.host, self._target.port)
        self._writers.add(far_writer)
        if self._closed:
            far_writer.transport.abort()
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.transport.abort()
            self._writers.discard(sink)
