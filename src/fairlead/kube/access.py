"""How a cluster is reached: its address, whom we trust, and who we are.

One value serves both HTTP stacks (aiohttp for most, `pipeline` for binds and events), so that they
cannot differ in what they trust. It holds PEM as bytes: files are read where they are named, in
`kubeconfig`, and an error there can say which line of which file named them.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from fairlead.clock import Clock, SystemClock

TOKEN_AGE = 60.0
"""Seconds after which a token file is read again; bound tokens are replaced before they expire."""


class ClusterAccess(Struct, frozen=True, kw_only=True):
    """One API server as one identity; `source` says where that was read, for error messages."""

    server: str
    ca: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = None
    insecure: bool = False
    tls_server_name: str | None = None
    token: str | None = None
    token_file: str | None = None
    namespace: str = "default"
    source: str = ""

    @property
    def url(self) -> SplitResult:
        """The server's address in parts; the path in front of every request is part of it."""
        return urlsplit(self.server)

    @property
    def host(self) -> str:
        return self.url.hostname or ""

    @property
    def port(self) -> int:
        return self.url.port or (443 if self.secure else 80)

    @property
    def secure(self) -> bool:
        return self.url.scheme == "https"

    @property
    def prefix(self) -> str:
        """What stands between the host and `/api`, where a proxy serves several clusters."""
        return self.url.path.rstrip("/")


def authorization(access: ClusterAccess, clock: Clock | None = None) -> Callable[[], str | None]:
    """Returns a function that gives the `Authorization` header to send now, or None.

    A token file is read again once a minute, because projected tokens are replaced in place. The
    last good token stays in use when the file cannot be read, as it does in client-go.
    """
    if access.token_file is None:
        header = None if access.token is None else f"Bearer {access.token}"
        return lambda: header
    path = Path(access.token_file)
    now = (clock or SystemClock()).now
    current, read_at = access.token, now()

    def header_from_file() -> str | None:
        nonlocal current, read_at
        # Projected tokens lie on tmpfs: one read of 20 µs a minute is less than a worker costs.
        if now() - read_at >= TOKEN_AGE:
            read_at = now()
            with contextlib.suppress(OSError, UnicodeDecodeError):
                current = path.read_text(encoding="utf-8").strip() or current
        return None if current is None else f"Bearer {current}"

    return header_from_file
