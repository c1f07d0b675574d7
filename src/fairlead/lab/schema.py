"""The fields of every served type, read from `schema.json`: names, types and merge keys.

The file is drawn from the OpenAPI document of Kubernetes 1.36. A field's type is a word: a scalar
(`string`, `boolean`, `int32`, `int64`, `quantity`, `time`, `microtime`, `intstr`, `bytes`), `any`,
another type's name, `[]T` or `{}T`; `?` marks a field that Go leaves out when it is empty; behind
`|` stand the merge key and the patch strategy.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from fairlead.lab.resources import Resource


class Field(msgspec.Struct, frozen=True):
    """One field: its shape (`""`, `[]` or `{}`), the type of its element, how it is patched.

    One that omits zero is left out of JSON when it is empty, false or 0.
    """

    shape: str
    element: str
    merge_key: str = ""
    strategy: str = ""
    omits_zero: bool = False


Type = dict[str, Field]


class Schema(msgspec.Struct, frozen=True):
    """All types by name, and the type of each kind by `group version kind`."""

    kinds: dict[str, str]
    types: dict[str, Type]

    def type_of(self, group: str, version: str, kind: str) -> Type | None:
        """The fields of a kind."""
        name = self.kinds.get(f"{group} {version} {kind}")
        return None if name is None else self.types[name]

    def of(self, resource: Resource) -> Type:
        """The fields of a resource's objects."""
        return self.types[self.kinds[f"{resource.group} {resource.version} {resource.kind}"]]


class _Raw(msgspec.Struct):
    kinds: dict[str, str]
    types: dict[str, dict[str, str]]


@cache
def schema() -> Schema:
    """The schema, read once."""
    text = files("fairlead.lab").joinpath("schema.json").read_bytes()
    raw = msgspec.json.decode(text, type=_Raw)
    types = {
        name: {field: _field(word) for field, word in fields.items()}
        for name, fields in raw.types.items()
    }
    return Schema(raw.kinds, types)


def _field(word: str) -> Field:
    kind, _, patching = word.partition("|")
    merge_key, _, strategy = patching.partition("|")
    shape = kind[:2] if kind[:2] in ("[]", "{}") else ""
    element = kind[len(shape) :].removesuffix("?")
    return Field(shape, element, merge_key, strategy, kind.endswith("?"))
