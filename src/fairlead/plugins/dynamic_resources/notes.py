"""What DynamicResources notes of a pod in PreFilter, for its later stages."""

from collections.abc import Callable, Mapping, Sequence

from fairlead.cluster.devices.claims import Claims
from fairlead.cluster.devices.classes import Classes
from fairlead.cluster.devices.devices import Devices
from fairlead.cluster.nodeinfo import NodeInfo
from fairlead.framework.status import Status, error, unresolvable
from fairlead.model.podinfo import PodInfo
from fairlead.model.resource import ResourceClaim, ResourceClaimSpec
from fairlead.model.selector import RequiredNodeAffinity, compile_node_selector
from fairlead.plugins.dynamic_resources.asked import Asked, SearchError, TimedOutError
from fairlead.plugins.dynamic_resources.conditions import BindingFailed, ready, timed_out
from fairlead.plugins.dynamic_resources.extended import Extended, delegated, requests_for
from fairlead.plugins.dynamic_resources.plan import Plan, Plans
from fairlead.plugins.dynamic_resources.search import Search

CANNOT_ALLOCATE = unresolvable("cannot allocate all claims")
BROKEN_POOLS = unresolvable("invalid resource pools were encountered")
UNAVAILABLE = unresolvable("resourceclaim not available on the node")
LEFT_OVER = unresolvable("cannot schedule extended resource claim")
IN_MEMORY = "<extended-resources>"
"""The name of a claim for extended resources until it is written: no real claim has such a one."""


class Tools:
    """What all pods of a plugin share."""

    __slots__ = (
        "claims",
        "classes",
        "devices",
        "features",
        "now",
        "patience",
        "plans",
        "steps",
        "strict",
    )

    def __init__(
        self,
        devices: Devices,
        features: Mapping[str, bool],
        *,
        now: Callable[[], float],
        patience: float,
        steps: int,
        strict: bool,
    ) -> None:
        self.strict = strict
        self.devices = devices
        self.claims: Claims = devices.claims
        self.classes: Classes = devices.classes
        self.features = features
        self.now = now
        self.patience = patience
        self.steps = steps
        self.plans = Plans()


class Outcome:
    """What the search found on one node: a refusal, or what each claim would get."""

    __slots__ = ("extended", "score", "search", "status")

    def __init__(
        self, status: Status | None, search: Search | None = None, extended: Extended | None = None
    ) -> None:
        self.status = status
        self.search = search
        self.extended = extended
        self.score = 0


NO_NEED = Outcome(None)


class Notes:
    """One pod and its claims. `claims` are those of the user, then the one for resources if any."""

    __slots__ = (
        "_affinities",
        "_plans",
        "claims",
        "extended",
        "pod",
        "refused",
        "to_allocate",
        "tools",
        "unavailable",
    )

    def __init__(
        self,
        tools: Tools,
        pod: PodInfo,
        claims: Sequence[ResourceClaim],
        extended: ResourceClaim | None,
    ) -> None:
        self.tools = tools
        self.pod = pod
        self.extended = extended
        self.claims = [*claims, *([extended] if extended is not None else [])]
        self.to_allocate = [
            at for at, claim in enumerate(self.claims) if claim.status.allocation is None
        ]
        self.unavailable: dict[int, None] = {}
        """The claims that some node could not use, for PostFilter."""
        self._plans: dict[int, Plan] = {
            at: tools.plans.of(self.claims[at].spec)
            for at in self.to_allocate
            if self.claims[at] is not extended
        }
        self._affinities: dict[int, RequiredNodeAffinity] = {
            at: compile_node_selector(allocation.node_selector)
            for at, claim in enumerate(self.claims)
            if (allocation := claim.status.allocation) is not None
            and allocation.node_selector is not None
        }
        self.refused = self._unready()
        """The claims that no node can use, because their devices were not made ready."""

    @property
    def key(self) -> object:
        """Equal for pods whose claims ask for the same; None if a node's own resources count."""
        if self.extended is not None:
            return None
        return tuple(self._plans[at].key for at in self.to_allocate)

    def reaches(self, at: int, node: NodeInfo) -> bool:
        """Whether a claim that is allocated can be used on the node."""
        affinity = self._affinities.get(at)
        return affinity is None or affinity.matches(node.labels, node.name)

    @property
    def bound_to(self) -> Mapping[int, RequiredNodeAffinity]:
        """The claims that only some nodes can use."""
        return self._affinities

    def missing(self, node: NodeInfo) -> list[int]:
        """The claims that the node cannot use."""
        return [
            *(at for at in self._affinities if not self.reaches(at, node)),
            *(at for at in self.refused if self.reaches(at, node)),
        ]

    def outcome(self, node: NodeInfo) -> Outcome:
        """What the node has for the claims that have nothing yet."""
        extended: Extended | None = None
        if self.extended is not None:
            if self.extended.spec.devices.requests:
                return Outcome(LEFT_OVER)
            names = delegated(self.pod, node, self.tools.classes)
            if isinstance(names, Status):
                return Outcome(names)
            if not names and len(self.claims) == 1:
                return NO_NEED
            extended = requests_for(self.pod, names, self.tools.classes)
        if not self.to_allocate:
            return NO_NEED
        return self._searched(node, extended)

    def _searched(self, node: NodeInfo, extended: Extended | None) -> Outcome:
        asked: list[Asked] = []
        for at in self.to_allocate:
            claim = self.claims[at]
            plan = self._plans.get(at)
            if plan is None:
                assert extended is not None, "only the claim for resources has no plan of its own"
                plan = self.tools.plans.of(ResourceClaimSpec(extended.claim))
            asked.append(Asked(f"{claim.metadata.namespace}/{claim.metadata.name}", plan))
        tools = self.tools
        search = Search(
            tools.devices, tools.features, node, asked, tools.steps, strict=tools.strict
        )
        try:
            found = search.run()
        except TimedOutError:
            return Outcome(error(f"node {node.name}: timed out trying to allocate devices"))
        except SearchError as problem:
            return Outcome(error(str(problem)))
        if not found:
            return Outcome(BROKEN_POOLS if search.broken_pool else CANNOT_ALLOCATE)
        outcome = Outcome(None, search, extended)
        outcome.score = sum(
            asked[claim].plan.scoring.get(name, 0)
            for claim, results in enumerate(search.results)
            for name in {each.request.full_name for each in results}
        )
        return outcome

    def allocated_score(self) -> int:
        """What the alternatives are worth that allocated claims got before."""
        score = 0
        for claim in self.claims:
            if claim.status.allocation is not None:
                worth = self.tools.plans.of(claim.spec).scoring
                chosen = {each.request for each in claim.status.allocation.devices.results}
                score += sum(worth.get(name, 0) for name in chosen)
        return score

    def _unready(self) -> list[int]:
        features = self.tools.features
        if not features.get("DRADeviceBindingConditions") or not features.get(
            "DRAResourceClaimDeviceStatus"
        ):
            return []
        late: list[int] = []
        for at, claim in enumerate(self.claims):
            if claim.status.allocation is None:
                continue
            try:
                if not ready(claim) and timed_out(claim, self.tools.now(), self.tools.patience):
                    late.append(at)
            except BindingFailed:
                late.append(at)
        return late
