"""An HTTP/1.1 answer read from bytes as they come: no sockets, no loop, one answer at a time.

It knows what API servers and the proxies before them send: Content-Length, chunked, bodies that end
with the connection, interim 1xx answers. Anything else is `MalformedError`, never a wrong body.
"""

from typing import NamedTuple

MAX_HEAD = 64 << 10
MAX_CHUNK_LINE = 4 << 10


class MalformedError(ValueError):
    """What came is not HTTP/1.1, and nothing after it can be trusted."""


class Answer(NamedTuple):
    """One whole answer; `close` says that the connection cannot carry another request."""

    status: int
    body: bytes
    close: bool
    retry_after: str | None


class ResponseParser:
    """Feeds on chunks and gives the answer when it is whole; then it is ready for the next."""

    __slots__ = ("_answer", "_at", "_body", "_buffer", "_chunked", "_missing")

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._buffer = b""  # of a head that has not ended
        self._answer: Answer | None = None  # its head has been read
        self._body = bytearray()
        self._missing = 0  # bytes until Content-Length is reached; -1: until the connection ends
        self._chunked = False
        self._at = 0  # where the next chunk's size stands in the body's bytes

    @property
    def started(self) -> bool:
        """Whether a part of an answer has come."""
        return self._answer is not None or bool(self._buffer)

    def feed(self, data: bytes) -> Answer | None:
        """Takes the next bytes; returns the answer once they complete it."""
        if self._answer is None:
            return self._feed_head(data)
        self._body += data
        return self._feed_body()

    def end(self) -> Answer | None:
        """The connection has ended: the answer if its body was to last until now, else None."""
        if self._answer is None or self._missing != -1:
            return None
        whole = self._answer._replace(body=bytes(self._body))
        self._reset()
        return whole

    def _feed_head(self, data: bytes) -> Answer | None:
        buffer = self._buffer + data if self._buffer else data
        while True:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                if not b"HTTP/1.".startswith(buffer[:7]) or len(buffer) > MAX_HEAD:
                    raise MalformedError(f"no HTTP/1.1 answer: {buffer[:40]!r}")
                self._buffer = buffer
                return None
            status = _status(buffer)
            if status >= 200:
                break
            buffer = buffer[end + 4 :]
            if not buffer:
                self._buffer = b""
                return None
        head = buffer[: end + 2].lower()
        rest = end + 4
        close = b"\r\nconnection: close\r\n" in head or (
            head.startswith(b"http/1.0") and b"\r\nconnection: keep-alive\r\n" not in head
        )
        after = _field(head, b"\r\nretry-after:")
        retry_after = None if after is None else after.decode("ascii", errors="replace")
        if b"\r\ntransfer-encoding:" in head:
            if _field(head, b"\r\ntransfer-encoding:") != b"chunked":
                raise MalformedError("a transfer encoding other than chunked")
            self._chunked = True
        elif status in (204, 304):
            self._missing = 0
        else:
            length = _field(head, b"\r\ncontent-length:")
            if length is None:
                self._missing, close = -1, True
            elif not length.isdigit():
                raise MalformedError(f"Content-Length {length[:40]!r}")
            else:
                self._missing = int(length)
                if len(buffer) == rest + self._missing:  # nearly always: all in one read
                    self._buffer = b""
                    return Answer(status, buffer[rest:], close, retry_after)
        self._buffer = b""
        self._answer = Answer(status, b"", close, retry_after)
        self._body = bytearray(buffer[rest:])
        return self._feed_body()

    def _feed_body(self) -> Answer | None:
        assert self._answer is not None
        if self._chunked:
            if not self._unchunk():
                return None
        elif self._missing == -1 or len(self._body) < self._missing:
            return None
        elif len(self._body) > self._missing:
            raise MalformedError("bytes after the end of the answer")
        whole = self._answer._replace(body=bytes(self._body))
        self._reset()
        return whole

    def _unchunk(self) -> bool:
        """Takes the chunks' frames out of the body, in place; True when the last one has come."""
        body = self._body
        while True:
            end = body.find(b"\r\n", self._at)
            if end < 0:
                if len(body) - self._at > MAX_CHUNK_LINE:
                    raise MalformedError("a chunk's size does not end")
                return False
            digits = bytes(body[self._at : end]).split(b";", 1)[0].strip()
            try:
                size = int(digits, 16)
            except ValueError as error:
                raise MalformedError(f"chunk size {digits[:40]!r}") from error
            if size < 0 or b"_" in digits or b"+" in digits:
                raise MalformedError(f"chunk size {digits[:40]!r}")
            if size == 0:
                return self._trailer(end)
            if len(body) < end + 2 + size + 2:
                return False
            if bytes(body[end + 2 + size : end + 4 + size]) != b"\r\n":
                raise MalformedError("a chunk is longer than its size")
            del body[end + 2 + size : end + 4 + size]
            del body[self._at : end + 2]
            self._at += size

    def _trailer(self, end: int) -> bool:
        """After the chunk of size 0: trailers, which nobody reads, and an empty line."""
        body = self._body
        if bytes(body[end + 2 : end + 4]) == b"\r\n":
            last = end + 4
        else:
            last = body.find(b"\r\n\r\n", end) + 4
            if last == 3:
                if len(body) - end > MAX_HEAD:
                    raise MalformedError("trailers do not end")
                return False
        if len(body) > last:
            raise MalformedError("bytes after the end of the answer")
        del body[self._at :]
        return True


def _status(head: bytes) -> int:
    digits = head[9:12]
    if not head.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")) or not digits.isdigit():
        raise MalformedError(f"no HTTP/1.1 answer: {head[:40]!r}")
    status = int(digits)
    if status < 100:
        raise MalformedError(f"status {status}")
    return status


def _field(head: bytes, name: bytes) -> bytes | None:
    """The value of a header in a lower-cased head that ends with a line's end."""
    at = head.find(name)
    if at < 0:
        return None
    at += len(name)
    return head[at : head.index(b"\r\n", at)].strip()
