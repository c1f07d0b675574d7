"""Request bodies in protobuf, as kubectl's own commands and Go programs send them.

`protobuf.json` gives each field's name by its number, drawn from the tags of Kubernetes 1.36;
`+Type` is a message whose fields belong to the one around it. The types of fields are those of the
schema. Answers are always JSON; clients that send protobuf take it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from fairlead.lab.objects import Object, timestamp
from fairlead.lab.schema import Field, Type, schema
from fairlead.lab.status import ApiError, bad_request

PROTOBUF = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
OPTIONS = "meta.v1.DeleteOptions"
VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5
Numbers = dict[str, dict[int, str]]


class _Malformed(Exception):  # noqa: N818 - it is turned into a Status at once
    """Bytes that are no protobuf message."""


@cache
def _numbers() -> Numbers:
    text = files("fairlead.lab").joinpath("protobuf.json").read_bytes()
    return msgspec.json.decode(text, type=Numbers, strict=False)


def from_protobuf(body: bytes, kind: str) -> Object:
    """The object in a body that should hold a `kind`, with kind and apiVersion, as JSON has it."""
    if not body.startswith(MAGIC):
        raise _unreadable(kind, "provided data does not appear to be a protobuf message")
    try:
        envelope = dict(_parts(body[len(MAGIC) :]))
        meta = dict(_parts(_message(envelope.get(1, b""))))
        version, found = _text(meta.get(1, b"")), _text(meta.get(2, b""))
        group, _, version_only = version.rpartition("/")
        name = schema().kinds.get(f"{group} {version_only} {found}")
        if name is None and found == "DeleteOptions":
            name = OPTIONS
        if name is None:
            raise bad_request(
                f'{found} in version "{version}" cannot be handled as a {kind}: no kind '
                f'"{found}" is registered for version "{version}"'
            )
        value = _object(_message(envelope.get(2, b"")), name, schema().types[name])
    except (_Malformed, RecursionError) as problem:
        raise _unreadable(kind, str(problem)) from None
    return {"kind": found, "apiVersion": version} | value


def _unreadable(kind: str, why: str) -> ApiError:
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}")


def _parts(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values; fixed-width ones, which no object has, are left out."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, position = _varint(data, position)
            yield number, value
        elif wire == BYTES:
            length, position = _varint(data, position)
            if position + length > len(data):
                raise _Malformed("unexpected EOF")
            yield number, data[position : position + length]
            position += length
        elif wire in (EIGHT, FOUR):
            position += 8 if wire == EIGHT else 4
        else:
            raise _Malformed(f"proto: illegal wireType {wire}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        if position >= len(data):
            raise _Malformed("unexpected EOF")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
    raise _Malformed("proto: integer overflow")


def _object(data: bytes, name: str, fields: Type) -> Object:
    """A message of type `name`; `fields` are those of the JSON object that it is part of."""
    result: Object = {}
    numbers = _numbers().get(name, {})
    for number, raw in _parts(data):
        word = numbers.get(number, "")
        if word.startswith("+"):
            result |= _object(_message(raw), word[1:], fields)
            continue
        field = fields.get(word)
        if field is None:
            continue
        _take(result, word, field, raw)
    return result


def _take(result: Object, key: str, field: Field, raw: int | bytes) -> None:
    if field.shape == "[]":
        result.setdefault(key, []).append(_value(raw, field.element))
    elif field.shape == "{}":
        entry = dict(_parts(_message(raw)))
        value = _value(entry.get(2, b""), field.element)
        result.setdefault(key, {})[_text(entry.get(1, b""))] = value
    else:
        value = _value(raw, field.element)
        if value is not None and (value or not field.omits_zero):
            result[key] = value


def _value(raw: int | bytes, element: str) -> Any:
    match element:
        case "string":
            return _text(raw)
        case "boolean":
            return bool(_number(raw))
        case "int32" | "int64":
            number = _number(raw)
            return number - 2**64 if number >= 2**63 else number
        case "quantity":
            return _text(dict(_parts(_message(raw))).get(1, b"")) or "0"
        case "time" | "microtime":
            return _time(_message(raw), element == "microtime")
        case "intstr":
            return _int_or_string(_message(raw))
        case "bytes":
            return base64.b64encode(_message(raw)).decode()
        case "any":
            return _embedded(_message(raw))
        case _:
            return _object(_message(raw), element, schema().types[element])


def _message(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise _Malformed("proto: wrong wireType = 0")
    return raw


def _number(raw: int | bytes) -> int:
    if isinstance(raw, bytes):
        raise _Malformed("proto: wrong wireType = 2")
    return raw


def _text(raw: int | bytes) -> str:
    try:
        return _message(raw).decode()
    except UnicodeDecodeError:
        raise _Malformed("proto: invalid UTF-8") from None


def _time(data: bytes, micro: bool) -> str | None:
    """A point in time; the empty message is Go's zero time, which JSON shows as null."""
    parts = dict(_parts(data))
    if not parts:
        return None
    seconds, nanos = _number(parts.get(1, 0)), _number(parts.get(2, 0))
    if not 0 <= seconds < 253_402_300_800 or nanos >= 1_000_000_000:
        return None
    whole = timestamp(seconds)
    return f"{whole[:-1]}.{nanos // 1000:06d}Z" if micro else whole


def _int_or_string(data: bytes) -> int | str:
    parts = dict(_parts(data))
    if _number(parts.get(1, 0)) == 1:
        return _text(parts.get(3, b""))
    return int(_value(parts.get(2, 0), "int32"))


def _embedded(data: bytes) -> Any:
    """JSON within protobuf: raw extensions and managed fields."""
    try:
        return msgspec.json.decode(_message(dict(_parts(data)).get(1, b"null")))
    except msgspec.DecodeError as problem:
        raise _Malformed(str(problem)) from None
