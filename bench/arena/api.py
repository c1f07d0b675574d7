"""The little that a measurement needs of the Kubernetes API: create many, list, watch.

It is not the product's client, so that a fault or a gain there does not move the yardstick.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

import aiohttp
import msgspec

from tests.control_plane.plane import ControlPlane


class Api:
    """Cluster-admin's connection to a control plane, for the length of an `async with`."""

    def __init__(self, plane: ControlPlane) -> None:
        self._server = plane.server
        self._trust = ssl.create_default_context(cafile=str(plane.authority))
        self._headers = {
            "Authorization": f"Bearer {plane.token}",
            "Content-Type": "application/json",
        }

    async def __aenter__(self) -> Api:
        self._session = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(ssl=self._trust, limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await asyncio.sleep(0.25)  # TLS connections go after close() has returned

    async def create(self, path: str, body: object) -> None:
        """Created, or there already; a server that is busy is asked five times."""
        said = ""
        for attempt in range(5):
            data = msgspec.json.encode(body)
            async with self._session.post(self._server + path, data=data) as answer:
                said = await answer.text()
                if answer.status < 300 or answer.status == 409:
                    return
            await asyncio.sleep(0.2 * (attempt + 1))
        raise RuntimeError(f"POST {path}: {said[:300]}")

    async def create_all(self, path: str, bodies: Iterable[object], rate: float = 0) -> None:
        """Sixteen at a time; `rate` a second if it is given, else as fast as it goes."""
        began = time.monotonic()
        numbered = iter(enumerate(bodies))

        async def worker() -> None:
            for number, body in numbered:
                if rate and (early := began + number / rate - time.monotonic()) > 0:
                    await asyncio.sleep(early)
                await self.create(path, body)

        await asyncio.gather(*(worker() for _ in range(16)))

    async def get(self, path: str) -> Any:
        async with self._session.get(self._server + path) as answer:
            return msgspec.json.decode(await answer.read())

    async def watch(self, path: str, version: str) -> AsyncIterator[Any]:
        """Events until the server ends the watch, as it does with a slow reader."""
        parameters = {"watch": "1", "resourceVersion": version}
        async with self._session.get(self._server + path, params=parameters) as answer:
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield msgspec.json.decode(line)
