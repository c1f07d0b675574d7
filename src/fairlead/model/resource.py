"""Devices and the claims for them (`resource.k8s.io/v1`), as far as a scheduler reads them."""

from msgspec import Raw, Struct, field

from fairlead.model.meta import NO_BYTES, Int64, ObjectMeta
from fairlead.model.quantities import Texts
from fairlead.model.selector import NodeSelector

Amount = str | int | float | None


class CELDeviceSelector(Struct, frozen=True, gc=False):
    """An expression that a device has to satisfy."""

    expression: str = ""


class DeviceSelector(Struct, frozen=True, gc=False):
    """One condition on devices."""

    cel: CELDeviceSelector | None = None


class DeviceToleration(Struct, frozen=True, gc=False):
    """A taint of devices that a request puts up with."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class CapacityRequirements(Struct, frozen=True, gc=False):
    """How much of a shared device a request needs."""

    requests: Texts = {}


class ExactDeviceRequest(Struct, rename="camel", frozen=True, gc=False):
    """Devices of one class."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(Struct, rename="camel", frozen=True, gc=False):
    """One of several alternatives, tried in order."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Struct, rename="camel", frozen=True, gc=False):
    """One named request of a claim: exact, or the first alternative that can be had."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Struct, rename="camel", frozen=True, gc=False):
    """What the devices of several requests must have in common, or apart."""

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""


class DeviceClaim(Struct, frozen=True, gc=False):
    """The devices that a claim is for; the drivers' configuration is passed on as it is."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: Raw = NO_BYTES


class ResourceClaimSpec(Struct, frozen=True, gc=False):
    """What is claimed."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Struct, rename="camel", frozen=True, gc=False):
    """One device that was given to a request."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str = field(default="", name="shareID")
    consumed_capacity: Texts = {}


class DeviceAllocationResult(Struct, frozen=True, gc=False):
    """All devices that were given to a claim."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: Raw = NO_BYTES


class AllocationResult(Struct, rename="camel", frozen=True, gc=False):
    """What a claim has got, and from which nodes it can be used."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Struct, rename="camel", frozen=True, gc=False):
    """Who uses a claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(Struct, frozen=True, gc=False):
    """A condition of a device that was given out."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(Struct, rename="camel", frozen=True, gc=False):
    """What a driver says of a device that was given out."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str = field(default="", name="shareID")
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(Struct, rename="camel", frozen=True, gc=False):
    """What has become of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Struct, frozen=True, gc=False):
    """A claim for devices."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class DeviceClassSpec(Struct, rename="camel", frozen=True, gc=False):
    """What all devices of a class have in common."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: Raw = NO_BYTES
    extended_resource_name: str = ""


class DeviceClass(Struct, frozen=True, gc=False):
    """A class of devices."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceAttribute(Struct, frozen=True, gc=False):
    """A value that a device has: one of these."""

    integer: Int64 | None = field(default=None, name="int")
    boolean: bool | None = field(default=None, name="bool")
    string: str | None = None
    version: str | None = None


class CapacityRequestPolicyRange(Struct, frozen=True, gc=False):
    """The shares between two amounts, in steps."""

    min: Amount = None
    max: Amount = None
    step: Amount = None


class CapacityRequestPolicy(Struct, rename="camel", frozen=True, gc=False):
    """The shares of a capacity that may be had, and the one that is had by default."""

    default: Amount = None
    valid_values: tuple[Amount, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Struct, rename="camel", frozen=True, gc=False):
    """An amount that a device has, and how it may be cut up."""

    value: Amount = None
    request_policy: CapacityRequestPolicy | None = None


class Counter(Struct, frozen=True, gc=False):
    """An amount that devices share, or take of what is shared."""

    value: Amount = None


class CounterSet(Struct, frozen=True, gc=False):
    """Counters that devices of a pool share."""

    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(Struct, rename="camel", frozen=True, gc=False):
    """What a device takes of a set of counters."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(Struct, frozen=True, gc=False):
    """What a request has to tolerate of a device."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Device(Struct, rename="camel", frozen=True, gc=False):
    """One device."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourcePool(Struct, rename="camel", frozen=True, gc=False):
    """The pool that a slice is part of; slices of an older generation do not count."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Struct, rename="camel", frozen=True, gc=False):
    """Devices of one driver, and the nodes that see them."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool = False
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(Struct, frozen=True, gc=False):
    """Some of the devices of a pool."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()
