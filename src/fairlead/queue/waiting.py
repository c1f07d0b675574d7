"""Pods that wait for something to change: found unschedulable, or gated and never tried.

They stand in groups by rejection (profile, rejecting plugins, gating plugin). Whether an event
concerns a pod depends on nothing else, so an event looks at a few groups and not at the pods of
those whose plugins did not register it.
"""

from collections.abc import Iterator

from fairlead.queue.entry import QueuedPodInfo, Rejection


class Group:
    """The waiting pods with one rejection, in the order they came."""

    __slots__ = ("entries", "rejection")

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        self.entries: dict[str, QueuedPodInfo] = {}


class WaitingPods:
    """All waiting pods. Writes: the `group` of entries."""

    __slots__ = ("_groups", "_size")

    def __init__(self) -> None:
        self._groups: dict[Rejection, Group] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return (entry for group in self._groups.values() for entry in group.entries.values())

    @property
    def gated(self) -> int:
        """How many of them are gated."""
        return sum(
            len(group.entries) for group in self._groups.values() if group.rejection.gating_plugin
        )

    def groups(self) -> list[Group]:
        """The groups there are now; the list is the caller's own."""
        return list(self._groups.values())

    def put(self, entry: QueuedPodInfo) -> None:
        """Put a pod where its rejection belongs, whether it is waiting already or not."""
        rejection = entry.rejection
        if entry.group is not None:
            if entry.group.rejection == rejection:
                return
            self.remove(entry)
        group = self._groups.get(rejection)
        if group is None:
            group = self._groups[rejection] = Group(rejection)
        group.entries[entry.pod.uid] = entry
        entry.group = group
        self._size += 1

    def remove(self, entry: QueuedPodInfo) -> None:
        """Take out a waiting pod; its rejection may have changed since it was put in."""
        group = entry.group
        assert group is not None
        del group.entries[entry.pod.uid]
        if not group.entries:
            del self._groups[group.rejection]
        entry.group = None
        self._size -= 1
