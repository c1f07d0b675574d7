"""Events (events.k8s.io/v1) that tell people what became of their pods.

The rules are client-go's: an event that repeats within six minutes (same reason, action, kind and
resourceVersion of the object, whatever its note) is not created again; the first repeat turns it
into a series by a patch, later ones only count, and the count is written when the series ends or
half an hour has passed. Events are worth little beside binds: they have connections of their own
and a bounded queue that lets the oldest go, and each loss is counted.

Reads: nothing. Writes: events.
"""

import re
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from fairlead.clock import SystemClock, WallClock
from fairlead.kube.content import JSON, PATCH_TYPES
from fairlead.kube.errors import Dropped, Unreachable
from fairlead.kube.pipeline import Posts
from fairlead.kube.resource import EVENTS

FINISH = 6 * 60.0
REFRESH = 30 * 60.0
NOTE_LIMIT = 1024
NOTE_END = " ..."
SERIES_KEPT = 10_000
TRIES = 30
"""How often an event is sent whose connection broke: the last time about half a minute later."""
CAPACITY = 10_000
"""How many events may wait: the `capacity` for the `Posts` of a recorder, about 7 MB."""

EventType = Literal["Normal", "Warning"]
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?").fullmatch


class Regarding(NamedTuple):
    """The object that an event is about; its fields are part of what makes two events the same."""

    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    api_version: str = "v1"


class _Reference(Struct, rename="camel", omit_defaults=True):
    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""


class _Metadata(Struct):
    name: str
    namespace: str


class _Series(Struct, rename="camel"):
    count: int
    last_observed_time: str


class _Event(Struct, rename="camel", omit_defaults=True):
    api_version: str
    kind: str
    metadata: _Metadata
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: _Reference
    note: str
    type: str
    series: _Series | None = None


class _Recorded(Struct):
    """An event that may repeat: what was created, and how often it was seen since."""

    event: _Event
    count: int
    last: float
    written: int
    written_at: float


