"""The embedded API behind a socket: aiohttp's plain server, one handler."""

from __future__ import annotations

from aiohttp import web

from fairlead.lab.apiserver import ApiServer
from fairlead.lab.http import Reply, Request, Stream
from fairlead.lab.watchhub import Watch

GRACE_SECONDS = 1.0


class HttpServer:
    """One API on one address."""

    def __init__(self, api: ApiServer) -> None:
        """A server that is not listening yet."""
        self._api = api
        self._watches: set[Watch] = set()
        self._runner: web.ServerRunner | None = None

    async def listen(self, host: str, port: int) -> int:
        """Take requests on `port` (0: a free one) and say which; OSError if it is in use."""
        server = web.Server(self._handle, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=GRACE_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        return runner.addresses[0][1]

    async def close(self) -> None:
        """End all watches as if their time were up, and stop to listen."""
        for watch in tuple(self._watches):
            watch.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = self._api.answer(
            Request(
                method=request.method,
                path=request.path,
                query=dict(request.query),
                body=await request.read(),
                content_type=request.headers.get("Content-Type", "application/json"),
                accept=request.headers.get("Accept", "application/json"),
            )
        )
        if isinstance(answer, Reply):
            headers = {"Content-Type": answer.content_type}
            return web.Response(status=answer.code, body=answer.body, headers=headers)
        return await self._stream(request, answer)

    async def _stream(self, request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
        """Send a watch as it grows, until its end or the client's."""
        response = web.StreamResponse(headers={"Content-Type": stream.content_type})
        response.enable_chunked_encoding()
        self._watches.add(stream.watch)
        try:
            await response.prepare(request)
            async for chunk in stream.watch.chunks():
                await response.write(chunk)
            await response.write_eof()
        except ConnectionError:
            request.protocol.close()
        finally:
            self._watches.discard(stream.watch)
            stream.watch.close()
        return response
