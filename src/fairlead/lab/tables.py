"""Tables: the columns that `kubectl get` prints, made by the server as the real one makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from fairlead.lab.columns import CELLS, NAME_AND_AGE, Column
from fairlead.lab.forms import as_shown
from fairlead.lab.objects import Object
from fairlead.lab.resources import Resource
from fairlead.lab.store import Entry

PARTIAL = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}


def table(
    resource: Resource, entries: list[Entry], metadata: Object, now: float, include: str = ""
) -> Object:
    """Entries as a Table; `include` says what of each object goes along (Metadata if empty)."""
    columns, cells = CELLS.get(resource.stored_as, NAME_AND_AGE)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [_definition(each) for each in columns],
        "rows": [_row(resource, each, cells(each.object, now), include) for each in entries],
    }


def _row(resource: Resource, entry: Entry, cells: list[Any], include: str) -> Object:
    row: Object = {"cells": cells}
    if include == "Object":
        head = {"kind": resource.kind, "apiVersion": resource.api_version}
        row["object"] = head | as_shown(resource, entry.object)
    elif include != "None":
        row["object"] = PARTIAL | {"metadata": entry.object["metadata"]}
    return row


def _definition(column: Column) -> Object:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column.name == "Name" else "",
        "description": "",
        "priority": column.priority,
    }


class TableStream:
    """The tables of one watch: the first carries the column definitions, the others leave them."""

    def __init__(self, resource: Resource, now: Callable[[], float], include: str = "") -> None:
        """Tables of `resource`, with ages as `now` gives them."""
        self._resource = resource
        self._now = now
        self._include = include
        self._begun = False

    def show(self, entry: Entry) -> bytes:
        """One object as a table of one row."""
        value = table(self._resource, [entry], {}, self._now(), self._include)
        value["metadata"] = {"resourceVersion": str(entry.revision)}
        if self._begun:
            value["columnDefinitions"] = None
        self._begun = True
        return msgspec.json.encode(value)
