"""Errors about fields, and the checks of names that they quote, in the API's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from fairlead.config.errors import Problem
from fairlead.config.golang import quote, quote_json

Value = str | int | bool | float

LABEL_LENGTH: Final = 63
SUBDOMAIN_LENGTH: Final = 253
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME_WORDS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '"
    f"{_NAME}')"
)
_VALUE_WORDS: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character"
    " (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '"
    f"({_NAME})?')"
)
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_WORDS: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character"
    f" (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_NAME_PATTERN: Final = re.compile(_NAME)
_SUBDOMAIN_PATTERN: Final = re.compile(_SUBDOMAIN)


def invalid(path: str, value: Value, detail: str) -> Problem:
    return Problem(f"{path}: Invalid value: {_spell(value)}: {detail}", path)


def invalid_json(path: str, value: str, detail: str) -> Problem:
    """As `invalid`, of a value that is neither text nor number and was spelled as JSON."""
    return Problem(f"{path}: Invalid value: {value}: {detail}", path)


def required(path: str, detail: str = "") -> Problem:
    return Problem(f"{path}: Required value{': ' + detail if detail else ''}", path)


def forbidden(path: str, detail: str) -> Problem:
    return Problem(f"{path}: Forbidden: {detail}", path)


def duplicate(path: str, value: Value) -> Problem:
    return Problem(f"{path}: Duplicate value: {_spell(value)}", path)


def unsupported(path: str, value: str, supported: Iterable[str]) -> Problem:
    """A word that is none of the supported ones."""
    known = tuple(supported)
    listed = ", ".join(quote(word) for word in known)
    return Problem(
        f"{path}: Unsupported value: {quote_json(value)}: supported values: {listed}",
        path,
        given=value,
        known=known,
    )


def aggregate(problems: Iterable[Problem]) -> str:
    """The messages as one text: bare if there is one, else listed without repetition."""
    messages = list(dict.fromkeys(problem.message for problem in problems))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


def compact(value: object) -> str:
    """The value as compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def label_key_faults(text: str) -> list[str]:
    """What keeps the text from being a label key; also called a qualified name."""
    parts = text.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {_NAME_WORDS}"
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    faults: list[str] = []
    if len(parts) == 2 and not parts[0]:
        faults.append("prefix part must be non-empty")
    elif len(parts) == 2:
        faults.extend(f"prefix part {fault}" for fault in _subdomain_faults(parts[0]))
    name = parts[-1]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > LABEL_LENGTH:
        faults.append(f"name part must be no more than {LABEL_LENGTH} bytes")
    if not _NAME_PATTERN.fullmatch(name):
        faults.append(f"name part {_NAME_WORDS}")
    return faults


def label_value_faults(text: str) -> list[str]:
    """What keeps the text from being the value of a label."""
    faults: list[str] = []
    if len(text.encode()) > LABEL_LENGTH:
        faults.append(f"must be no more than {LABEL_LENGTH} bytes")
    if text and not _NAME_PATTERN.fullmatch(text):
        faults.append(_VALUE_WORDS)
    return faults


def check_label_name(text: str, path: str) -> list[Problem]:
    return [invalid(path, text, fault) for fault in label_key_faults(text)]


def is_extended_resource(name: str) -> bool:
    """Whether the name may be that of a resource which Kubernetes itself does not know."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not label_key_faults(f"requests.{name}")


def _subdomain_faults(text: str) -> list[str]:
    faults: list[str] = []
    if len(text.encode()) > SUBDOMAIN_LENGTH:
        faults.append(f"must be no more than {SUBDOMAIN_LENGTH} bytes")
    if not _SUBDOMAIN_PATTERN.fullmatch(text):
        faults.append(_SUBDOMAIN_WORDS)
    return faults


def _spell(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quote(value) if isinstance(value, str) else str(value)
