"""What ResourceSlices say, read once: devices with their amounts in integers.

Amounts are in billionths (`nano`), exact: no quantity of Kubernetes is finer.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from fairlead.cluster.nodeinfo import NodeInfo
from fairlead.model.cel.selector import DeviceValues, Selector, device_values
from fairlead.model.cel.values import CelError, nano_of
from fairlead.model.quantity import parse_quantity
from fairlead.model.resource import (
    Amount,
    CapacityRequestPolicy,
    CounterSet,
    Device,
    DeviceCounterConsumption,
    DeviceTaint,
    ResourceSlice,
)
from fairlead.model.selector import NodeSelector, RequiredNodeAffinity, compile_node_selector

DeviceId = tuple[str, str, str]
"""Driver, pool and name of a device."""
PoolId = tuple[str, str]
Nanos = dict[str, int]

MOST_ANSWERS = 256
"""Expressions of which a device remembers whether they select it."""
PREVENTING = ("NoSchedule", "NoExecute")
"""The effects of a taint that keep a device from being given out; others are for drivers."""


def nano(amount: Amount) -> int:
    """A quantity in billionths; one that is absent is zero."""
    if amount is None:
        return 0
    return nano_of(parse_quantity(amount.strip() if isinstance(amount, str) else amount))


class Policy(Struct, frozen=True, gc=False):
    """The shares of a capacity that may be had."""

    default: int | None = None
    values: tuple[int, ...] = ()
    least: int | None = None
    most: int | None = None
    step: int | None = None


class Capacity(Struct, frozen=True, gc=False):
    """An amount that a device has, and how it may be cut up."""

    nano: int
    policy: Policy | None = None


class SlicedDevice:
    """A device of one version of a slice. Whether an expression selects it is asked once."""

    __slots__ = ("_answers", "_values", "capacity", "consumes", "device", "id", "nodes", "taints")

    def __init__(self, driver: str, pool: str, device: Device) -> None:
        self.id: DeviceId = (driver, pool, device.name)
        self.device = device
        self.nodes = Nodes(device.node_name, device.node_selector, all_nodes=device.all_nodes)
        """The nodes that see it, where the slice leaves that to its devices."""
        self.capacity: dict[str, Capacity] = {
            name: Capacity(nano(each.value), policy_of(each.request_policy))
            for name, each in device.capacity.items()
        }
        self.consumes = counters_of(device.consumes_counters)
        self.taints: tuple[DeviceTaint, ...] = tuple(
            taint for taint in device.taints if taint.effect in PREVENTING
        )
        self._values: DeviceValues | None = None
        self._answers: dict[str, bool | CelError] = {}

    @property
    def shared(self) -> bool:
        """Whether it may be given out to many at once."""
        return self.device.allow_multiple_allocations

    def selected(self, selector: Selector) -> bool:
        """Whether the expression selects it. Raises CelError, each time the same."""
        answer = self._answers.get(selector.text)
        if answer is None:
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            answer = self._answers[selector.text] = self._ask(selector)
        if isinstance(answer, CelError):
            raise answer
        return answer

    def _ask(self, selector: Selector) -> bool | CelError:
        try:
            if self._values is None:
                self._values = device_values(self.id[0], self.device)
            return selector.matches(self._values)
        except CelError as problem:
            return problem


class Nodes:
    """Which nodes see something: one by name, all, or those that a selector matches."""

    __slots__ = ("all_nodes", "name", "selector", "wire")

    def __init__(self, name: str, selector: NodeSelector | None, *, all_nodes: bool) -> None:
        self.name = name
        self.all_nodes = all_nodes
        self.wire = selector
        self.selector: RequiredNodeAffinity | None = (
            None if selector is None else compile_node_selector(selector)
        )

    @property
    def told(self) -> bool:
        """Whether anything is said at all."""
        return bool(self.name) or self.all_nodes or self.selector is not None

    def match(self, node: NodeInfo) -> bool:
        if self.name:
            return node.name == self.name
        if self.all_nodes:
            return True
        return self.selector is not None and self.selector.matches(node.labels, node.name)


class Slice:
    """One version of a ResourceSlice."""

    __slots__ = (
        "binding_conditions",
        "count",
        "counter_sets",
        "devices",
        "generation",
        "name",
        "nodes",
        "per_device",
        "pool",
    )

    def __init__(self, given: ResourceSlice) -> None:
        spec = given.spec
        self.name = given.metadata.name
        self.pool: PoolId = (spec.driver, spec.pool.name)
        self.generation = spec.pool.generation
        self.count = spec.pool.resource_slice_count
        self.nodes = Nodes(spec.node_name, spec.node_selector, all_nodes=spec.all_nodes)
        self.per_device = spec.per_device_node_selection
        self.devices = tuple(SlicedDevice(*self.pool, device) for device in spec.devices)
        self.counter_sets = tuple(sets_of(spec.shared_counters))
        self.binding_conditions = any(device.binding_conditions for device in spec.devices)

    @property
    def local_to(self) -> str:
        """The one node that sees it, if it is made for one; counters concern all nodes."""
        return "" if self.counter_sets else self.nodes.name

    def seen_from(self, node: NodeInfo) -> bool:
        """Whether any of its devices can be had on the node."""
        if self.nodes.told:
            return self.nodes.match(node)
        return self.per_device and any(each.nodes.match(node) for each in self.devices)


def sets_of(shared: Iterable[CounterSet]) -> Iterable[tuple[str, Nanos]]:
    for each in shared:
        yield each.name, {name: nano(counter.value) for name, counter in each.counters.items()}


def counters_of(
    consumption: Iterable[DeviceCounterConsumption],
) -> tuple[tuple[str, Mapping[str, int]], ...]:
    """What a device takes of which sets of counters."""
    return tuple(
        (each.counter_set, {name: nano(counter.value) for name, counter in each.counters.items()})
        for each in consumption
    )


def policy_of(given: CapacityRequestPolicy | None) -> Policy | None:
    if given is None:
        return None

    def maybe(amount: Any) -> int | None:
        return None if amount is None else nano(amount)

    limits = given.valid_range
    return Policy(
        maybe(given.default),
        tuple(map(nano, given.valid_values)),
        None if limits is None else nano(limits.min),
        None if limits is None else maybe(limits.max),
        None if limits is None else maybe(limits.step),
    )
