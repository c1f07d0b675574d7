"""Shares of devices: how much a request takes of a capacity, and whether there is so much."""

from collections.abc import Mapping

from fairlead.cluster.devices.inventory import Capacity, Nanos, Policy, SlicedDevice

UNIT = 10**9
NO_AMOUNTS: Mapping[str, int] = {}


def taken(wanted: Mapping[str, int] | None, device: SlicedDevice) -> Nanos:
    """What the request takes of each capacity of the device."""
    given = NO_AMOUNTS if wanted is None else wanted
    return {name: share(given.get(name), each) for name, each in device.capacity.items()}


def suffices(
    wanted: Mapping[str, int] | None,
    device: SlicedDevice,
    consumed: Mapping[str, int],
    promised: Mapping[str, int],
) -> bool:
    """Whether the device has what is wanted beside what is consumed and promised already."""
    if wanted and not wanted.keys() <= device.capacity.keys():
        return False
    given = NO_AMOUNTS if wanted is None else wanted
    for name, capacity in device.capacity.items():
        amount = share(given.get(name), capacity)
        if capacity.policy is not None and refused(amount, capacity.policy):
            return False
        if amount + consumed.get(name, 0) + promised.get(name, 0) > capacity.nano:
            return False
    return True


def share(wanted: int | None, capacity: Capacity) -> int:
    """The share that is given: the default, or what is wanted rounded up to what may be had."""
    policy = capacity.policy
    if wanted is None:
        if policy is not None and policy.default is not None:
            return policy.default
        return capacity.nano
    if policy is None:
        return wanted
    if policy.least is not None:
        return rounded_up(wanted, policy.least, policy.step)
    return next((value for value in policy.values if wanted <= value), wanted)


def rounded_up(wanted: int, least: int, step: int | None) -> int:
    if wanted < least:
        return least
    if not step:
        return wanted
    start, stride = units(least), units(step)
    steps = -(-(units(wanted) - start) // stride)
    return (start + stride * steps) * UNIT


def units(nano: int) -> int:
    """Whole units, rounded away from zero: steps are counted in these."""
    size = -(-abs(nano) // UNIT)
    return size if nano >= 0 else -size


def refused(amount: int, policy: Policy) -> bool:
    """Whether no such share may be had."""
    if policy.default is not None and amount == policy.default:
        return False
    if policy.least is not None:
        if policy.most is not None and amount > policy.most:
            return True
        off = bool(policy.step) and (units(amount) - units(policy.least)) % units(policy.step or 1)
        return bool(off)
    return bool(policy.values) and amount not in policy.values


def added_up(before: Nanos | None, amounts: Nanos) -> Nanos:
    if before is None:
        return amounts
    return {
        name: before.get(name, 0) + amounts.get(name, 0) for name in before.keys() | amounts.keys()
    }
