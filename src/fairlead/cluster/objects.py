"""Objects that are neither nodes nor pods, by kind and name: services, controllers, namespaces.

Reads: decoded objects as the watch tells them. Writes: its tables, and two versions in `Changes`
for each change: `(kind, namespace)` and `(kind, "namespace/name")`.

An update that changes nothing but the resourceVersion or a status that nobody decodes touches no
version: what was derived from the object stays good.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from fairlead.cluster.changes import Changes
from fairlead.model.meta import ObjectMeta


class Object(Protocol):
    """Any decoded object."""

    @property
    def metadata(self) -> ObjectMeta: ...


Heard = Callable[[Any, Any], None]
"""Called with an object as it was and as it is; None where there is none."""

NONE: Mapping[str, Object] = MappingProxyType({})


class Objects:
    """The newest version of each object. Objects without a namespace have the empty one."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._tables: dict[tuple[str, str], dict[str, Object]] = {}
        self._hearers: dict[str, list[Heard]] = {}

    def listen(self, kind: str, heard: Heard) -> None:
        """Tell of every version of every object of a kind, once it is in the table."""
        self._hearers.setdefault(kind, []).append(heard)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        return self._tables.get((kind, namespace), NONE).get(name)

    def of(self, kind: str, namespace: str = "") -> Mapping[str, Object]:
        """All objects of a kind in a namespace, by name; read-only."""
        return self._tables.get((kind, namespace), NONE)

    def keys(self, kind: str) -> set[tuple[str, str]]:
        """Namespace and name of all objects of a kind."""
        return {
            (namespace, name)
            for (of_kind, namespace), table in self._tables.items()
            if of_kind == kind
            for name in table
        }

    def set(self, kind: str, obj: Object) -> Object | None:
        """Add or update an object; the version known before, if there was one."""
        meta = obj.metadata
        table = self._tables.setdefault((kind, meta.namespace), {})
        old = table.get(meta.name)
        table[meta.name] = obj
        if old is None or not alike(old, obj):
            self._touch(kind, meta.namespace, meta.name)
        for heard in self._hearers.get(kind, ()):
            heard(old, obj)
        return old

    def remove(self, kind: str, namespace: str, name: str) -> Object | None:
        table = self._tables.get((kind, namespace))
        old = None if table is None else table.pop(name, None)
        if old is not None:
            if not table:
                del self._tables[kind, namespace]
            self._touch(kind, namespace, name)
            for heard in self._hearers.get(kind, ()):
                heard(old, None)
        return old

    def _touch(self, kind: str, namespace: str, name: str) -> None:
        self._changes.touch((kind, namespace))
        self._changes.touch((kind, f"{namespace}/{name}"))


def alike(old: Object, new: Object) -> bool:
    """Whether two versions differ in nothing but their resourceVersion."""
    if old is new:
        return True
    for field in type(new).__struct_fields__:  # type: ignore[attr-defined]
        if field != "metadata" and getattr(old, field) != getattr(new, field):
            return False
    before, after = old.metadata, new.metadata
    return all(
        getattr(before, field) == getattr(after, field)
        for field in ObjectMeta.__struct_fields__
        if field != "resource_version"
    )
