"""The embedded API behind a socket: aiohttp's plain server, one handler."""

from __future__ import annotations

from aiohttp import web

from fairlead.lab.apiserver import ApiServer
from fairlead.lab.http import Reply, Request

GRACE_SECONDS = 1.0


def handler_of(api: ApiServer) -> web.Server:
    """A server that hands every request to `api`; a watch is sent as it grows."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        answer = api.answer(
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
            return web.Response(
                status=answer.code, body=answer.body, headers={"Content-Type": answer.content_type}
            )
        response = web.StreamResponse(headers={"Content-Type": answer.content_type})
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            async for chunk in answer.watch.chunks():
                await response.write(chunk)
            await response.write_eof()
        except ConnectionError:
            request.protocol.close()
        finally:
            answer.watch.close()
        return response

    return web.Server(handle, access_log=None)


class Listening:
    """A running server on one address."""

    def __init__(self, runner: web.ServerRunner, host: str, port: int) -> None:
        """Made by `listen`."""
        self._runner = runner
        self.host = host
        self.port = port

    async def close(self) -> None:
        """Stop to listen and end what is open."""
        await self._runner.cleanup()


async def listen(api: ApiServer, host: str, port: int) -> Listening:
    """Serve `api`; port 0 takes any free one. A port in use is an OSError."""
    runner = web.ServerRunner(handler_of(api), shutdown_timeout=GRACE_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
    except OSError:
        await runner.cleanup()
        raise
    taken: int = runner.addresses[0][1]
    return Listening(runner, host, taken)
