"""Pools of devices as a node sees them: the newest generation, whole and sound, or not.

    ResourceSlices ──► by node, by pool ──► `Pools.seen_from(node)`: kept until one of them changes

A driver replaces the slices of a pool one after the other: meanwhile the pool is incomplete, and
nothing is taken from it. A slice with counters concerns every node, because its pool may.
"""

from collections.abc import Hashable, Iterable, Sequence

from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.devices.inventory import Nanos, PoolId, Slice
from fairlead.cluster.nodeinfo import NodeInfo
from fairlead.model.resource import ResourceSlice

Counters = dict[str, Nanos]
"""Amounts by set and name."""
DEVICES: Hashable = "devices"
"""The fact of what devices there are, and what is taken, anywhere."""
WIDE = 64
"""A pool that more nodes see than this does not mark them one by one."""


class Pool:
    """One pool as some nodes see it."""

    __slots__ = (
        "binding_conditions",
        "counters",
        "id",
        "incomplete",
        "invalid",
        "others",
        "slices",
    )

    def __init__(
        self,
        pool: PoolId,
        slices: Sequence[Slice] = (),
        others: Sequence[Slice] = (),
        counters: Counters | None = None,
        *,
        incomplete: bool = False,
        invalid: bool = False,
    ) -> None:
        self.id = pool
        self.slices = slices
        self.others = others
        """Slices for other nodes, whose devices take of the same counters."""
        self.counters = counters or {}
        self.incomplete = incomplete
        self.invalid = invalid
        self.binding_conditions = any(each.binding_conditions for each in slices)

    @property
    def usable(self) -> bool:
        return not self.incomplete and not self.invalid

    def __str__(self) -> str:
        return "/".join(self.id)


class View:
    """The pools that one node sees, and what they were made from."""

    __slots__ = ("labels", "pools", "seen", "versions")

    def __init__(self, versions: tuple[int, int, int], labels: object) -> None:
        self.versions = versions
        self.labels = labels
        self.pools: tuple[Pool, ...] = ()
        self.seen: dict[PoolId, int] = {}


