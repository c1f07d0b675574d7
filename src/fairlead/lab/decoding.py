"""Request bodies become objects as the real server's decoder makes them.

Fields of the wrong type are refused, unknown ones are dropped (or refused with
`fieldValidation=Strict`), nulls and empty lists and maps vanish, as they do on a round trip through
Go's types.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import yaml

from fairlead.lab.objects import Object, seconds_of
from fairlead.lab.protobuf import PROTOBUF, from_protobuf
from fairlead.lab.resources import BY_KIND
from fairlead.lab.schema import Field, Type, schema
from fairlead.lab.status import ApiError, bad_request, failure

JSON = "application/json"
YAML = "application/yaml"
QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?[0-9]{1,3}))?"
)
QUANTITY_WORDS = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
INTEGERS = {"int32": 2**31, "int64": 2**63}


class _Mismatch(Exception):  # noqa: N818 - it is turned into a Status at once
    """A value that Go's decoder does not take for the field."""


class Decoder(msgspec.Struct):
    """One body of one kind: `unknown` collects the fields that the type has not."""

    kind: str
    version: str
    unknown: list[str] = []

    def object(self, value: Object, fields: Type, struct: str) -> Object:
        """`value` with the fields of its type alone."""
        return self._struct(value, fields, struct, "", "")

    def _struct(self, value: Object, fields: Type, struct: str, path: str, spot: str) -> Object:
        result: Object = {}
        for name, item in value.items():
            if item is None:
                continue
            field = fields.get(name)
            if field is None:
                self.unknown.append(f"{spot}{name}")
                continue
            where = f"{struct}.{path}{name}"
            taken = self._field(item, field, where, f"{path}{name}", f"{spot}{name}")
            if taken or not (field.shape or field.omits_zero):
                result[name] = taken
        return result

    def _field(self, item: Any, field: Field, where: str, path: str, spot: str) -> Any:
        if field.shape == "[]":
            if not isinstance(item, list):
                raise _unmarshal(item, where, f"[]{_go_type(field.element)}")
            return [
                self._value(each, field.element, where, path, f"{spot}[{index}]")
                for index, each in enumerate(item)
            ]
        if field.shape == "{}":
            if not isinstance(item, dict):
                raise _unmarshal(item, where, f"map[string]{_go_type(field.element)}")
            return {
                key: self._value(each, field.element, where, path, f"{spot}.{key}")
                for key, each in item.items()
            }
        return self._value(item, field.element, where, path, spot)

    def _value(self, item: Any, element: str, where: str, path: str, spot: str) -> Any:
        scalar = SCALARS.get(element)
        if scalar is not None:
            return scalar(item, where)
        if not isinstance(item, dict):
            raise _unmarshal(item, where, _go_type(element))
        struct = element.rsplit(".", 1)[-1]
        return self._struct(item, schema().types[element], struct, f"{path}.", f"{spot}.")


def _go_type(element: str) -> str:
    if element in SCALARS:
        return {"boolean": "bool", "bytes": "[]uint8", "quantity": "resource.Quantity"}.get(
            element, element
        )
    return "v1." + element.rsplit(".", 1)[-1]


def _json_type(item: object) -> str:
    match item:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _unmarshal(item: object, where: str, wanted: str) -> _Mismatch:
    return _Mismatch(
        f"json: cannot unmarshal {_json_type(item)} into Go struct field {where} of type {wanted}"
    )


def _string(item: Any, where: str) -> str:
    if not isinstance(item, str):
        raise _unmarshal(item, where, "string")
    return item


def _boolean(item: Any, where: str) -> bool:
    if not isinstance(item, bool):
        raise _unmarshal(item, where, "bool")
    return item


def _integer(word: str) -> Callable[[Any, str], int]:
    def read(item: Any, where: str) -> int:
        if isinstance(item, float) and item.is_integer():
            item = int(item)
        bound = INTEGERS[word]
        if isinstance(item, bool) or not isinstance(item, int) or not -bound <= item < bound:
            raise _unmarshal(item, where, word)
        return item

    return read


def _quantity(item: Any, _: str) -> str:
    text = str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item
    if not isinstance(text, str) or QUANTITY.fullmatch(text) is None:
        raise _Mismatch(QUANTITY_WORDS)
    return text


