"""What is given out: devices to one claim each, shares of devices to many.

Reads: allocation results. Writes: its counts, by exact differences, and a version for each pool.
"""

from collections.abc import Callable

from fairlead.cluster.devices.inventory import DeviceId, Nanos, PoolId, nano
from fairlead.cluster.devices.pools import Counters, Pool
from fairlead.model.resource import AllocationResult

Use = tuple[DeviceId, bool, Nanos]
"""A device, whether it is shared, and how much is taken of what."""


def uses_of(allocation: AllocationResult, *, sharing: bool = True) -> list[Use]:
    """The devices of an allocation that count as taken: one for an administrator does not."""
    return [
        (
            (result.driver, result.pool, result.device),
            sharing and bool(result.share_id),
            {name: nano(amount) for name, amount in result.consumed_capacity.items()},
        )
        for result in allocation.devices.results
        if not result.admin_access
    ]


class Allocations:
    """The devices in use."""

    def __init__(self, touch: Callable[[PoolId], None]) -> None:
        self.devices: dict[DeviceId, int] = {}
        """Devices that a claim has for itself."""
        self.shares: dict[DeviceId, int] = {}
        """Devices of which claims have shares, and how many."""
        self.consumed: dict[DeviceId, Nanos] = {}
        """What is taken of the capacity of shared devices."""
        self.version = 0
        self._touch = touch
        self._versions: dict[PoolId, int] = {}
        self._available: dict[PoolId, tuple[Pool, int, Counters]] = {}

    def taken(self, device: DeviceId) -> bool:
        """Whether any claim has the device, or a share of it."""
        return device in self.devices or device in self.shares or device in self.consumed

    def add(self, uses: list[Use]) -> None:
        self._count(uses, 1)

    def remove(self, uses: list[Use]) -> None:
        self._count(uses, -1)

    def available(self, pool: Pool) -> Counters:
        """What is left of the counters of a pool; may be below zero. Do not write to it."""
        version = self._versions.get(pool.id, 0)
        known = self._available.get(pool.id)
        if known is None or known[0] is not pool or known[1] != version:
            known = self._available[pool.id] = pool, version, self._left(pool)
        return known[2]

    def _left(self, pool: Pool) -> Counters:
        left = {name: dict(amounts) for name, amounts in pool.counters.items()}
        for each in (*pool.slices, *pool.others):
            for device in each.devices:
                if device.consumes and self.taken(device.id):
                    for name, amounts in device.consumes:
                        counters = left[name]
                        for counter, amount in amounts.items():
                            counters[counter] -= amount
        return left

    def _count(self, uses: list[Use], sign: int) -> None:
        pools: dict[PoolId, None] = {}
        for device, shared, amounts in uses:
            pools[device[:2]] = None
            table = self.shares if shared else self.devices
            count = table.get(device, 0) + sign
            if count > 0:
                table[device] = count
            else:
                table.pop(device, None)
            if shared and amounts:
                self._consume(device, amounts, sign)
        self.version += 1
        for pool in pools:
            self._versions[pool] = self._versions.get(pool, 0) + 1
            self._touch(pool)

    def _consume(self, device: DeviceId, amounts: Nanos, sign: int) -> None:
        consumed = self.consumed.setdefault(device, {})
        for name, amount in amounts.items():
            consumed[name] = consumed.get(name, 0) + sign * amount
        if sign < 0 and not any(consumed.values()):
            del self.consumed[device]
