"""Ports of this machine as tests of failures need them: in use, silent, or nobody's."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    """A port that somebody listens on, who takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listening:
        yield listening.getsockname()[1]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@contextlib.contextmanager
def full_port() -> Iterator[int]:
    """A port whose packets are swallowed: its queue of connections is full, nobody takes one."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        address = listening.getsockname()
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        yield address[1]