class Pools:
    """All slices, and what each node sees of them."""

    def __init__(self, changes: Changes, rows: dict[str, int], *, partitions: bool = True) -> None:
        self.partitions = partitions
        """Whether devices may share counters (DRAPartitionableDevices)."""
        self._changes = changes
        self._rows = rows
        self._slices: dict[PoolId, dict[str, Slice]] = {}
        self._local: dict[str, dict[str, Slice]] = {}
        self._wide: dict[str, Slice] = {}
        self._broken: dict[PoolId, Pool] = {}
        self._local_versions: dict[str, int] = {}
        self._pool_versions: dict[PoolId, int] = {}
        self._wide_version = 0
        self._broken_version = 0
        self._views: dict[str, View] = {}
        self._watchers: dict[PoolId, set[str]] = {}
        self._read: dict[str, Slice] = {}
        self.wide_changes = 0
        """Moves with each change that concerns more nodes than are marked."""

    def __bool__(self) -> bool:
        return bool(self._slices)

    def told_of(self, node: str) -> Iterable[Slice]:
        """Every slice that is not for another node alone, of whatever generation."""
        yield from self._local.get(node, {}).values()
        yield from self._wide.values()

    def heard(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """A slice has come, changed or gone."""
        given = new or old
        assert given is not None, "a change is of something"
        before = self._read.pop(given.metadata.name, None)
        if before is not None:
            self._take_out(before)
        if new is not None:
            after = self._read[given.metadata.name] = Slice(new)
            self._put_in(after)

    def seen_from(self, node: NodeInfo) -> tuple[Pool, ...]:
        """The pools of a node in the order in which they are tried."""
        view = self._views.get(node.name)
        if view is None or not self._current(view, node):
            view = self._views[node.name] = self._look(node)
        return view.pools

    def touch(self, pool: PoolId) -> None:
        """Something about the pool has changed: whoever sees it must look again."""
        self._changes.touch(DEVICES)
        watching = self._watchers.get(pool, ())
        if len(watching) > WIDE:
            self.wide_changes += 1
            return
        for name in watching:
            row = self._rows.get(name)
            if row is not None:
                self._changes.mark(Aspect.DEVICES, row)

    def forget(self, node: str) -> None:
        """The node is gone."""
        view = self._views.pop(node, None)
        if view is not None:
            for pool in view.seen:
                self._watchers.get(pool, set()).discard(node)

    def _take_out(self, each: Slice) -> None:
        slices = self._slices[each.pool]
        del slices[each.name]
        if not slices:
            del self._slices[each.pool]
        if each.local_to:
            del self._local[each.local_to][each.name]
        else:
            self._wide.pop(each.name, None)
        self._changed(each)

    def _put_in(self, each: Slice) -> None:
        self._slices.setdefault(each.pool, {})[each.name] = each
        if each.local_to:
            self._local.setdefault(each.local_to, {})[each.name] = each
        elif not each.counter_sets:
            self._wide[each.name] = each
        self._changed(each)

    def _changed(self, each: Slice) -> None:
        self._pool_versions[each.pool] = self._pool_versions.get(each.pool, 0) + 1
        if each.local_to:
            version = self._local_versions.get(each.local_to, 0)
            self._local_versions[each.local_to] = version + 1
            row = self._rows.get(each.local_to)
            if row is not None:
                self._changes.mark(Aspect.DEVICES, row)
        elif not each.counter_sets:
            self._wide_version += 1
            self.wide_changes += 1
        self._judge(each.pool)
        self.touch(each.pool)

    def _judge(self, pool: PoolId) -> None:
        """Whether the counters of a pool alone make it one that nobody may take from."""
        bare = [each for each in self._slices.get(pool, {}).values() if each.counter_sets]
        newest = self._newest(bare)
        found = None if not newest or not self.partitions else self._pool(pool, newest)
        broken = found is not None and not found.usable
        if broken or pool in self._broken:
            self._broken_version += 1
            self.wide_changes += 1
        self._broken.pop(pool, None)
        if broken and found is not None:
            self._broken[pool] = found

    def _current(self, view: View, node: NodeInfo) -> bool:
        if view.labels is not node.labels or view.versions != self._versions(node.name):
            return False
        versions = self._pool_versions
        return all(versions[pool] == version for pool, version in view.seen.items())

    def _versions(self, name: str) -> tuple[int, int, int]:
        return self._local_versions.get(name, 0), self._wide_version, self._broken_version

    def _look(self, node: NodeInfo) -> View:
        view = View(self._versions(node.name), node.labels)
        relevant: dict[PoolId, list[Slice]] = {}
        for each in (*self._local.get(node.name, {}).values(), *self._wide.values()):
            if (self.partitions or not each.per_device) and each.seen_from(node):
                relevant.setdefault(each.pool, []).append(each)
        found = {pool: self._broken[pool] for pool in self._broken.keys() - relevant.keys()}
        for pool, slices in relevant.items():
            if self.partitions:
                slices += [s for s in self._slices[pool].values() if s.counter_sets]
            whole = self._pool(pool, self._newest(slices))
            if whole is not None:
                found[pool] = whole
            view.seen[pool] = self._pool_versions[pool]
            self._watchers.setdefault(pool, set()).add(node.name)
        order = sorted(found.values(), key=lambda each: (each.binding_conditions, each.id))
        view.pools = tuple(order)
        return view

    @staticmethod
    def _newest(slices: Sequence[Slice]) -> list[Slice]:
        newest = max((each.generation for each in slices), default=0)
        return [each for each in slices if each.generation == newest]

    def _pool(self, pool: PoolId, slices: list[Slice]) -> Pool | None:
        """The pool of these slices; None if a newer generation is being written elsewhere."""
        first = slices[0]
        every: list[Slice] | None = None
        if len(slices) != first.count:
            known = self._slices[pool].values()
            if any(each.generation > first.generation for each in known):
                return None
            every = [each for each in known if each.generation == first.generation]
            if len(every) != first.count:
                return Pool(pool, incomplete=True)
        return self._sound(pool, sorted(slices, key=lambda each: each.name), every)

    def _sound(self, pool: PoolId, slices: list[Slice], every: list[Slice] | None) -> Pool:
        devices = [each for each in slices if not (self.partitions and each.counter_sets)]
        names = [device.id[2] for each in devices for device in each.devices]
        if len(names) != len(set(names)):
            return Pool(pool, invalid=True)
        if not self.partitions:
            return Pool(pool, devices)
        counters: Counters = {}
        for each in slices:
            for name, amounts in each.counter_sets:
                if name in counters:
                    return Pool(pool, invalid=True)
                counters[name] = amounts
        here = {each.name for each in slices}
        others = [] if every is None else [each for each in every if each.name not in here]
        if not all(known_counters(each, counters) for each in (*slices, *others)):
            return Pool(pool, invalid=True)
        return Pool(pool, devices, others, counters)


def known_counters(each: Slice, counters: Counters) -> bool:
    """Whether all counters that the slice's devices take of are there."""
    return all(
        name in counters and amounts.keys() <= counters[name].keys()
        for device in each.devices
        for name, amounts in device.consumes
    )
