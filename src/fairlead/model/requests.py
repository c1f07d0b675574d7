"""What a pod requests in effect: all its containers in the order in which they run.

    containers          together                      ┐ the larger, name by name
    init containers     one after another, each with  ┘
                        the sidecars before it; sidecars keep running beside the containers
    pod-level requests  replace what the containers add up to
    overhead            on top

Limits are never read: the API server has made requests of them where these were missing.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from fairlead.model.quantities import Quantities, Texts, add, raise_to
from fairlead.model.quantity import Quantity
from fairlead.model.resources import CPU, MEMORY

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024
# What a container that does not name them counts as, in scoring alone.
DEFAULTS: Mapping[str, Quantity] = {
    CPU: Quantity(DEFAULT_MILLI_CPU, -3),
    MEMORY: Quantity(DEFAULT_MEMORY),
}
_NONE: Mapping[str, Quantity] = {}
_ZERO = Quantity(0)


class ResourceRequirements(Struct, frozen=True):
    """The resources of a container or of a whole pod, as objects hold them."""

    requests: Texts = {}


class Demand(Struct, frozen=True, gc=False):
    """What one container requests; a sidecar is an init container that keeps running."""

    name: str
    requests: Quantities
    sidecar: bool = False


class Demands(Struct, frozen=True, gc=False):
    """All that the request of a pod is made of."""

    containers: list[Demand]
    init_containers: list[Demand]
    overhead: Quantities
    pod_level: Quantities

    def pod_level_supported(self) -> Quantities:
        """The pod-level requests that count: cpu, memory and huge pages."""
        return {
            name: quantity
            for name, quantity in self.pod_level.items()
            if name in (CPU, MEMORY) or name.startswith("hugepages-")
        }


def pod_request(
    demands: Demands, *, missing: Mapping[str, Quantity] = _NONE, pod_level: bool = True
) -> Quantities:
    """The request of the whole pod; `missing` is what a container counts as that names it not."""
    total: Quantities = {}
    for container in demands.containers:
        add(total, _completed(container.requests, missing))
    sidecars: Quantities = {}
    most: Quantities = {}
    for container in demands.init_containers:
        needed = dict(_completed(container.requests, missing))
        if container.sidecar:
            add(total, needed)
            add(sidecars, needed)
            needed = sidecars
        else:
            add(needed, sidecars)
        raise_to(most, needed)
    raise_to(total, most)
    if pod_level:
        total.update(demands.pod_level_supported())
    add(total, demands.overhead)
    return total


def _completed(requests: Quantities, missing: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    return {**missing, **requests} if missing else requests


def scoring_request(demands: Demands) -> Quantities:
    """The request as NodeResourcesFit scores it: with defaults, without pod-level requests."""
    return pod_request(demands, missing=DEFAULTS, pod_level=False)


def nonzero_request(demands: Demands, request: Quantities) -> Quantities:
    """The request with defaults, as nodes add it up.

    With pod-level requests a default counts only for a name that the whole pod does not request.
    """
    missing = DEFAULTS
    if demands.pod_level_supported():
        missing = {name: amount for name, amount in DEFAULTS.items() if name not in request}
    return pod_request(demands, missing=missing) if missing else request


class Grant(Struct, frozen=True, gc=False):
    """What the kubelet has set for a container or pod (`actuated`), and promised it."""

    actuated: Quantities
    allocated: Quantities


def granted(
    demands: Demands, grants: Mapping[str, Grant], pod_grant: Grant | None, *, infeasible: bool
) -> Demands:
    """The demands of a pod that runs: never less than the kubelet still holds for it.

    While a resize is under way the larger of the old and the new counts. A resize that the node
    can never grant counts for nothing, and names that only it has vanish.
    """

    def effective(spec: Quantities, grant: Grant) -> Quantities:
        total = dict(grant.actuated) if infeasible else dict(spec)
        if not infeasible:
            raise_to(total, grant.actuated)
        raise_to(total, grant.allocated)
        return total

    pod_level = demands.pod_level
    if pod_grant is not None:
        held = effective(pod_level, pod_grant)
        pod_level = {name: held.get(name, _ZERO) for name in demands.pod_level_supported()}
    return Demands(
        [_granted(container, grants, effective) for container in demands.containers],
        [
            _granted(container, grants, effective) if container.sidecar else container
            for container in demands.init_containers
        ],
        demands.overhead,
        pod_level,
    )


def _granted(
    container: Demand,
    grants: Mapping[str, Grant],
    effective: Callable[[Quantities, Grant], Quantities],
) -> Demand:
    grant = grants.get(container.name)
    if grant is None:
        return container
    return Demand(container.name, effective(container.requests, grant), container.sidecar)
