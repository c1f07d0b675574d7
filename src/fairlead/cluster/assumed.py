"""Objects with what is assumed of them until the API server has said so itself.

    assume ──► assumed ──restore──► as the watch told it
                  └──a newer version from the watch─────► that one

Only an object that has not been sent yet is assumed: it has the resourceVersion of the one that
the watch told of, and any other version of it ends the assumption.
"""

from typing import Generic, TypeVar

from fairlead.cluster.changes import Changes
from fairlead.cluster.objects import Objects
from fairlead.model.storage import PersistentVolume, PersistentVolumeClaim

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


class OutOfSync(Exception):  # noqa: N818 - what is said of the object
    """The object has moved on, or is gone: what was planned with it is void."""


class Assumed(Generic[T]):
    """The assumed objects of one kind, by namespace and name."""

    def __init__(self, kind: str, objects: Objects, changes: Changes) -> None:
        self._kind = kind
        self._objects = objects
        self._changes = changes
        self._assumed: dict[tuple[str, str], T] = {}

    def told(self, namespace: str, name: str) -> T | None:
        """The object as the watch told it."""
        return self._objects.get(self._kind, namespace, name)  # type: ignore[return-value]

    def get(self, namespace: str, name: str) -> T | None:
        """The object, as it is assumed if it is."""
        found = self._assumed.get((namespace, name))
        return self.told(namespace, name) if found is None else found

    def assume(self, obj: T) -> None:
        """Take the object as it will be. Raises OutOfSync if it has moved on meanwhile."""
        meta = obj.metadata
        told = self.told(meta.namespace, meta.name)
        key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        if told is None:
            plural = f"{self._kind.lower()}s"
            raise OutOfSync(f'{plural} "{key}" not found')
        version = told.metadata.resource_version
        if version != meta.resource_version:
            raise OutOfSync(
                f'"{key}" is out of sync (stored: {version}, assume: {meta.resource_version})'
            )
        self._assumed[meta.namespace, meta.name] = obj
        self._touch(meta.namespace, meta.name)

    def restore(self, obj: T) -> T | None:
        """Take the assumption back; the object that was assumed, if it was this version's."""
        meta = obj.metadata
        key = meta.namespace, meta.name
        found = self._assumed.get(key)
        if found is None or found.metadata.resource_version != meta.resource_version:
            return None
        del self._assumed[key]
        self._touch(*key)
        return found

    def expire(self, namespace: str, name: str) -> T | None:
        """The watch has told of the object: an assumption about another version of it ends."""
        found = self._assumed.get((namespace, name))
        if found is None:
            return None
        told = self.told(namespace, name)
        version = None if told is None else told.metadata.resource_version
        if version == found.metadata.resource_version:
            return None
        del self._assumed[namespace, name]
        return found

    def _touch(self, namespace: str, name: str) -> None:
        self._changes.touch((self._kind, f"{namespace}/{name}"))
