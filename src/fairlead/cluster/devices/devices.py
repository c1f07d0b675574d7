"""All that concerns devices, put together: slices, classes, claims, and what is given out."""

from collections.abc import Hashable, Mapping

from fairlead.cluster.changes import Changes
from fairlead.cluster.devices.allocations import Allocations
from fairlead.cluster.devices.claims import Claims
from fairlead.cluster.devices.classes import Classes
from fairlead.cluster.devices.pools import Pools
from fairlead.cluster.objects import Objects
from fairlead.model.cel.selector import Selector
from fairlead.model.cel.values import CelError
from fairlead.model.resource import DeviceClass

CLASSES: Hashable = "device classes"
"""The fact of which classes there are, and what they stand for."""
MOST_SELECTORS = 1000


class Devices:
    """The devices of one cluster."""

    def __init__(self, objects: Objects, changes: Changes, rows: dict[str, int]) -> None:
        self._changes = changes
        self.pools = Pools(changes, rows)
        self.allocations = Allocations(self.pools.touch)
        self.claims = Claims(objects, changes, self.allocations)
        self.classes = Classes(objects)
        self._selectors: dict[str, Selector | CelError] = {}
        objects.listen("ResourceSlice", self.pools.heard)
        objects.listen("DeviceClass", self._class_heard)
        objects.listen("ResourceClaim", self.claims.heard)

    def obey(self, features: Mapping[str, bool]) -> None:
        """Read slices and claims as these gates have it; before there are any."""
        self.pools.partitions = features.get("DRAPartitionableDevices", False)
        self.claims.sharing = features.get("DRAConsumableCapacity", False)

    def selector(self, text: str) -> Selector:
        """The compiled expression. Raises CelError, each time the same."""
        known = self._selectors.get(text)
        if known is None:
            if len(self._selectors) >= MOST_SELECTORS:
                self._selectors.clear()
            try:
                known = Selector.compile(text)
            except CelError as problem:
                known = problem
            self._selectors[text] = known
        if isinstance(known, CelError):
            raise known
        return known

    def _class_heard(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        self.classes.heard(old, new)
        self._changes.touch(CLASSES)