class EventRecorder:
    """Posts events of one scheduler name; each profile has a recorder, all share the `Posts`.

    `resend` and `flush` belong on timers, of about a second and of about half a minute: what a
    broken connection lost is sent again, and the counts of series that have ended are written.
    """

    def __init__(
        self,
        posts: Posts,
        component: str,
        instance: str,
        clock: WallClock | None = None,
        on_rejected: Callable[[int, bytes], None] | None = None,
        spelt: Callable[[str], str] = str,
    ) -> None:
        """`spelt` makes the note of a failure of its message: it stays as it is."""
        self._posts = posts
        self._component = component
        self._instance = instance[:128]  # the API server refuses longer ones
        self._wall = (clock or SystemClock()).wall
        self._on_rejected = on_rejected
        self._spelt = spelt
        self._encode = msgspec.json.Encoder().encode
        self._series: OrderedDict[tuple[Regarding, str, str, str], _Recorded] = OrderedDict()
        self._again: deque[tuple[_Event, int]] = deque()
        self._second = -1
        self._second_text = ""
        self.posted = 0
        self.rejected = 0
        self.lost = 0

    def scheduled(self, pod: Regarding, node: str) -> None:
        """A pod was bound. It cannot be bound twice, so no series is kept of it."""
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        event = self._event(pod, "Normal", "Scheduled", "Binding", note)
        self._create(event)

    def failed_scheduling(self, pod: Regarding, message: str) -> None:
        """No node was found for a pod; a repeat without a change of the pod joins its series."""
        self.record(pod, "Warning", "FailedScheduling", "Scheduling", self._spelt(_cut(message)))

    def record(
        self, regarding: Regarding, kind: EventType, reason: str, action: str, note: str
    ) -> None:
        """Posts an event, or counts it as a repeat of one."""
        now = self._wall()
        key = (regarding, kind, reason, action)
        recorded = self._series.get(key)
        if recorded is not None and now - recorded.last <= FINISH:
            recorded.count += 1
            recorded.last = now
            self._series.move_to_end(key)
            if recorded.count == 2 or now - recorded.written_at >= REFRESH:
                self._write_series(recorded, now)
            return
        if recorded is not None:
            self._finish(key, now)
        event = self._event(regarding, kind, reason, action, note)
        self._series[key] = _Recorded(event, 1, now, 1, now)
        self._create(event)
        self.flush(now)

    def flush(self, now: float | None = None) -> None:
        """Writes the last count of series that have been silent for six minutes, and forgets them.

        When very many are kept the oldest end early: their next repeat is a new event.
        """
        now = self._wall() if now is None else now
        while self._series:
            key, oldest = next(iter(self._series.items()))
            if now - oldest.last <= FINISH and len(self._series) <= SERIES_KEPT:
                return
            self._finish(key, now)

    def resend(self) -> None:
        """Sends again what did not arrive, not at once: a server that restarts needs a while."""
        again, self._again = self._again, deque()
        for event, tries in again:
            self._create(event, tries)

    @property
    def dropped(self) -> int:
        """How many requests the bounded queue let go."""
        return self._posts.dropped

    def _finish(self, key: tuple[Regarding, str, str, str], now: float) -> None:
        recorded = self._series.pop(key)
        if recorded.count > recorded.written:
            self._write_series(recorded, now)

    def _event(
        self, regarding: Regarding, kind: EventType, reason: str, action: str, note: str
    ) -> _Event:
        now = self._wall()
        namespace = regarding.namespace or "default"
        return _Event(
            "events.k8s.io/v1",
            "Event",
            _Metadata(_event_name(regarding.name, now), namespace),
            self._time(now),
            self._component,
            self._instance,
            action,
            reason,
            _Reference(
                regarding.api_version,
                regarding.kind,
                regarding.name,
                regarding.uid,
                regarding.namespace,
                regarding.resource_version,
            ),
            _cut(note),
            kind,
        )

    def _time(self, now: float) -> str:
        """RFC 3339 with microseconds; the date is formatted once a second."""
        second = int(now)
        if second != self._second:
            self._second = second
            self._second_text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._second_text}.{int((now - second) * 1e6):06d}Z"

    def _create(self, event: _Event, tries: int = TRIES) -> None:
        """Creates an event; its name is its own, so doing it twice does no harm."""

        def done(status: int, body: bytes) -> None:
            if status < 300 or status == 409:  # 409: an earlier try had arrived after all
                self.posted += 1
            else:
                self._refused(status, body)

        def failed(error: Unreachable) -> None:
            if tries > 1 and not isinstance(error, Dropped) and len(self._again) < CAPACITY:
                self._again.append((event, tries - 1))
            else:
                self.lost += 1

        path = EVENTS.path(event.metadata.namespace)
        self._send("POST", path, event, JSON, done, failed)

    def _write_series(self, recorded: _Recorded, now: float) -> None:
        event = recorded.event
        event.series = _Series(recorded.count, self._time(recorded.last))
        recorded.written, recorded.written_at = recorded.count, now

        def done(status: int, body: bytes) -> None:
            if status == 404:  # the server has let it expire, or never got it
                self._create(event)
            elif status >= 300:
                self._refused(status, body)

        def failed(_: Unreachable) -> None:
            self.lost += 1  # the next write of the series carries the whole count

        path = EVENTS.path(event.metadata.namespace, event.metadata.name)
        body = {"series": event.series}
        self._send("PATCH", path, body, PATCH_TYPES["strategic"], done, failed)

    def _send(
        self,
        method: str,
        path: str,
        body: object,
        content_type: str,
        done: Callable[[int, bytes], None],
        failed: Callable[[Unreachable], None],
    ) -> None:
        try:
            self._posts.send(method, path, self._encode(body), content_type, done, failed)
        except Dropped:
            self.lost += 1  # the connections are closed: the process is ending

    def _refused(self, status: int, body: bytes) -> None:
        self.rejected += 1
        if self._on_rejected is not None:
            self._on_rejected(status, body)


def _event_name(name: str, now: float) -> str:
    """The object's name and the time; an object whose name is too long for that gets a UUID."""
    full = f"{name}.{int(now * 1e9):x}"
    return full if _DNS_SUBDOMAIN(full) and ".." not in full else str(uuid.uuid4())


def _cut(note: str) -> str:
    """At most 1024 bytes, the end marked; never through the middle of a character."""
    data = note.encode(errors="replace")
    if len(data) > NOTE_LIMIT:
        data = data[: NOTE_LIMIT - len(NOTE_END)]
        return data.decode(errors="ignore") + NOTE_END
    return data.decode()
