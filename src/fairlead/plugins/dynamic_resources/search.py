"""The search for devices on one node: first fit, with every combination tried before giving up.

    claims in order ──► requests in order ──► alternatives in order ──► pools, slices, devices

What is tried is taken at once and given back on the way back. Within one request only
combinations are tried, no permutations: the next device stands behind the last one.
"""

from collections.abc import Callable, Mapping, Sequence

from fairlead.cluster.devices.devices import Devices
from fairlead.cluster.devices.inventory import DeviceId, Nanos, PoolId, Slice, SlicedDevice
from fairlead.cluster.devices.pools import Counters, Pool
from fairlead.cluster.nodeinfo import NodeInfo
from fairlead.model.cel.values import CelError
from fairlead.plugins.dynamic_resources.asked import (
    Asked,
    Found,
    SearchError,
    TimedOutError,
    TooMany,
    Wanted,
)
from fairlead.plugins.dynamic_resources.constraints import Constraint, constraint_of
from fairlead.plugins.dynamic_resources.plan import MOST_DEVICES, Request, expressions
from fairlead.plugins.dynamic_resources.sharing import added_up, suffices, taken
from fairlead.plugins.dynamic_resources.tolerations import tolerated

Place = tuple[int, int, int]
"""Pool, slice and device, by position."""
FIRST: Place = (0, 0, 0)
NOTHING: Mapping[str, int] = {}


