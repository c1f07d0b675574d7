"""From bytes to structs: whatever comes in, the struct or one DecodeError goes out."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from fairlead.model.errors import DecodeError

T = TypeVar("T")

_LONGEST = 300


class _Name(Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Named(Struct, frozen=True):
    metadata: _Name = _Name()


class _NamedEvent(Struct, frozen=True):
    object: _Named = _Named()


def reader(kind: type[T], what: str) -> Callable[[bytes | Raw], T]:
    """A function that reads a value of this type, or raises DecodeError beginning with `what`.

    A null where a value should be counts as absent, as in Go. That is found out only after the
    first attempt has failed, so that the API server's own output, which has none, pays nothing.
    """
    decode = msgspec.json.Decoder(kind).decode

    def read(data: bytes | Raw) -> T:
        try:
            return decode(data)
        except (ValueError, RecursionError) as error:
            failure = error
        try:
            if isinstance(failure, msgspec.ValidationError) and b"null" in bytes(data):
                return decode(msgspec.json.encode(_without_nulls(msgspec.json.decode(data))))
        except (ValueError, RecursionError) as error:
            failure = error
        raise DecodeError(f"{what}{_name_in(data)}: {_told(failure)}")

    return read


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _name_in(data: bytes | Raw) -> str:
    """The name of the object in these bytes, if that much can be read."""
    for kind in (_Named, _NamedEvent):
        try:
            found = msgspec.json.decode(data, type=kind)
        except (ValueError, RecursionError):
            continue
        name = found.metadata if isinstance(found, _Named) else found.object.metadata
        if name.name:
            return f" {name.namespace}/{name.name}" if name.namespace else f" {name.name}"
    return ""


def _told(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    text = " ".join(str(error).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
