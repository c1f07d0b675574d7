"""The facts that pods of one template share, kept by the bytes that they were read from."""

from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from fairlead.model.meta import NO_BYTES, Int32, OwnerReference, controller_of
from fairlead.model.pod import (
    ALWAYS,
    Container,
    PodCondition,
    PodSpec,
    PodStatus,
    Volume,
)
from fairlead.model.quantities import Texts, quantities
from fairlead.model.reading import reader
from fairlead.model.requests import (
    Demand,
    Demands,
    Grant,
    ResourceRequirements,
    granted,
    nonzero_request,
    pod_request,
    scoring_request,
)
from fairlead.model.resources import Resources, resources_of
from fairlead.model.selector import (
    NodeAffinity,
    RequiredNodeAffinity,
    WeightedTerms,
    compile_node_selector,
    compile_preferred,
)
from fairlead.model.toleration import Toleration

T = TypeVar("T")
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - it is compared, never bound
HostPort = tuple[str, str, int]

_ABSENT = (b"", b"null")
_RESIZE_PENDING = b'"PodResizePending"'


class ContainerPort(Struct, rename="camel", frozen=True, gc=False):
    """A port of a container; only one of the host concerns a scheduler."""

    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class Affinity(Struct, rename="camel", frozen=True, gc=False):
    """The affinity of a pod, as the API spells it."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: Raw = NO_BYTES
    pod_anti_affinity: Raw = NO_BYTES


class ImageVolume(Struct, frozen=True, gc=False):
    """The image that a volume shows."""

    reference: str = ""


class CompiledAffinity(Struct, frozen=True, gc=False):
    """The affinity of a pod, compiled as far as it is about nodes."""

    required: RequiredNodeAffinity | None = None
    preferred: WeightedTerms | None = None
    preferred_error: str = ""
    pod: bytes = b""
    pod_anti: bytes = b""


class Held(Struct, frozen=True, gc=False):
    """What a pod takes of the node it is on: in full, and with defaults for cpu and memory."""

    request: Resources
    nonzero: tuple[int, int]


class Containers(Struct, frozen=True, eq=False, gc=False):
    """All that the containers of a pod say."""

    request: Resources
    score_request: Resources
    host_ports: tuple[HostPort, ...]
    images: tuple[str, ...]
    count: int
    demands: Demands
    held: Held


class PodFeatures(Struct, frozen=True):
    """The features that change what is read of a pod."""

    pod_level: bool = True
    pod_level_resize: bool = True
    comparing_tolerations: bool = False


DEFAULT_FEATURES = PodFeatures()
NO_AFFINITY = CompiledAffinity()

_read_labels = reader(dict[str, str], "labels")
_read_selector = reader(dict[str, str], "nodeSelector")
_read_owners = reader(tuple[OwnerReference, ...], "ownerReferences")
_read_tolerations = reader(tuple[Toleration, ...], "tolerations")
_read_affinity = reader(Affinity, "affinity")
_read_conditions = reader(tuple[PodCondition, ...], "conditions")
_read_resources = reader(ResourceRequirements, "resources")
_read_quantities = reader(Texts, "resources")
_read_ports = reader(tuple[ContainerPort, ...], "ports")
_read_image_volume = reader(ImageVolume, "image volume")


class Facts:
    """Tables from bytes to what they mean. Values are shared, also between different spellings."""

    def __init__(self, limit: int, features: PodFeatures = DEFAULT_FEATURES) -> None:
        self._limit = limit
        self._features = features
        self._shared: dict[Any, Any] = {}
        self._texts: dict[str, str] = {}
        self._raw: dict[bytes, bytes] = {}
        self._labels: dict[bytes, Mapping[str, str]] = {b"": MappingProxyType({})}
        self._owners: dict[bytes, OwnerReference | None] = {b"": None}
        self._tolerations: dict[bytes, tuple[Toleration, ...]] = {b"": ()}
        self._selectors: dict[bytes, tuple[tuple[str, str], ...] | None] = {b"": None}
        self._affinities: dict[bytes, CompiledAffinity] = {b"": NO_AFFINITY}
        self._containers: dict[tuple[object, ...], Containers] = {}
        self._held: dict[tuple[object, ...], Held] = {}

    def raw(self, part: Raw) -> bytes:
        """The bytes themselves, one object for all that are equal; b"" if absent."""
        data = bytes(part)
        if data in _ABSENT:
            return b""
        found = self._raw.get(data)
        return found if found is not None else self._keep(self._raw, data, data)

    def text(self, text: str) -> str:
        """One object for all texts that are equal: namespaces, names of nodes, phases."""
        found = self._texts.get(text)
        return found if found is not None else self._keep(self._texts, text, text)

    def labels(self, part: Raw) -> Mapping[str, str]:
        """One read-only mapping for all pods with these labels."""
        data = bytes(part)
        found = self._labels.get(data)
        if found is None:
            labels = {} if data in _ABSENT else _read_labels(data)
            found = self._keep(self._labels, data, MappingProxyType(labels))
        return found

    def owner(self, part: Raw) -> OwnerReference | None:
        """The controller that owns the pod."""
        data = bytes(part)
        if data in self._owners:
            return self._owners[data]
        owner = None if data in _ABSENT else controller_of(_read_owners(data))
        return self._keep(self._owners, data, self._share(owner))

    def tolerations(self, part: Raw) -> tuple[Toleration, ...]:
        """The tolerations in their order."""
        data = bytes(part)
        found = self._tolerations.get(data)
        if found is None:
            listed = () if data in _ABSENT else _read_tolerations(data)
            if self._features.comparing_tolerations:
                listed = [toleration.comparing() for toleration in listed]
            found = self._share(tuple([self._share(toleration) for toleration in listed]))
            self._keep(self._tolerations, data, found)
        return found

    def node_selector(self, part: Raw) -> tuple[tuple[str, str], ...] | None:
        """The pairs of nodeSelector by key; None if it is absent, which is not the same as ()."""
        data = bytes(part)
        if data in self._selectors:
            return self._selectors[data]
        pairs = None if data in _ABSENT else tuple(sorted(_read_selector(data).items()))
        return self._keep(self._selectors, data, self._share(pairs))

    def affinity(self, part: Raw) -> CompiledAffinity:
        """The affinity, its node part compiled."""
        data = bytes(part)
        found = self._affinities.get(data)
        if found is None:
            found = NO_AFFINITY if data in _ABSENT else self._compiled(_read_affinity(data))
            self._keep(self._affinities, data, found)
        return found

    def _compiled(self, affinity: Affinity) -> CompiledAffinity:
        required: RequiredNodeAffinity | None = None
        preferred: WeightedTerms | None = None
        error = ""
        node = affinity.node_affinity
        if node is not None:
            demanded = node.required_during_scheduling_ignored_during_execution
            wished = node.preferred_during_scheduling_ignored_during_execution
            if demanded is not None:
                required = self._share(compile_node_selector(demanded))
            if wished is not None:
                preferred, error = compile_preferred(wished)
                preferred = self._share(preferred)
        pod, anti = self.raw(affinity.pod_affinity), self.raw(affinity.pod_anti_affinity)
        return CompiledAffinity(required, preferred, error, pod, anti)

    def containers(self, spec: PodSpec) -> Containers:
        """What the containers request, with the ports and images that they name."""
        parts: list[object] = [bytes(spec.overhead), bytes(spec.resources)]
        for container in spec.containers:
            parts += (
                container.name,
                container.image,
                bytes(container.resources),
                bytes(container.ports),
            )
        for container in spec.init_containers:
            parts += (
                container.restart_policy,
                container.name,
                container.image,
                bytes(container.resources),
                bytes(container.ports),
            )
        # Counts keep apart what else would be equal when joined.
        key = (len(spec.containers), *parts)
        found = self._containers.get(key)
        if found is None:
            found = self._keep(self._containers, key, self._read_containers(spec))
        return found

    def _read_containers(self, spec: PodSpec) -> Containers:
        every = (*spec.init_containers, *spec.containers)
        demands = Demands(
            [_demand(container) for container in spec.containers],
            [_demand(container) for container in spec.init_containers],
            _amounts(spec.overhead),
            _requests(spec.resources) if self._features.pod_level else {},
        )
        return Containers(
            self._share(resources_of(pod_request(demands), least=0)),
            self._share(resources_of(scoring_request(demands))),
            self._share(_host_ports(spec)),
            self._share(tuple([_image_name(container.image) for container in every])),
            len(every),
            demands,
            self._holds(demands),
        )

    def _holds(self, demands: Demands) -> Held:
        total = pod_request(demands)
        nonzero = resources_of(nonzero_request(demands, total))
        return Held(self._share(resources_of(total)), (nonzero.cpu, nonzero.memory))

    def held(self, containers: Containers, status: PodStatus) -> Held:
        """What the pod takes where it is, by its demands and by what its kubelet says."""
        grants = [*status.container_statuses, *status.init_container_statuses]
        parts: list[object] = []
        for grant in grants:
            actuated = bytes(grant.resources)
            if actuated not in _ABSENT:
                parts += (grant.name, actuated, bytes(grant.allocated_resources))
        pod_level = bytes(status.resources) if self._features.pod_level_resize else b""
        if not parts and pod_level in _ABSENT:
            return containers.held
        infeasible = self._infeasible(status.conditions)
        key = (containers, infeasible, pod_level, bytes(status.allocated_resources), *parts)
        found = self._held.get(key)
        if found is None:
            pod_grant = (
                None
                if pod_level in _ABSENT
                else _grant(status.resources, status.allocated_resources)
            )
            known = {
                grant.name: _grant(grant.resources, grant.allocated_resources)
                for grant in grants
                if bytes(grant.resources) not in _ABSENT
            }
            demands = granted(containers.demands, known, pod_grant, infeasible=infeasible)
            found = self._keep(self._held, key, self._holds(demands))
        return found

    def _infeasible(self, conditions: Raw) -> bool:
        if _RESIZE_PENDING not in bytes(conditions):
            return False
        pending = self.condition(conditions, "PodResizePending")
        return pending is not None and pending.reason == "Infeasible"

    def condition(self, part: Raw, kind: str) -> PodCondition | None:
        """The first condition of this type; they are not kept, as no two pods have the same."""
        data = bytes(part)
        if data in _ABSENT:
            return None
        for condition in _read_conditions(data):
            if condition.type == kind:
                return condition
        return None

    def volumes(self, volumes: Sequence[Volume]) -> bytes:
        """The volumes of which a scheduler reads something, as JSON; b"" if there is none."""
        kept = [data for data in map(msgspec.json.encode, volumes) if b'":{' in data]
        return self.raw(Raw(b"[" + b",".join(kept) + b"]")) if kept else b""

    def images(
        self, images: tuple[str, ...], kept: bytes, volumes: Sequence[Volume]
    ) -> tuple[str, ...]:
        """The images of containers, and after them those that are mounted as volumes."""
        if b'"image":' not in kept:
            return images
        mounted = [
            _image_name(_read_image_volume(volume.image).reference)
            for volume in volumes
            if bytes(volume.image) not in _ABSENT
        ]
        return self._share((*images, *mounted))

    def _share(self, value: T) -> T:
        found = self._shared.get(value)
        return found if found is not None else self._keep(self._shared, value, value)

    def _keep(self, table: dict[Any, T], key: object, value: T) -> T:
        if len(table) >= self._limit:
            for old in list(islice(table, len(table) // 4 + 1)):
                del table[old]
        table[key] = value
        return value


def _demand(container: Container) -> Demand:
    sidecar = container.restart_policy == ALWAYS
    return Demand(container.name, _requests(container.resources), sidecar)


def _requests(part: Raw) -> dict[str, Any]:
    data = bytes(part)
    return {} if data in _ABSENT else quantities(_read_resources(data).requests)


def _amounts(part: Raw) -> dict[str, Any]:
    data = bytes(part)
    return {} if data in _ABSENT else quantities(_read_quantities(data))


def _grant(actuated: Raw, allocated: Raw) -> Grant:
    return Grant(_requests(actuated), _amounts(allocated))


def _host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Address, protocol and port of each host port; those of init containers only of sidecars."""
    sidecars = [c for c in spec.init_containers if c.restart_policy == ALWAYS]
    wanted: dict[HostPort, None] = {}
    for container in (*spec.containers, *sidecars):
        data = bytes(container.ports)
        for port in () if data in _ABSENT else _read_ports(data):
            if port.host_port > 0:
                wanted[port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port] = None
    return tuple(wanted)


def _image_name(name: str) -> str:
    """The name that nodes report: with a tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
