"""Lists: the newest or an older state, in pages, filtered."""

from __future__ import annotations

import base64
import binascii

import msgspec

from fairlead.lab.forms import shown_by
from fairlead.lab.objects import Object
from fairlead.lab.resources import Resource
from fairlead.lab.status import (
    ApiError,
    bad_request,
    expired,
    failure,
    forbidden_field,
    invalid_kind,
    unsupported,
)
from fairlead.lab.store import Entry, Key, Store
from fairlead.lab.watchhub import Selection

CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter."
)


class _Token(msgspec.Struct, rename={"version": "v", "revision": "rv"}):
    version: str
    revision: int
    start: str


class Page(msgspec.Struct):
    """Part of a list: the entries, the revision they show, and how to go on."""

    entries: list[Entry]
    revision: int
    onward: str = ""
    remaining: int | None = None

    @property
    def metadata(self) -> Object:
        """`metav1.ListMeta`."""
        metadata: Object = {"resourceVersion": str(self.revision)}
        if self.onward:
            metadata["continue"] = self.onward
        if self.remaining is not None:
            metadata["remainingItemCount"] = self.remaining
        return metadata

    def body(self, resource: Resource) -> bytes:
        """The list in JSON."""
        seen = shown_by(resource)
        return b'{"kind":"%sList","apiVersion":"%s","metadata":%s,"items":[%s]}\n' % (
            resource.kind.encode(),
            resource.api_version.encode(),
            msgspec.json.encode(self.metadata),
            b",".join([each.body(resource, seen) for each in self.entries]),
        )


def revision_of(query: dict[str, str]) -> int | None:
    """`resourceVersion` as a number; None when it is not given."""
    text = query.get("resourceVersion", "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        words = (
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": '
            "invalid syntax"
        )
        if query.get("watch"):
            raise failure(500, "", words)
        raise bad_request(f"invalid resource version: {words}")
    return int(text)


def too_new(revision: int, current: int) -> ApiError:
    """The client has seen a revision that this cluster has not reached (it was made anew)."""
    return failure(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {revision}, current: {current}",
        {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
    )


def check_match(query: dict[str, str]) -> None:
    """Refuse combinations of list parameters that mean nothing."""
    match = query.get("resourceVersionMatch", "")
    errors = []
    if match:
        field, version = "resourceVersionMatch", query.get("resourceVersion", "")
        if not version:
            errors.append(
                forbidden_field(
                    field, "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            )
        if query.get("continue"):
            errors.append(
                forbidden_field(
                    field, "resourceVersionMatch is forbidden when continue is provided"
                )
            )
        if match not in ("Exact", "NotOlderThan"):
            errors.append(unsupported(field, match, ["Exact", "NotOlderThan", ""]))
        if match == "Exact" and version == "0":
            errors.append(
                forbidden_field(
                    field,
                    'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
                )
            )
    if "sendInitialEvents" in query:
        errors.append(
            forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list")
        )
    if errors:
        raise invalid_kind("meta.k8s.io", "ListOptions", "", errors)


def page(store: Store, resource: Resource, selection: Selection, query: dict[str, str]) -> Page:
    """The part of a list that a request asks for."""
    check_match(query)
    limit, revision = _limit(query), revision_of(query)
    start: Key | None = None
    entries = store.shelf(resource).entries
    shown = store.revision
    if query.get("continue"):
        if revision:
            raise bad_request("specifying resource version is not allowed when using continue")
        token = _read(query["continue"])
        shown, start = token.revision, _key(token.start)
        past = store.at(resource, shown)
        if past is None:
            raise expired(CONTINUE_EXPIRED)
        entries = past
    elif revision is not None:
        if revision > store.revision:
            raise too_new(revision, store.revision)
        exact = query.get("resourceVersionMatch") == "Exact" or (
            limit and revision and "resourceVersionMatch" not in query
        )
        if exact:
            past = store.at(resource, revision)
            if past is None:
                raise expired("The resourceVersion for the provided list is too old.")
            entries, shown = past, revision
    keys = sorted(
        key
        for key in entries
        if (not selection.namespace or key[0] == selection.namespace)
        and (start is None or key >= start)
    )
    return _cut(entries, keys, selection, limit, shown)


def _cut(
    entries: dict[Key, Entry], keys: list[Key], selection: Selection, limit: int, shown: int
) -> Page:
    found: list[Entry] = []
    for position, key in enumerate(keys):
        entry = entries[key]
        if selection.test is not None and not selection.test(entry.object):
            continue
        if limit and len(found) == limit:
            rest = None if selection.test is not None else len(keys) - position
            return Page(
                found, shown, _written(_Token("meta.k8s.io/v1", shown, "/".join(key))), rest
            )
        found.append(entry)
    return Page(found, shown)


def _limit(query: dict[str, str]) -> int:
    text = query.get("limit", "0") or "0"
    if not text.isascii() or not text.lstrip("-").isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return max(int(text), 0)


def _key(text: str) -> Key:
    namespace, _, name = text.partition("/")
    return namespace, name


def _written(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _read(text: str) -> _Token:
    try:
        padded = text + "=" * (-len(text) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except (binascii.Error, ValueError) as problem:
        raise bad_request(f"invalid continue token: continue key is not valid: {problem}") from None
