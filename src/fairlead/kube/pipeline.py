"""The path of binds, status patches and events: HTTP/1.1 with as little Python as it takes.

A call costs a method call and a callback: no task, no future, no header objects. Connections are
kept alive and carry one request at a time, since pipelining gains nothing and leaves more unknown
when a connection breaks; a deque stands in front of them. aiohttp takes four times the CPU.

The promise: each request ends in exactly one call, of `done(status, body)` or of `failed(error)`.
A request whose connection broke after it was written is never sent again: `error.written` is true,
it may have been carried out, and its owner must look. One that was not written waits for the next
connection, and fails only when the server has answered nothing for a whole `deadline`.

Reads: nothing. Writes: what its users send.
"""

import asyncio
import contextlib
import random
from collections import deque

from fairlead.kube.access import ClusterAccess, authorization
from fairlead.kube.connection import Connection, Done, Failed, Request
from fairlead.kube.content import JSON, default_user_agent
from fairlead.kube.errors import Dropped, Unreachable, unreachable
from fairlead.kube.response import Answer
from fairlead.kube.tls import client_context

TICK = 0.25
DEADLINE = 30.0
IDLE = 55.0
"""Go's API server closes a silent connection after 90 s; closing first, none is written into."""
CONNECT = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0


class Posts:
    """Sends requests over a few kept-alive connections and calls back with the answers.

    `capacity` bounds the queue: beyond it the oldest request fails with `Dropped`. 429 with
    `Retry-After` stops the sending for that long, and the request goes back to the front. The trap:
    callbacks run inside of the reading of a socket, so they must be short.
    """

    def __init__(
        self,
        access: ClusterAccess,
        connections: int,
        *,
        user_agent: str | None = None,
        deadline: float = DEADLINE,
        capacity: int | None = None,
    ) -> None:
        self._access = access
        self._connections = connections
        self._deadline = deadline
        self._capacity = capacity
        self._authorization = authorization(access)
        host = access.url.netloc.rpartition("@")[2]
        agent = user_agent or default_user_agent()
        self._common = f"Host: {host}\r\nUser-Agent: {agent}\r\nAccept: {JSON}\r\n"
        self._prefix = access.prefix
        self._header: str | None = None  # the Authorization that `_heads` were made with
        self._heads: dict[str, str] = {}
        self._queue: deque[Request] = deque()
        self._all: set[Connection] = set()
        self._ending: set[Connection] = set()  # given up, but the loop has not ended them yet
        self._idle: list[Connection] = []  # the last used is used next: the others may go
        self._opening: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self._answered_at = 0.0
        self._paused_until = 0.0
        self._open_at = 0.0
        self._failures = 0
        self._trouble: BaseException | None = None  # why the last connection was not made
        self._timer: asyncio.TimerHandle | None = None
        self._quiet = asyncio.Event()  # nothing is pending, or all connections have ended
        self._closed = True
        self.dropped = 0

    async def start(self) -> None:
        """Opens the first connection, so that an unreachable server is known before any request."""
        self._loop = asyncio.get_running_loop()
        self._context = client_context(self._access)
        try:
            await self._connect()
        except (OSError, TimeoutError) as error:
            raise unreachable(self._access.server, error) from error
        self._closed = False
        self._answered_at = self._loop.time()
        self._timer = self._loop.call_later(TICK, self._tick)

    def post(self, path: str, body: bytes, done: Done, failed: Failed) -> None:
        """Creates something: `send` with POST and JSON."""
        self.send("POST", path, body, JSON, done, failed)

    def send(
        self, method: str, path: str, body: bytes, content_type: str, done: Done, failed: Failed
    ) -> None:
        """Sends one request now or when a connection is free; one of the callbacks will follow."""
        if " " in path or not (path.isascii() and path.isprintable()):
            raise ValueError(f"not the path of a URL: {path!r}")
        request = Request(method, path, body, content_type, done, failed)
        if self._closed:
            raise Dropped(f"{method} {path}: the connections are closed")
        request.since = now = self._loop.time()
        if self._idle and not self._queue and now >= self._paused_until:
            self._write(self._idle.pop(), request, now)
            return
        self._queue.append(request)
        if self._capacity is not None and len(self._queue) > self._capacity:
            oldest = self._queue.popleft()
            self.dropped += 1
            self._fail(oldest, Dropped(f"{oldest.method} {oldest.path}: too many are waiting"))
        self._open_more(now)

    @property
    def pending(self) -> int:
        """How many requests wait or are under way."""
        return len(self._queue) + self._under_way

    async def drain(self, seconds: float) -> bool:
        """Waits until nothing is pending; False if that took longer than `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while self.pending:
                    self._quiet.clear()
                    await self._quiet.wait()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Ends all connections; what is pending fails, with the truth about `written`."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        for connection in list(self._all):
            self._lost(connection, None)
        while self._queue:
            self._fail(self._queue.popleft(), Unreachable("the connections were closed"))
        with contextlib.suppress(TimeoutError):  # transports end in one of the loop's next turns
            async with asyncio.timeout(1):
                while self._ending:
                    self._quiet.clear()
                    await self._quiet.wait()

    # -- what connections report ---------------------------------------------------------------

    def _connected(self, connection: Connection) -> None:
        self._all.add(connection)
        self._failures = 0
        self._trouble = None
        now = self._loop.time()
        self._next(connection, now)
        self._open_more(now)

    def _answered(self, connection: Connection, request: Request, answer: Answer) -> None:
        now = self._loop.time()
        self._answered_at = now
        self._under_way -= 1
        status, body, close, retry_after = answer
        again = status == 429 and retry_after is not None and self._retry(request, retry_after, now)
        # The next request goes out before the callback runs: the server works meanwhile.
        if close:
            self._forget(connection)
            self._open_more(now)
        else:
            self._next(connection, now)
        if again:
            return
        try:
            request.done(status, body)
        except Exception as error:  # noqa: BLE001 - a caller's bug must not cost the connection
            self._report(error)
        if not self.pending:
            self._quiet.set()

    def _lost(self, connection: Connection, error: Exception | None) -> None:
        if connection not in self._all:
            return
        self._forget(connection)
        request, connection.request = connection.request, None
        if request is not None:
            self._under_way -= 1
            why = error or ConnectionResetError("the connection was closed")
            self._fail(request, unreachable(self._url(request), why, written=True))
        if not self._closed:
            self._open_more(self._loop.time())

    def _ended(self, connection: Connection) -> None:
        self._ending.discard(connection)
        if not self._ending:
            self._quiet.set()

    def _forget(self, connection: Connection) -> None:
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        if connection.transport is not None:
            self._ending.add(connection)
            connection.transport.abort()

    # -- sending -------------------------------------------------------------------------------

    def _next(self, connection: Connection, now: float) -> None:
        if self._queue and now >= self._paused_until:
            self._write(connection, self._queue.popleft(), now)
        else:
            connection.since = now
            self._idle.append(connection)

    def _write(self, connection: Connection, request: Request, now: float) -> None:
        self._under_way += 1
        head = f"{request.method} {self._prefix}{request.path}{self._head(request)}"
        data = f"{head}{len(request.body)}\r\n\r\n".encode() + request.body
        connection.write(request, data, now)

    def _head(self, request: Request) -> str:
        """All lines of the head that requests of one content type share, made once per token."""
        header = self._authorization()
        if header != self._header:
            self._header = header
            self._heads.clear()
        head = self._heads.get(request.content_type)
        if head is None:
            authorized = f"Authorization: {header}\r\n" if header else ""
            head = (
                f" HTTP/1.1\r\n{self._common}{authorized}"
                f"Content-Type: {request.content_type}\r\nContent-Length: "
            )
            self._heads[request.content_type] = head
        return head

    def _retry(self, request: Request, retry_after: str, now: float) -> bool:
        """Puts a throttled request back and stops all sending, unless its time would be over."""
        try:
            seconds = max(float(retry_after), TICK)
        except ValueError:
            return False
        if now + seconds > request.since + self._deadline:
            return False
        self._queue.appendleft(request)
        self._paused_until = max(self._paused_until, now + seconds * random.uniform(1.0, 1.1))
        return True

    # -- connections and time ------------------------------------------------------------------

    def _open_more(self, now: float) -> None:
        """Opens as many connections as there are requests waiting for one, at most all."""
        if now < self._open_at or now < self._paused_until or self._closed:
            return
        # While nobody answers, one attempt at a time finds out when somebody does.
        most = 1 if self._failures and not self._all else self._connections
        room = most - len(self._all) - len(self._opening)
        for _ in range(min(room, len(self._queue) - len(self._opening))):
            task = self._loop.create_task(self._open())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self) -> None:
        try:
            await self._connect()
        except (OSError, TimeoutError) as error:
            self._trouble = error
            self._failures += 1
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self._failures, 10))
            self._open_at = self._loop.time() + random.uniform(pause / 2, pause)

    async def _connect(self) -> None:
        name = self._access.tls_server_name or self._access.host
        async with asyncio.timeout(CONNECT):
            await self._loop.create_connection(
                lambda: Connection(self._connected, self._answered, self._lost, self._ended),
                self._access.host,
                self._access.port,
                ssl=self._context,
                server_hostname=name if self._context is not None else None,
            )

    def _tick(self) -> None:
        """The one timer: deadlines, the end of a pause, idle connections, new attempts."""
        now = self._loop.time()
        self._timer = self._loop.call_later(TICK, self._tick)
        for connection in list(self._all):
            if connection.request is None:
                if now - connection.since > IDLE:
                    self._forget(connection)
            elif now - connection.since > self._deadline:
                self._lost(connection, TimeoutError(f"no answer within {self._deadline:g} s"))
        while self._queue and now - max(self._queue[0].since, self._answered_at) > self._deadline:
            request = self._queue.popleft()
            why = self._trouble or TimeoutError(f"no answer within {self._deadline:g} s")
            self._fail(request, unreachable(self._url(request), why))
        if now >= self._paused_until:
            while self._queue and self._idle:
                self._write(self._idle.pop(), self._queue.popleft(), now)
        self._open_more(now)

    def _fail(self, request: Request, error: Unreachable) -> None:
        try:
            request.failed(error)
        except Exception as problem:  # noqa: BLE001 - a caller's bug must not stop the others
            self._report(problem)
        if not self.pending:
            self._quiet.set()

    def _report(self, error: Exception) -> None:
        self._loop.call_exception_handler(
            {"message": "a callback of a request raised", "exception": error}
        )

    def _url(self, request: Request) -> str:
        return f"{self._access.server}{request.path}"
