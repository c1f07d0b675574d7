"""Two views of one set of objects: events as `v1` and as `events.k8s.io/v1`.

Events are stored as core ones; the other group renames fields. Every other resource is shown as it
is stored.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.lab.objects import Object
from fairlead.lab.resources import NEW_EVENTS, Resource

NEW_NAMES = {
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
}
CORE_NAMES = {new: core for core, new in NEW_NAMES.items()}


def shown_by(resource: Resource) -> Callable[[Object], Object] | None:
    """The change from the stored form to the one `resource` shows; None where they are one."""
    return _as_new_event if resource is NEW_EVENTS else None


def as_shown(resource: Resource, value: Object) -> Object:
    """A stored object in the form of `resource`."""
    change = shown_by(resource)
    return value if change is None else change(value)


def as_stored(resource: Resource, value: Object) -> Object:
    """An object in the form of `resource` as it is stored."""
    if resource is not NEW_EVENTS:
        return value
    return {CORE_NAMES.get(name, name): each for name, each in value.items()}


def _as_new_event(value: Object) -> Object:
    return {
        NEW_NAMES.get(name, name): each
        for name, each in value.items()
        if each != "" or name not in ("reportingComponent", "reportingInstance")
    }
