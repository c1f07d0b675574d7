"""The kinds of patch: JSON patch, merge patch, strategic merge patch, and which is meant."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.lab.objects import Object
from fairlead.lab.resources import Resource
from fairlead.lab.schema import schema
from fairlead.lab.status import ApiError, bad_request, failure
from fairlead.lab.strategic import strategic_merge

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
MOST_OPERATIONS = 10_000


def patched(value: Object, body: bytes, content_type: str, resource: Resource) -> Object:
    """What a patch makes of `value`, which is in the form that `resource` shows."""
    media = content_type.partition(";")[0].strip()
    if media == JSON_PATCH:
        return json_patch(value, body)
    if media not in (MERGE_PATCH, STRATEGIC_PATCH):
        raise failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    try:
        patch = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as problem:
        raise bad_request(f"error decoding patch: {problem}") from None
    if media == MERGE_PATCH:
        return merge_patch(value, patch)
    return strategic_merge(value, patch, schema().of(resource))


def merge_patch(value: Object, patch: Object) -> Object:
    """RFC 7386."""
    result = dict(value)
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        elif isinstance(change, dict):
            before = result.get(key)
            result[key] = merge_patch(before if isinstance(before, dict) else {}, change)
        else:
            result[key] = change
    return result


class Operation(msgspec.Struct):
    """One step of a JSON patch; an absent value is told from null."""

    op: str
    path: str
    value: Any | msgspec.UnsetType = msgspec.UNSET
    origin: str = msgspec.field(default="", name="from")


def json_patch(value: Object, body: bytes) -> Object:
    """RFC 6902."""
    try:
        operations = msgspec.json.decode(body, type=list[Operation])
    except msgspec.DecodeError as problem:
        raise bad_request(f"error decoding patch: {problem}") from None
    if len(operations) > MOST_OPERATIONS:
        raise failure(
            413,
            "RequestEntityTooLarge",
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, "
            f"got {len(operations)}",
        )
    document: Any = msgspec.json.decode(msgspec.json.encode(value))
    for operation in operations:
        try:
            document = _step(document, operation)
        except (KeyError, IndexError, TypeError, ValueError):
            raise _unprocessable() from None
    if not isinstance(document, dict):
        raise bad_request("the patch does not leave an object")
    return document


def _unprocessable() -> ApiError:
    message = "the server rejected our request due to an error in our request"
    return failure(422, "Invalid", message, {})


def _step(document: Any, operation: Operation) -> Any:
    match operation.op:
        case "add" | "replace" | "test":
            if operation.value is msgspec.UNSET:
                raise ValueError("missing value")
            if operation.op == "test":
                if _found(document, _tokens(operation.path)) != operation.value:
                    raise ValueError("testing value failed")
                return document
            replace = operation.op == "replace"
            return _put(document, _tokens(operation.path), operation.value, replace)
        case "remove":
            _taken(document, _tokens(operation.path))
            return document
        case "move":
            value = _taken(document, _tokens(operation.origin))
            return _put(document, _tokens(operation.path), value, replace=False)
        case "copy":
            value = msgspec.json.decode(
                msgspec.json.encode(_found(document, _tokens(operation.origin)))
            )
            return _put(document, _tokens(operation.path), value, replace=False)
        case _:
            raise ValueError(f"unexpected kind: {operation.op}")


def _tokens(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError("a path begins with /")
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


def _found(document: Any, tokens: list[str]) -> Any:
    for token in tokens:
        document = document[_index(document, token) if isinstance(document, list) else token]
    return document


def _index(items: list[Any], token: str) -> int:
    index = int(token)
    if not 0 <= index < len(items):
        raise IndexError(f"index {token} is out of bounds")
    return index


def _put(document: Any, tokens: list[str], value: Any, replace: bool) -> Any:
    if not tokens:
        return value
    parent, last = _found(document, tokens[:-1]), tokens[-1]
    if isinstance(parent, list):
        if replace:
            parent[_index(parent, last)] = value
        elif last == "-":
            parent.append(value)
        else:
            parent.insert(_index([*parent, None], last), value)
    elif isinstance(parent, dict):
        if replace and last not in parent:
            raise KeyError("missing key")
        parent[last] = value
    else:
        raise TypeError("neither a list nor an object")
    return document


def _taken(document: Any, tokens: list[str]) -> Any:
    parent, last = _found(document, tokens[:-1]), tokens[-1]
    return parent.pop(_index(parent, last) if isinstance(parent, list) else last)
