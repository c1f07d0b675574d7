"""What is wrong with an Event: lenient through `v1`, strict through `events.k8s.io/v1`."""

from __future__ import annotations

from fairlead.lab.naming import key_errors
from fairlead.lab.objects import Object, nested
from fairlead.lab.resources import NEW_EVENTS, Resource
from fairlead.lab.status import FieldError, invalid_value, required

LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128}
NOTE_LIMIT = 1024
MISPLACED = "does not match event.namespace"


def event_errors(resource: Resource, event: Object) -> list[FieldError]:
    """A new event, in its stored form, that came by `resource`."""
    where: str = nested(event, "involvedObject", "namespace", default="")
    namespace: str = event["metadata"]["namespace"]
    errors: list[FieldError] = []
    if not event.get("eventTime"):
        if where != namespace and not (where == "" and namespace == "default"):
            errors.append(invalid_value("involvedObject.namespace", where, MISPLACED))
    else:
        if where == "" and namespace not in ("default", "kube-system"):
            errors.append(invalid_value("involvedObject.namespace", where, MISPLACED))
        errors += _reported(resource, event)
    if resource is NEW_EVENTS:
        errors += _strict(event)
    return errors


def _reported(resource: Resource, event: Object) -> list[FieldError]:
    field = "reportingController" if resource is NEW_EVENTS else "reportingComponent"
    controller: str = event.get("reportingComponent") or ""
    errors = [] if controller else [required(field)]
    errors += key_errors(field, controller)
    for name, limit in LIMITS.items():
        text: str = event.get(name) or ""
        if not text:
            errors.append(required(name))
        if len(text) > limit:
            errors.append(invalid_value(name, "", f"can have at most {limit} characters"))
    if len(event.get("message") or "") > NOTE_LIMIT:
        errors.append(invalid_value("message", "", f"can have at most {NOTE_LIMIT} characters"))
    return errors


def _strict(event: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    series: Object | None = event.get("series")
    if series is not None:
        if series.get("count", 0) < 2:
            errors.append(invalid_value("series.count", "", "should be at least 2"))
        if not series.get("lastObservedTime"):
            errors.append(required("series.lastObservedTime"))
    if not event.get("eventTime"):
        errors.append(required("eventTime"))
    kind = event.get("type") or ""
    if kind not in ("Normal", "Warning"):
        errors.append(invalid_value("type", "", f"has invalid value: {kind}"))
    old_fields = ("firstTimestamp", "lastTimestamp", "count", "source")
    unset = [name for name in old_fields if event.get(name)]
    return errors + [invalid_value(name, "", "needs to be unset") for name in unset]


IMMUTABLE = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reportingComponent",
    "reportingInstance",
    "action",
    "related",
    "type",
    "eventTime",
)


def event_change_errors(resource: Resource, event: Object, old: Object) -> list[FieldError]:
    """A changed event: by the newer group only its series may change."""
    if resource is not NEW_EVENTS:
        return []
    return [
        invalid_value(name, event.get(name), "field is immutable")
        for name in IMMUTABLE
        if event.get(name) != old.get(name)
    ]
