"""Who depends on whom, kept up to date from the store's events."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.lab.objects import Object, key_of, nested
from fairlead.lab.resources import RESOURCES, Resource
from fairlead.lab.store import Entry, Event, Key, Store

STORED = tuple({each.stored_as: each for each in reversed(RESOURCES)}.values())


class Owners:
    """An index from an owner's uid to the objects that name it in their ownerReferences."""

    def __init__(self, store: Store) -> None:
        """The index of what is there; `note` carries it on."""
        self._store = store
        self._dependents: dict[str, dict[tuple[str, Key], Resource]] = {}
        self.living: set[str] = set()
        for resource in STORED:
            for entry in store.entries(resource):
                self._add(resource, entry.object)

    def note(self, resource: Resource, event: Event) -> None:
        """Take over one event."""
        if event.previous is not None:
            self._remove(resource, event.previous.object)
        if event.type != "DELETED":
            self._add(resource, event.entry.object)

    def _add(self, resource: Resource, value: Object) -> None:
        self.living.add(value["metadata"]["uid"])
        for owner in nested(value, "metadata", "ownerReferences", default=[]):
            held = self._dependents.setdefault(owner.get("uid", ""), {})
            held[resource.stored_as, key_of(value)] = resource

    def _remove(self, resource: Resource, value: Object) -> None:
        self.living.discard(value["metadata"]["uid"])
        for owner in nested(value, "metadata", "ownerReferences", default=[]):
            uid: str = owner.get("uid", "")
            held = self._dependents.get(uid, {})
            held.pop((resource.stored_as, key_of(value)), None)
            if not held:
                self._dependents.pop(uid, None)

    def dependents(self, uid: str) -> Iterator[tuple[Resource, Entry]]:
        """The objects that name `uid` as an owner."""
        for (_, key), resource in list(self._dependents.get(uid, {}).items()):
            entry = self._store.get(resource, *key)
            if entry is not None:
                yield resource, entry
