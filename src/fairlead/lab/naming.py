"""Names, labels and keys that the API server takes, and its words for the others."""

from __future__ import annotations

import re

from fairlead.lab.status import FieldError, invalid_value

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED_WORDS = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_KEY_WORDS = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
    "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "
    "subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
LABEL_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def name_errors(field: str, name: str, label: bool) -> list[FieldError]:
    """A name that is no DNS label or subdomain."""
    longest, pattern, words = (
        (63, LABEL, LABEL_WORDS) if label else (253, SUBDOMAIN, SUBDOMAIN_WORDS)
    )
    errors: list[FieldError] = []
    if len(name) > longest:
        errors.append(invalid_value(field, name, f"must be no more than {longest} bytes"))
    if pattern.fullmatch(name) is None:
        errors.append(invalid_value(field, name, words))
    return errors


def label_errors(field: str, labels: dict[str, str]) -> list[FieldError]:
    """Keys and values that no selector could name."""
    errors: list[FieldError] = []
    for key, value in sorted(labels.items()):
        errors += key_errors(field, key)
        if len(value) > 63:
            errors.append(invalid_value(field, value, "must be no more than 63 bytes"))
        if LABEL_VALUE.fullmatch(value) is None:
            errors.append(invalid_value(field, value, LABEL_VALUE_WORDS))
    return errors


def key_errors(field: str, key: str) -> list[FieldError]:
    """A qualified name: an optional DNS prefix and a name."""
    if key.count("/") > 1:
        return [invalid_value(field, key, LABEL_KEY_WORDS)]
    prefix, slash, name = key.rpartition("/")
    if slash and (not prefix or SUBDOMAIN.fullmatch(prefix) is None):
        return [invalid_value(field, key, f"prefix part {SUBDOMAIN_WORDS}")]
    if not name:
        return [
            invalid_value(field, key, "name part must be non-empty"),
            invalid_value(field, key, QUALIFIED_WORDS),
        ]
    if len(name) > 63:
        return [invalid_value(field, key, "name part must be no more than 63 bytes")]
    if QUALIFIED.fullmatch(name) is None:
        return [invalid_value(field, key, QUALIFIED_WORDS)]
    return []
