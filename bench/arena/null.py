"""A scheduler without logic: the next node for each pending pod, and its event; no more.

Its rate and CPU are what this machine, this control plane and TLS leave for any scheduler. Binds
and events have connections of their own, so that no bind waits behind an event. It looks for
pending pods every twenty seconds, so it can only be measured on a backlog.

    python -m bench.arena.null KUBECONFIG
"""

from __future__ import annotations

import asyncio
import itertools
import json
import ssl
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import uvloop

BINDS, EVENTS = 14, 2  # connections


class Server:
    """Where the API is and how to ask it: from a kubeconfig in JSON, with a token."""

    def __init__(self, kubeconfig: Path) -> None:
        known = json.loads(kubeconfig.read_text())
        cluster = known["clusters"][0]["cluster"]
        self.url: str = cluster["server"]
        self.trust = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._authorization = f"Authorization: Bearer {known['users'][0]['user']['token']}"
        self.host, _, port = self.url.removeprefix("https://").partition(":")
        self.port = int(port)

    def items(self, path: str) -> list[Any]:
        name, value = self._authorization.split(": ")
        request = urllib.request.Request(self.url + path, headers={name: value})
        with urllib.request.urlopen(request, context=self.trust) as answer:
            return json.load(answer)["items"]

    def post(self, path: str, body: object) -> bytes:
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1",
            f"Host: {self.host}",
            self._authorization,
            "Content-Type: application/json",
            f"Content-Length: {len(data)}",
        )
        return "\r\n".join(head).encode() + b"\r\n\r\n" + data


class Connection(asyncio.Protocol):
    """One request after another on one connection, each when the answer to the last is there."""

    def __init__(self, take: Callable[[], bytes | None]) -> None:
        self._take = take
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def _send(self) -> None:
        if (request := self._take()) is not None:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            start = head.index(b"content-length: ") + 16
            whole = end + 4 + int(head[start:].split(b"\r\n", 1)[0])
            if len(self._buffer) < whole:
                return
            self._buffer = self._buffer[whole:]
            self._send()


def _bind(server: Server, pod: Any, node: str) -> bytes:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {key: pod[key] for key in ("name", "namespace", "uid")},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    path = f"/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}/binding"
    return server.post(path, body)


def _event(server: Server, pod: Any, number: int) -> bytes:
    space = pod["namespace"]
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod['name']}.{number:x}", "namespace": space},
        "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
        "reportingController": "null",
        "reportingInstance": "null-0",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "Successfully assigned",
        "regarding": {"kind": "Pod", "apiVersion": "v1"}
        | {key: pod[key] for key in ("name", "namespace", "uid")},
    }
    return server.post(f"/apis/events.k8s.io/v1/namespaces/{space}/events", body)


async def _send_all(server: Server, requests: list[bytes], connections: int) -> None:
    rest: Iterator[bytes] = iter(requests)
    for _ in range(connections if requests else 0):
        await asyncio.get_running_loop().create_connection(
            lambda: Connection(lambda: next(rest, None)), server.host, server.port, ssl=server.trust
        )


async def main(kubeconfig: Path) -> None:
    server = Server(kubeconfig)
    nodes = [item["metadata"]["name"] for item in server.items("/api/v1/nodes")]
    turn = zip(itertools.count(), itertools.cycle(nodes))
    seen: set[str] = set()
    while True:
        path = "/api/v1/pods?fieldSelector=spec.nodeName%3D"
        pending = [item["metadata"] for item in await asyncio.to_thread(server.items, path)]
        todo = [pod for pod in pending if pod["uid"] not in seen]
        seen.update(pod["uid"] for pod in todo)
        placed = [(pod, *next(turn)) for pod in todo]
        await _send_all(server, [_bind(server, pod, node) for pod, _, node in placed], BINDS)
        await _send_all(server, [_event(server, pod, n) for pod, n, _ in placed], EVENTS)
        await asyncio.sleep(20)


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1])))
