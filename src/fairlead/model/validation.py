"""What makes a label key or value valid, in the words of the API server."""

import re
from typing import NamedTuple

import msgspec

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_KEY})?"
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_KEY_RE = re.compile(_KEY)
_VALUE_RE = re.compile(_VALUE)

_SHAPE = (
    "consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_BAD_NAME = (
    f"must {_SHAPE} (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_KEY}')"
)
_BAD_VALUE = (
    f"a valid label must be an empty string or {_SHAPE} (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '{_VALUE}')"
)
_BAD_PREFIX = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


class InvalidField(NamedTuple):
    """A field with a value that is refused, and why."""

    path: str
    value: str | list[str]
    detail: str

    @property
    def text(self) -> str:
        """The one line that the API server would write."""
        return f"{self.path}: Invalid value: {quoted(self.value)}: {self.detail}"


def quoted(value: str | list[str]) -> str:
    """A value as messages show it, in quotes; an empty list is null, as it comes over the wire."""
    return "null" if value == [] else msgspec.json.encode(value).decode()


def label_key_faults(key: str, path: str) -> list[str]:
    """Why a key cannot be that of a label; an empty list if it can."""
    faults = _key_faults(key)
    return [InvalidField(path, key, "; ".join(faults)).text] if faults else []


def _key_faults(key: str) -> list[str]:
    faults: list[str] = []
    parts = key.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {_BAD_NAME} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    if len(parts) == 2:
        prefix = parts[0]
        if not prefix:
            faults.append("prefix part must be non-empty")
        else:
            if len(prefix.encode()) > 253:
                faults.append("prefix part must be no more than 253 bytes")
            if _SUBDOMAIN_RE.fullmatch(prefix) is None:
                faults.append(_BAD_PREFIX)
    name = parts[-1]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        faults.append("name part must be no more than 63 bytes")
    if _KEY_RE.fullmatch(name) is None:
        faults.append(f"name part {_BAD_NAME}")
    return faults


def label_value_faults(key: str, value: str, path: str) -> list[str]:
    """Why a value cannot be that of a label; an empty list if it can."""
    faults: list[str] = []
    if len(value.encode()) > 63:
        faults.append("must be no more than 63 bytes")
    if _VALUE_RE.fullmatch(value) is None:
        faults.append(_BAD_VALUE)
    return [InvalidField(f"{path}[{key}]", value, "; ".join(faults)).text] if faults else []
