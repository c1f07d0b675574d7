"""Kubernetes objects as the embedded cluster keeps them: plain dicts, without kind and apiVersion.

Lists leave kind and apiVersion out of their items, watches and single objects carry them; keeping
them out lets one encoding of an object serve both. A stored object is never changed: a writer makes
a new dict along the path that it changes (`with_value`) and shares the rest.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def nested(value: Mapping[str, Any], *path: str, default: Any = None) -> Any:
    """What lies at `path`, or `default` where a step is missing or null."""
    for step in path:
        found: Any = value.get(step) if isinstance(value, dict) else None
        if found is None:
            return default
        value = found
    return value


def with_value(value: Object, path: tuple[str, ...], new: Any) -> Object:
    """A copy of `value` with `new` at `path`; None takes the field away."""
    copy = dict(value)
    step = path[0]
    if len(path) > 1:
        inner: Any = copy.get(step)
        copy[step] = with_value(inner if isinstance(inner, dict) else {}, path[1:], new)
    elif new is None:
        copy.pop(step, None)
    else:
        copy[step] = new
    return copy


def timestamp(seconds: float) -> str:
    """`metav1.Time`: whole seconds in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str) -> float:
    """The point in time that a `Time` or `MicroTime` names."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def random_suffix(rng: random.Random, length: int = 5) -> str:
    """Characters as generated names end with them: no vowels, no look-alikes."""
    return "".join(rng.choices(SUFFIX_ALPHABET, k=length))


def random_uid(rng: random.Random) -> str:
    """A version 4 UUID from `rng`, so that a seeded cluster names its objects alike each time."""
    digits = f"{rng.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return "-".join(
        (digits[:8], digits[8:12], "4" + digits[13:16], variant + digits[17:20], digits[20:])
    )


def key_of(value: Object) -> tuple[str, str]:
    """Namespace (empty when there is none) and name."""
    metadata = value["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def controller_of(value: Object) -> Object | None:
    """The owner reference that is marked as the controller."""
    references: list[Object] = nested(value, "metadata", "ownerReferences", default=[])
    return next((each for each in references if each.get("controller")), None)
