"""What a search is asked for and what it finds: claims, requests made ready, devices."""

from fairlead.cluster.devices.inventory import Nanos, Slice, SlicedDevice
from fairlead.cluster.devices.pools import Pool
from fairlead.model.resource import DeviceClass
from fairlead.plugins.dynamic_resources.plan import Plan, Request


class SearchError(Exception):
    """Something is wrong with a claim, a class or a slice: no node can be tried."""


class TimedOutError(SearchError):
    """The search took more steps than it may."""


class TooMany(Exception):  # noqa: N818 - it is no error, only no way
    """This way leads to more devices than a claim may have."""


class Asked:
    """A claim without devices: how it is called in messages, and what it asks for."""

    __slots__ = ("name", "plan")

    def __init__(self, name: str, plan: Plan) -> None:
        self.name = name
        self.plan = plan


class Found:
    """One device for one request."""

    __slots__ = ("consumed", "device", "request", "slice")

    def __init__(
        self, request: Request, device: SlicedDevice, slice_: Slice, consumed: Nanos | None
    ) -> None:
        self.request = request
        self.device = device
        self.slice = slice_
        self.consumed = consumed


class Wanted:
    """A request made ready for one node: its class, how many devices, and for `All` which."""

    __slots__ = ("count", "device_class", "every", "matches", "request")

    def __init__(self, request: Request, device_class: DeviceClass) -> None:
        self.request = request
        self.device_class = device_class
        self.count = request.count
        self.every: list[tuple[Pool, Slice, SlicedDevice]] | None = None
        self.matches: dict[SlicedDevice, bool] = {}
