"""Plugin arguments as kube-scheduler prints its internal types: with Go's own field names.

What stems from core/v1 keeps the names of the API, and leaves out what is empty.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.config import corev1
from fairlead.config.field import compact
from fairlead.config.golang import Duration


def internal_json(args: msgspec.Struct) -> str:
    """The arguments as one line of JSON."""
    return compact(_plain(args))


def _plain(value: Any) -> Any:
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value] or None
    if not isinstance(value, msgspec.Struct):
        return value
    fields = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
    if type(value).__module__ == corev1.__name__:
        return {key: _plain(item) for name, key in fields if (item := getattr(value, name))}
    return {
        f"{key[0].upper()}{key[1:]}": _plain(getattr(value, name))
        for name, key in fields
        if key not in ("kind", "apiVersion")
    }
