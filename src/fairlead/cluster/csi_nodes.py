"""What nodes can do with storage: their drivers' limits, and which old kinds have moved to CSI.

Reads: CSINode objects, which have their node's name. Writes: its columns, and the marks of VOLUMES
and STORAGE on the node's row. A CSINode may come before its node, and outlive it.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.columns import Columns, Int64, Mask, longer
from fairlead.cluster.objects import Objects
from fairlead.model.csi_migration import MIGRATED_PLUGINS
from fairlead.model.storage import CSINode

NO_LIMIT = 2**62
NO_LIMITS: Mapping[str, int] = MappingProxyType({})
NO_PLUGINS: frozenset[str] = frozenset()


class CSINodes:
    """Row form and column form of the same, kept in step."""

    def __init__(
        self, columns: Columns, changes: Changes, objects: Objects, rows: Mapping[str, int]
    ) -> None:
        self._columns = columns
        self._changes = changes
        self._objects = objects
        self._rows = rows
        self.present: Mask = np.zeros(columns.room, np.bool_)
        self._limits: dict[str, Int64] = {}
        self._migrated: dict[str, Mask] = {}
        objects.listen("CSINode", self._changed)

    def get(self, node_name: str) -> CSINode | None:
        return self._objects.get("CSINode", "", node_name)  # type: ignore[return-value]

    def limit(self, driver: str) -> Int64 | None:
        """How many volumes of the driver each row can attach; None if no row has a limit."""
        return self._limits.get(driver)

    def migrated(self, plugin: str) -> Mask | None:
        """The rows where the kind has moved to its driver; None if there is none."""
        return self._migrated.get(plugin)

    def node_added(self, row: int, name: str) -> None:
        self._write(row, self.get(name))

    def node_removed(self, row: int) -> None:
        self._write(row, None)

    def grow(self) -> None:
        room = self._columns.room
        self.present = longer(self.present, room)
        for plugin, mask in self._migrated.items():
            self._migrated[plugin] = longer(mask, room)
        for driver, limits in self._limits.items():
            wide = np.full(room, NO_LIMIT, np.int64)
            wide[: len(limits)] = limits
            self._limits[driver] = wide

    def _changed(self, old: CSINode | None, new: CSINode | None) -> None:
        node = new or old
        assert node is not None, "a change is of something"
        row = self._rows.get(node.metadata.name)
        if row is not None and facts_of(old) != facts_of(new):
            self._write(row, new)
            self._changes.mark(Aspect.VOLUMES, row)
            self._changes.mark(Aspect.STORAGE, row)

    def _write(self, row: int, node: CSINode | None) -> None:
        self.present[row] = node is not None
        for limits in self._limits.values():
            limits[row] = NO_LIMIT
        for mask in self._migrated.values():
            mask[row] = False
        for driver, limit in limits_of(node).items():
            if driver not in self._limits:
                self._limits[driver] = np.full(self._columns.room, NO_LIMIT, np.int64)
            self._limits[driver][row] = limit
        for plugin in migrated_plugins(node):
            if plugin not in self._migrated:
                self._migrated[plugin] = np.zeros(self._columns.room, np.bool_)
            self._migrated[plugin][row] = True


def limits_of(node: CSINode | None) -> Mapping[str, int]:
    """How many volumes the node can attach, by driver; a driver that is absent has no limit."""
    if node is None:
        return NO_LIMITS
    return {
        driver.name: driver.allocatable.count
        for driver in node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def migrated_plugins(node: CSINode | None) -> frozenset[str]:
    """The old kinds whose volumes the node's drivers handle."""
    listed = "" if node is None else node.metadata.annotations.get(MIGRATED_PLUGINS, "")
    return frozenset(listed.split(",")) if listed else NO_PLUGINS


def facts_of(node: CSINode | None) -> object:
    return None if node is None else (node.spec, migrated_plugins(node))
