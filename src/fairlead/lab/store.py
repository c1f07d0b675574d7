"""What the embedded cluster remembers: objects, one rising resourceVersion, a window of history.

Every write makes one `Event` with a revision of its own; watches, old lists and pages are read off
the events. Nothing here knows a kind's rules. A stored object is never changed in place: entries
are shared with lists, watches and the history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from fairlead.lab.objects import Object, key_of, with_value
from fairlead.lab.resources import Resource

Key = tuple[str, str]
Subscriber = Callable[["Event"], None]

HISTORY = 20_000


class Entry:
    """One version of one object, with its encodings as they are first asked for."""

    __slots__ = ("_bodies", "object", "revision")

    def __init__(self, value: Object, revision: int) -> None:
        """Take `value` as it is; it must not change from here on."""
        self.object = value
        self.revision = revision
        self._bodies: dict[str, bytes] = {}

    def body(self, resource: Resource, seen: Callable[[Object], Object] | None) -> bytes:
        """The object as `resource` shows it, in JSON without kind and apiVersion.

        `seen` changes the stored form to the resource's own; it runs once for each version.
        """
        body = self._bodies.get(resource.group)
        if body is None:
            shown = self.object if seen is None else seen(self.object)
            body = self._bodies[resource.group] = msgspec.json.encode(shown)
        return body


class Event:
    """One write: what there was before (if anything) and what there is after (unless deleted)."""

    __slots__ = ("chunks", "entry", "previous", "revision", "type")

    def __init__(self, kind: str, entry: Entry, previous: Entry | None) -> None:
        """`kind` is ADDED, MODIFIED or DELETED; a deleted `entry` is the last state, renumbered."""
        self.type = kind
        self.entry = entry
        self.previous = previous
        self.revision = entry.revision
        self.chunks: dict[tuple[str, str], bytes] = {}


class Shelf:
    """The objects of one storage, in order of arrival, with their history."""

    __slots__ = ("entries", "forgotten", "history", "subscribers")

    def __init__(self, history: int) -> None:
        """An empty shelf that remembers `history` events."""
        self.entries: dict[Key, Entry] = {}
        self.history: deque[Event] = deque(maxlen=history)
        self.forgotten = 0
        self.subscribers: list[Subscriber] = []


class Store:
    """All shelves under one counter.

    `subscribe` hands every event over within the write itself, in order; a subscriber must not
    write to the store from there (controllers take a note and work later).
    """

    def __init__(self, history: int = HISTORY) -> None:
        """An empty store whose shelves each remember `history` events."""
        self.revision = 1
        self._history = history
        self._shelves: dict[str, Shelf] = {}

    def shelf(self, resource: Resource) -> Shelf:
        """The storage behind `resource`."""
        shelf = self._shelves.get(resource.stored_as)
        if shelf is None:
            shelf = self._shelves[resource.stored_as] = Shelf(self._history)
        return shelf

    def get(self, resource: Resource, namespace: str, name: str) -> Entry | None:
        """The newest version of one object."""
        return self.shelf(resource).entries.get((namespace, name))

    def entries(self, resource: Resource, namespace: str = "") -> Iterator[Entry]:
        """All objects of a resource (in one namespace), in order of arrival."""
        for (where, _), entry in list(self.shelf(resource).entries.items()):
            if not namespace or where == namespace:
                yield entry

    def put(self, resource: Resource, value: Object) -> Entry:
        """Write `value` as the newest version of its object, under a new revision."""
        shelf = self.shelf(resource)
        key = key_of(value)
        previous = shelf.entries.get(key)
        self.revision += 1
        stored = with_value(value, ("metadata", "resourceVersion"), str(self.revision))
        entry = Entry(stored, self.revision)
        shelf.entries[key] = entry
        self._announce(shelf, Event("ADDED" if previous is None else "MODIFIED", entry, previous))
        return entry

    def remove(self, resource: Resource, key: Key, final: Object | None = None) -> Entry:
        """Take an object away, under a new revision.

        The entry is its last state, renumbered; `final` stands in where the deletion itself still
        changed the object.
        """
        shelf = self.shelf(resource)
        previous = shelf.entries.pop(key)
        self.revision += 1
        shown = previous.object if final is None else final
        last = with_value(shown, ("metadata", "resourceVersion"), str(self.revision))
        entry = Entry(last, self.revision)
        self._announce(shelf, Event("DELETED", entry, previous))
        return entry

    def subscribe(self, resource: Resource, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with every event from now on; the answer ends that."""
        subscribers = self.shelf(resource).subscribers
        subscribers.append(subscriber)
        return lambda: subscribers.remove(subscriber) if subscriber in subscribers else None

    def since(self, resource: Resource, revision: int) -> list[Event] | None:
        """The events after `revision`; None when some of them are forgotten."""
        shelf = self.shelf(resource)
        if revision < shelf.forgotten:
            return None
        events: list[Event] = []
        for event in reversed(shelf.history):
            if event.revision <= revision:
                break
            events.append(event)
        events.reverse()
        return events

    def at(self, resource: Resource, revision: int) -> dict[Key, Entry] | None:
        """The objects as they were at `revision`; None when that is forgotten."""
        events = self.since(resource, revision)
        if events is None:
            return None
        entries = dict(self.shelf(resource).entries)
        for event in reversed(events):
            key = key_of(event.entry.object)
            if event.previous is None:
                entries.pop(key, None)
            else:
                entries[key] = event.previous
        return entries

    def forget_history(self, resource: Resource) -> None:
        """Drop the past, as compaction does: older watches and pages then end with 410."""
        shelf = self.shelf(resource)
        shelf.history.clear()
        shelf.forgotten = self.revision

    @staticmethod
    def _announce(shelf: Shelf, event: Event) -> None:
        if len(shelf.history) == shelf.history.maxlen:
            shelf.forgotten = shelf.history[0].revision
        shelf.history.append(event)
        for subscriber in tuple(shelf.subscribers):
            subscriber(event)