def _time(item: Any, where: str) -> str:
    text = _string(item, where)
    try:
        seconds_of(text)
    except ValueError:
        raise _Mismatch(
            f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}"'
        ) from None
    return text


def _int_or_string(item: Any, where: str) -> int | str:
    if isinstance(item, bool) or not isinstance(item, int | str):
        raise _unmarshal(item, where, "intstr.IntOrString")
    return item


def _any(item: Any, _: str) -> Any:
    return item


SCALARS: dict[str, Callable[[Any, str], Any]] = {
    "string": _string,
    "bytes": _string,
    "boolean": _boolean,
    "int32": _integer("int32"),
    "int64": _integer("int64"),
    "quantity": _quantity,
    "time": _time,
    "microtime": _time,
    "intstr": _int_or_string,
    "any": _any,
}


def amount(text: str) -> Decimal:
    """The number that a quantity stands for."""
    match = QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(QUANTITY_WORDS)
    digits, suffix, exponent = match.groups()
    number = Decimal(digits)
    if suffix:
        return number * SUFFIXES[suffix]
    return number.scaleb(int(exponent)) if exponent else number


def parse(body: bytes, content_type: str, kind: str) -> Object:
    """The object in a body that should hold a `kind`: JSON, YAML or protobuf."""
    media = content_type.partition(";")[0].strip().lower()
    if media == PROTOBUF:
        return from_protobuf(body, kind)
    try:
        if media in ("", JSON):
            value = msgspec.json.decode(body)
        elif media == YAML:
            value = yaml.safe_load(body)
        else:
            raise unsupported_media()
    except (msgspec.DecodeError, yaml.YAMLError, RecursionError) as problem:
        words = "couldn't get version/kind; json parse error"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {words}: {problem}"
        ) from None
    if not isinstance(value, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind})")
    return value


def unsupported_media() -> ApiError:
    """The body is in no format that the API reads."""
    return failure(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
    )


def typed(value: Object, group: str, version: str, kind: str, strict: bool = False) -> Object:
    """`value` as an object of a kind, without kind and apiVersion; or a 400 in Go's words."""
    api_version = f"{group}/{version}" if group else version
    for field in ("kind", "apiVersion"):
        if not isinstance(value.get(field) or "", str):
            words = f"cannot unmarshal {_json_type(value[field])} into Go struct field .{field}"
            raise bad_request(
                f"the object provided is unrecognized (must be of type {kind}): couldn't get "
                f"version/kind; json parse error: json: {words} of type string"
            )
    found_kind, found_version = value.get("kind") or kind, value.get("apiVersion") or api_version
    if (found_kind, found_version) != (kind, api_version):
        said = f'{found_kind} in version "{found_version}" cannot be handled as a {kind}: '
        if (found_version, found_kind) not in BY_KIND:
            raise bad_request(
                f'{said}no kind "{found_kind}" is registered for version "{found_version}" in '
                'scheme "pkg/runtime/scheme.go:111"'
            )
        internal = group.partition(".")[0] or "core"
        raise bad_request(
            f"{said}converting ({found_version.rsplit('/', 1)[-1]}.{found_kind}) to "
            f"({internal}.{kind}): unknown conversion"
        )
    return retyped(value, group, version, kind, strict)


def retyped(value: Object, group: str, version: str, kind: str, strict: bool = False) -> Object:
    """The same for a value whose kind is known."""
    fields = schema().type_of(group, version, kind)
    assert fields is not None, kind
    decoder = Decoder(kind, version, [])
    said = f'{kind} in version "{version}" cannot be handled as a {kind}: '
    bare = {key: each for key, each in value.items() if key not in ("kind", "apiVersion")}
    try:
        result = decoder.object(bare, fields, kind)
    except _Mismatch as problem:
        raise bad_request(f"{said}{problem}") from None
    except RecursionError:
        raise bad_request(f"{said}exceeded max depth") from None
    if strict and decoder.unknown:
        unknown = ", ".join(f'unknown field "{each}"' for each in decoder.unknown)
        raise bad_request(f"{said}strict decoding error: {unknown}")
    return result
