"""What the stories about `Posts` share: both event loops, and a box for how requests end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop

from fairlead.kube.access import ClusterAccess
from fairlead.kube.errors import Unreachable
from fairlead.kube.pipeline import Posts
from tests.unit.kube.wire import Peer


def on_both_loops(story: Callable[[], Awaitable[None]]) -> Any:
    @pytest.mark.parametrize(
        "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
    )
    def test(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        async def limited() -> None:
            async with asyncio.timeout(20):
                await story()

        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(limited())

    test.__name__ = story.__name__
    test.__doc__ = story.__doc__
    return test


class Box:
    """Collects how requests end."""

    def __init__(self, posts: Posts) -> None:
        self.posts = posts
        self.answers: list[tuple[str, int, bytes]] = []
        self.failures: list[tuple[str, Unreachable]] = []

    def post(self, name: str, body: bytes = b"{}") -> None:
        self.posts.post(
            f"/{name}",
            body,
            lambda status, answer: self.answers.append((name, status, answer)),
            lambda error: self.failures.append((name, error)),
        )

    @property
    def statuses(self) -> list[tuple[str, int]]:
        return [(name, status) for name, status, _ in self.answers]


@asynccontextmanager
async def posting(
    access: ClusterAccess, connections: int = 1, **options: Any
) -> AsyncIterator[Box]:
    posts = Posts(access, connections, **options)
    await posts.start()
    try:
        yield Box(posts)
    finally:
        await posts.close()


async def echo(peer: Peer) -> None:
    while True:
        request = await peer.request()
        await peer.answer(request.path.encode(), 201)


def ok(status: int, body: bytes) -> None:
    assert status < 300


def never(error: Unreachable) -> None:
    raise AssertionError(error)
