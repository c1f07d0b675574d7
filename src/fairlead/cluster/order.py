"""The order in which kube-scheduler goes through the nodes: a zone at a time, in turns.

Reads: what the table tells of nodes that come, go and change their zone. Writes: its own lists.

It matters only where not all nodes are looked at. The trap: a node that changes its zone keeps
its place until the next node comes or goes, because only then kube-scheduler makes its list anew.
"""

from collections.abc import Mapping
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

Zone = tuple[str, str]

ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
REGION_LABELS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")


def zone_of(labels: Mapping[str, str]) -> Zone:
    """Region and zone; the older labels count first, and a node may have neither."""
    region, zone = (
        next((labels[key] for key in keys if key in labels), "")
        for keys in (REGION_LABELS, ZONE_LABELS)
    )
    return region, zone


class NodeOrder:
    """Rows by zone, in the order in which zones and nodes came."""

    __slots__ = ("_rows", "_zone", "_zones")

    def __init__(self) -> None:
        self._zones: dict[Zone, dict[int, None]] = {}
        self._zone: dict[int, Zone] = {}
        self._rows: NDArray[np.intp] | None = None

    def add(self, row: int, labels: Mapping[str, str]) -> None:
        self._put(row, zone_of(labels))
        self._rows = None

    def move(self, row: int, labels: Mapping[str, str]) -> None:
        """The node has other labels than before."""
        zone = zone_of(labels)
        if zone != self._zone[row]:
            self._take(row)
            self._put(row, zone)

    def remove(self, row: int) -> None:
        self._take(row)
        self._rows = None

    def rows(self) -> NDArray[np.intp]:
        """All rows: the first of each zone, the second of each zone, and so on."""
        if self._rows is None:
            turns = zip_longest(*self._zones.values())
            listed = [row for turn in turns for row in turn if row is not None]
            self._rows = np.array(listed, np.intp)
        return self._rows

    def _put(self, row: int, zone: Zone) -> None:
        self._zone[row] = zone
        self._zones.setdefault(zone, {})[row] = None

    def _take(self, row: int) -> None:
        zone = self._zone.pop(row)
        rows = self._zones[zone]
        del rows[row]
        if not rows:
            del self._zones[zone]
