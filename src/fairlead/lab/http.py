"""Requests and replies of the embedded cluster, whatever carries them."""

from __future__ import annotations

import msgspec

from fairlead.lab.objects import Object
from fairlead.lab.watchhub import Watch

JSON = "application/json"


class Request(msgspec.Struct):
    """One request: the path without the query, parameters once each, the body as it came."""

    method: str
    path: str
    query: dict[str, str] = {}
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON


class Reply(msgspec.Struct):
    """One whole answer."""

    code: int
    body: bytes
    content_type: str = JSON


class Stream(msgspec.Struct):
    """An answer that goes on: a watch."""

    watch: Watch
    content_type: str = JSON


def json_reply(value: Object, code: int = 200, content_type: str = JSON) -> Reply:
    """A reply with `value` as its body."""
    return Reply(code, msgspec.json.encode(value) + b"\n", content_type)


class Accepted(msgspec.Struct, frozen=True):
    """One representation that the client takes: `as_`, group and version are those of Tables."""

    media: str
    as_: str = ""
    group: str = ""
    version: str = ""


def accepted(header: str) -> list[Accepted]:
    """What an Accept header names, in the order in which it names them."""
    found: list[Accepted] = []
    for clause in header.split(","):
        media, *parameters = (each.strip() for each in clause.split(";"))
        named = dict(each.split("=", 1) for each in parameters if "=" in each)
        found.append(Accepted(media, named.get("as", ""), named.get("g", ""), named.get("v", "")))
    return found


def speaks_json(media: str) -> bool:
    """Whether JSON will do for a media range."""
    return media in ("", JSON, "application/*", "*/*")
