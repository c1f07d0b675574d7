"""Byte chunks in, whole lines out, however long a line is and wherever the chunks are cut.

aiohttp's own line reader gives up at 128 KiB, and an object may have 1.5 MiB.
"""


class Lines:
    """Holds the beginning of a line until its end has come; a chunk is copied at most twice."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Returns the lines that this chunk completes, without their ends, empty ones left out."""
        if b"\n" not in chunk:
            if chunk:
                self._parts.append(chunk)
            return []
        if self._parts:
            # Joined once per line, not once per chunk: a long line costs what it weighs.
            self._parts.append(chunk)
            chunk = b"".join(self._parts)
            self._parts.clear()
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if rest:
            self._parts.append(rest)
        return [line for line in lines if line and line != b"\r"]

    @property
    def pending(self) -> int:
        """How many bytes of an unfinished line are held: not 0 at the end means it was cut off."""
        return sum(map(len, self._parts))
