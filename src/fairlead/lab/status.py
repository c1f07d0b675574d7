"""Refusals of the API server: `Status` objects with the real server's reasons and words."""

from __future__ import annotations

import msgspec

from fairlead.lab.objects import Object
from fairlead.lab.resources import Resource

CAUSES = {
    "Required value": "FieldValueRequired",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Duplicate value": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "Too long": "FieldValueTooLong",
    "Not found": "FieldValueNotFound",
}


class ApiError(Exception):
    """A request that is refused, with the `Status` to answer."""

    def __init__(self, status: Object) -> None:
        """Keep the Status."""
        super().__init__(status["message"])
        self.status = status

    @property
    def code(self) -> int:
        """The HTTP status code."""
        return int(self.status["code"])

    @property
    def reason(self) -> str:
        """The machine-readable reason."""
        return str(self.status.get("reason", ""))


class FieldError(msgspec.Struct, frozen=True):
    """What is wrong with one field, as `field.Error` says it."""

    type: str
    field: str
    value: object = None
    detail: str = ""

    @property
    def body(self) -> str:
        """The text without the field's name."""
        if self.type in ("Required value", "Forbidden", "Too long"):
            return f"{self.type}: {self.detail}" if self.detail else self.type
        text = f"{self.type}: {msgspec.json.encode(self.value).decode()}"
        return f"{text}: {self.detail}" if self.detail else text


def required(field: str, detail: str = "") -> FieldError:
    """A value is missing."""
    return FieldError("Required value", field, None, detail)


def invalid_value(field: str, value: object, detail: str) -> FieldError:
    """A value is not acceptable."""
    return FieldError("Invalid value", field, value, detail)


def unsupported(field: str, value: object, supported: list[str]) -> FieldError:
    """A value is none of those that the field knows."""
    names = ", ".join(f'"{each}"' for each in supported)
    return FieldError("Unsupported value", field, value, f"supported values: {names}")


def duplicate(field: str, value: object) -> FieldError:
    """A value stands twice."""
    return FieldError("Duplicate value", field, value)


def forbidden_field(field: str, detail: str) -> FieldError:
    """A value must not be set or changed here."""
    return FieldError("Forbidden", field, None, detail)


def failure(code: int, reason: str, message: str, details: Object | None = None) -> ApiError:
    """Any refusal."""
    status: Object = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
    }
    if reason:
        status["reason"] = reason
    if details is not None:
        status["details"] = details
    status["code"] = code
    return ApiError(status)


def details_of(resource: Resource, name: str) -> Object:
    """Who a Status is about."""
    details: Object = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return details


def not_found(resource: Resource, name: str) -> ApiError:
    """There is no such object."""
    message = f'{resource.qualified} "{name}" not found'
    return failure(404, "NotFound", message, details_of(resource, name))


def already_exists(resource: Resource, name: str) -> ApiError:
    """The name is taken."""
    message = f'{resource.qualified} "{name}" already exists'
    return failure(409, "AlreadyExists", message, details_of(resource, name))


def conflict(resource: Resource, name: str, why: str) -> ApiError:
    """The object is not as the writer assumed."""
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return failure(409, "Conflict", message, details_of(resource, name))


def forbidden(resource: Resource, name: str, why: str) -> ApiError:
    """The request is understood and not allowed."""
    subject = f'{resource.qualified} "{name}"' if name else resource.qualified
    return failure(403, "Forbidden", f"{subject} is forbidden: {why}", details_of(resource, name))


def invalid(resource: Resource, name: str, errors: list[FieldError]) -> ApiError:
    """The object does not pass validation; an event is a core one whatever its group."""
    group = "" if resource.kind == "Event" else resource.group
    return invalid_kind(group, resource.kind, name, errors)


def invalid_kind(group: str, kind: str, name: str, errors: list[FieldError]) -> ApiError:
    """The same for a kind that is no resource (a Binding)."""
    texts = list(dict.fromkeys(f"{each.field}: {each.body}" for each in errors))
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    subject = f"{kind}.{group}" if group else kind
    details: Object = {"name": name} if name else {}
    if group:
        details["group"] = group
    details["kind"] = kind
    details["causes"] = [
        {"reason": CAUSES[each.type], "message": each.body, "field": each.field} for each in errors
    ]
    return failure(422, "Invalid", f'{subject} "{name}" is invalid: {joined}', details)


def unqualified_invalid(resource: Resource, name: str, errors: list[FieldError]) -> ApiError:
    """The same where the real server names the resource in place of the kind."""
    return invalid_kind(resource.group, resource.plural, name, errors)


def bad_request(message: str) -> ApiError:
    """The request makes no sense."""
    return failure(400, "BadRequest", message)


def expired(message: str) -> ApiError:
    """The history that the request needs is gone."""
    return failure(410, "Expired", message)


def not_served(what: str) -> ApiError:
    """A path that the real server may know and the embedded cluster does not."""
    message = (
        "the server could not find the requested resource "
        f"(the embedded cluster does not serve {what})"
    )
    return failure(404, "NotFound", message, {})


def method_not_allowed() -> ApiError:
    """A path that exists, asked in a way that it does not support."""
    words = "the server does not allow this method on the requested resource"
    return failure(405, "MethodNotAllowed", words, {})


def precondition_failed(resource: Resource, held: Object, field: str, wanted: str) -> ApiError:
    """The stored object is not the one that a write means; the storage's own words."""
    word = "UID" if field == "uid" else "ResourceVersion"
    where = "/".join(filter(None, (resource.plural, held.get("namespace"), held["name"])))
    return conflict(
        resource,
        held["name"],
        f"StorageError: invalid object, Code: 4, Key: /registry/{where}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {word} in precondition: {wanted}, {word} in "
        f"object meta: {held[field]}",
    )


def kind_conflict(resource: Resource, name: str, why: str) -> ApiError:
    """The object is not the one that a deletion means; here the real server names the kind."""
    message = f'Operation cannot be fulfilled on {resource.qualified_kind} "{name}": {why}'
    details = details_of(resource, name) | {"kind": resource.kind}
    return failure(409, "Conflict", message, details)


def success(resource: Resource, name: str, uid: str) -> Object:
    """The answer to a deletion that does not return the object."""
    details = details_of(resource, name)
    details["uid"] = uid
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