class Search:
    """One search; `run()` says what each claim gets, or None."""

    def __init__(
        self,
        devices: Devices,
        features: Mapping[str, bool],
        node: NodeInfo,
        claims: Sequence[Asked],
        most_steps: int,
        *,
        strict: bool = False,
    ) -> None:
        self._strict = strict
        self._devices = devices
        self._sharing = features.get("DRAConsumableCapacity", False)
        self._partitions = features.get("DRAPartitionableDevices", False)
        self._taints = features.get("DRADeviceTaints", False)
        self._binding = features.get("DRADeviceBindingConditions", False) and features.get(
            "DRAResourceClaimDeviceStatus", False
        )
        self._node = node
        self._claims = claims
        self._steps = most_steps
        self._pools = devices.pools.seen_from(node)
        self._wanted: list[list[list[Wanted]]] = []
        self._constraints: list[list[Constraint]] = []
        self._allocating: dict[DeviceId, list[int]] = {}
        self._promised: dict[DeviceId, Nanos] = {}
        self._accounts: dict[PoolId | str, tuple[Pool, Counters]] = {}
        self.results: list[list[Found]] = [[] for _ in claims]
        self.chosen: dict[tuple[int, int], Wanted] = {}
        """What was taken of each request, by claim and request."""

    @property
    def broken_pool(self) -> bool:
        return any(pool.invalid for pool in self._pools)

    def run(self) -> bool:
        """Whether all claims get what they ask for. Raises SearchError."""
        for at, asked in enumerate(self._claims):
            self._prepare(at, asked)
        try:
            return self._claim(0)
        except TooMany:
            raise SearchError("allocation max size exceeded") from None

    def _prepare(self, at: int, asked: Asked) -> None:
        """Check the claim, and see how many devices it needs at least."""
        least = 0
        requests: list[list[Wanted]] = []
        for several in asked.plan.requests:
            wanted = [self._validated(asked, request) for request in several]
            least += min((each.count for each in wanted), default=0)
            requests.append(wanted)
        self._wanted.append(requests)
        if least > MOST_DEVICES:
            raise SearchError(
                f"claim {asked.name}: number of requested devices {least}"
                f" exceeds the claim limit of {MOST_DEVICES}"
            )
        constraints: list[Constraint] = []
        for number, given in enumerate(asked.plan.constraints):
            constraint = constraint_of(given)
            if constraint is None:
                what = "empty constraint (unsupported constraint type?)"
                raise SearchError(f"claim {asked.name}, constraint #{number}: {what}")
            constraints.append(constraint)
        self._constraints.append(constraints)
        for number, wanted in enumerate(requests):
            if wanted:
                self.chosen[at, number] = wanted[0]

    def _validated(self, asked: Asked, request: Request) -> Wanted:
        where = f"claim {asked.name}, request {request.name}"
        for at, text in enumerate(request.selectors):
            if text is None:
                what = "CEL expression empty (unsupported selector type?)"
                raise SearchError(f"{where}, selector #{at}: {what}")
        if not request.device_class:
            raise SearchError(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._devices.classes.get(request.device_class)
        if device_class is None:
            name = request.device_class
            raise SearchError(
                f"{where}: could not retrieve device class {name}:"
                f' deviceclass.resource.k8s.io "{name}" not found'
            )
        wanted = Wanted(request, device_class)
        if request.mode == "All":
            wanted.every = self._every(asked, wanted, where)
            wanted.count = len(wanted.every)
        elif request.mode != "ExactCount":
            raise SearchError(f"{where}: unsupported count mode {request.mode}")
        return wanted

    def _every(
        self, asked: Asked, wanted: Wanted, where: str
    ) -> list[tuple[Pool, Slice, SlicedDevice]]:
        """All devices that a request for all is about."""
        every: list[tuple[Pool, Slice, SlicedDevice]] = []
        for pool in self._pools:
            if not pool.usable:
                state = "being updated" if pool.incomplete else "invalid"
                what = f"asks for all devices, but resource pool {pool} is currently {state}"
                raise SearchError(f"{where}: {what}")
            for each in pool.slices:
                every.extend(
                    (pool, each, device)
                    for device in each.devices
                    if self._selectable(asked, wanted, each, device)
                    and self._has_capacity(wanted.request, device)
                )
        return every

    def _claim(self, at: int) -> bool:
        self._spend()
        if at == len(self._claims):
            return True
        return self._request(at, 0)

    def _request(self, at: int, number: int) -> bool:
        """This request and all that come after it."""
        self._spend()
        requests = self._wanted[at]
        if number == len(requests):
            try:
                return self._claim(at + 1)
            except TooMany:
                return False  # another choice in this claim's way may leave room
        wanted = requests[number]
        if not wanted or not wanted[0].request.parent:
            return self._devices_for(at, number, wanted[0], 0, FIRST) if wanted else False
        all_too_many = True
        for each in wanted:
            try:
                found = self._devices_for(at, number, each, 0, FIRST)
            except TooMany:
                continue
            all_too_many = False
            if found:
                self.chosen[at, number] = each
                return True
        if all_too_many:
            raise TooMany
        return False

    def _devices_for(self, at: int, number: int, wanted: Wanted, had: int, start: Place) -> bool:
        """The devices that the request still lacks, then the next request."""
        self._spend()
        if wanted.every is not None and not wanted.every:
            return False
        if had >= wanted.count:
            return self._request(at, number + 1)
        if len(self.results[at]) + wanted.count - had > MOST_DEVICES:
            raise TooMany
        if wanted.every is not None:
            return self._next_of_every(at, number, wanted, had)
        first_pool, first_slice, first_device = start
        for p in range(first_pool, len(self._pools)):
            pool = self._pools[p]
            if not pool.usable:
                continue
            for s in range(first_slice if p == first_pool else 0, len(pool.slices)):
                each = pool.slices[s]
                begin = first_device if (p, s) == (first_pool, first_slice) else 0
                for d in range(begin, len(each.devices)):
                    device = each.devices[d]
                    if not self._eligible(at, wanted, each, device):
                        continue
                    undo = self._take(at, wanted, pool, each, device, must=False)
                    if undo is None:
                        continue
                    try:
                        if self._devices_for(at, number, wanted, had + 1, (p, s, d + 1)):
                            return True
                    except TooMany:
                        undo()
                        raise
                    undo()
        return False

    def _next_of_every(self, at: int, number: int, wanted: Wanted, had: int) -> bool:
        assert wanted.every is not None
        pool, each, device = wanted.every[had]
        undo = self._take(at, wanted, pool, each, device, must=True)
        if undo is None:
            return False
        try:
            if self._devices_for(at, number, wanted, had + 1, FIRST):
                return True
        except TooMany:
            undo()
            raise
        undo()
        return False

    def _eligible(self, at: int, wanted: Wanted, each: Slice, device: SlicedDevice) -> bool:
        if wanted.request.admin:
            if at in self._allocating.get(device.id, ()):
                return False
        elif self._in_use(device.id):
            return False
        return self._selectable(self._claims[at], wanted, each, device) and self._has_capacity(
            wanted.request, device
        )

    def _selectable(self, asked: Asked, wanted: Wanted, each: Slice, device: SlicedDevice) -> bool:
        known = wanted.matches.get(device)
        if known is None:
            known = self._matches(asked, wanted, each, device)
            wanted.matches[device] = known
        return known

    def _matches(self, asked: Asked, wanted: Wanted, each: Slice, device: SlicedDevice) -> bool:
        if not self._binding and device.device.binding_conditions:
            return False
        of_class = wanted.device_class
        selectors = expressions(of_class.spec.selectors)
        if not self._selected(f"class {of_class.metadata.name}", selectors, device):
            return False
        if not self._selected(f"claim {asked.name}", wanted.request.selectors, device):
            return False
        return not each.per_device or device.nodes.match(self._node)

    def _selected(self, where: str, selectors: Sequence[str | None], device: SlicedDevice) -> bool:
        for at, text in enumerate(selectors):
            try:
                selector = self._devices.selector(text or "")
            except CelError as problem:
                raise SearchError(
                    f"{where}: selector #{at}: CEL compile error: {problem}"
                ) from None
            try:
                if not device.selected(selector):
                    return False
            except CelError as problem:
                raise SearchError(
                    f"{where}: selector #{at}: CEL runtime error: {problem}"
                ) from None
        return True

    def _has_capacity(self, request: Request, device: SlicedDevice) -> bool:
        if not self._sharing or (not device.capacity and not request.capacity):
            return True
        consumed = self._devices.allocations.consumed.get(device.id, NOTHING)
        promised = self._promised.get(device.id, NOTHING)
        return suffices(request.capacity, device, consumed, promised)

    def _in_use(self, device: DeviceId) -> bool:
        return device in self._devices.allocations.devices or bool(self._allocating.get(device))

    def _take(
        self,
        at: int,
        wanted: Wanted,
        pool: Pool,
        each: Slice,
        device: SlicedDevice,
        *,
        must: bool,
    ) -> Callable[[], None] | None:
        """Take the device, if it can be had; the function that gives it back."""
        request, name = wanted.request, device.id
        shared = self._sharing and device.shared
        if not self._free(at, request, device, shared=shared):
            return None
        counted = bool(device.consumes) and not (shared and self._has_shares(name))
        if counted and not self._count(pool, device):
            return None
        added = self._constrained(at, request, device, must=must)
        if added is None or not self._has_capacity(request, device):
            if added is not None:
                self._release(request, added)
            if counted:
                self._uncount(pool, device)
            return None
        amounts = taken(request.capacity, device) if shared else None
        before = self._promised.get(name)
        if amounts is None:
            self._allocating.setdefault(name, []).append(at)
        else:
            self._promised[name] = added_up(before, amounts)
        results = self.results[at]
        results.append(Found(request, device, each, amounts))

        def undo() -> None:
            results.pop()
            if amounts is None:
                self._allocating[name].remove(at)
            elif before is None:
                del self._promised[name]
            else:
                self._promised[name] = before
            self._release(request, added)
            if counted:
                self._uncount(pool, device)

        return undo

    def _free(self, at: int, request: Request, device: SlicedDevice, *, shared: bool) -> bool:
        """Whether nobody else has it, and nothing about it stands in the way."""
        if request.admin:
            if not shared and at in self._allocating.get(device.id, ()):
                return False
        elif self._in_use(device.id):
            return False
        if device.consumes and not self._partitions:
            return False
        return not self._taints or tolerated(device.taints, request.tolerations)

    def _constrained(
        self, at: int, request: Request, device: SlicedDevice, *, must: bool
    ) -> list[Constraint] | None:
        """The constraints that have accepted the device; None if one does not."""
        added: list[Constraint] = []
        for constraint in self._constraints[at]:
            if not constraint.add(request, device):
                self._release(request, added)
                if must:
                    claim = self._claims[at].name
                    raise SearchError(
                        f"claim {claim}, request {request.name}: cannot add device"
                        f" {'/'.join(device.id)} because a claim constraint would not be satisfied"
                    )
                return None
            added.append(constraint)
        return added

    @staticmethod
    def _release(request: Request, added: Sequence[Constraint]) -> None:
        for constraint in reversed(added):
            constraint.remove(request)

    def _has_shares(self, device: DeviceId) -> bool:
        return device in self._devices.allocations.consumed or device in self._promised

    def _count(self, pool: Pool, device: SlicedDevice) -> bool:
        """Take of the pool's counters; False, and nothing taken, if they do not suffice."""
        of, consumed = self._account(pool)
        for name, amounts in device.consumes:
            counters = consumed.setdefault(name, {})
            for counter, amount in amounts.items():
                counters[counter] = counters.get(counter, 0) + amount
        for name, left in self._devices.allocations.available(of).items():
            counters = consumed.get(name, NOTHING)
            if any(amount < counters.get(counter, 0) for counter, amount in left.items()):
                self._uncount(pool, device)
                return False
        return True

    def _uncount(self, pool: Pool, device: SlicedDevice) -> None:
        _, consumed = self._account(pool)
        for name, amounts in device.consumes:
            for counter, amount in amounts.items():
                consumed[name][counter] -= amount

    def _account(self, pool: Pool) -> tuple[Pool, Counters]:
        """What is taken of the pool's counters; to the letter, of all pools of that name."""
        return self._accounts.setdefault(pool.id[1] if self._strict else pool.id, (pool, {}))

    def _spend(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise TimedOutError
