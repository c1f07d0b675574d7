"""The constraints of a pod: its own, or those that the profile gives to pods that have none."""

from collections.abc import Hashable, Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.handle import Handle
from fairlead.model.errors import DecodeError
from fairlead.model.podinfo import PodInfo, Toleration
from fairlead.model.selector import (
    IN,
    RequiredNodeAffinity,
    Requirement,
    Selector,
    compile_label_map,
    compile_label_selector,
)
from fairlead.model.spread import (
    DO_NOT_SCHEDULE,
    HONOR,
    SCHEDULE_ANYWAY,
    TopologySpreadConstraint,
    read_spread_constraints,
)
from fairlead.model.workload import ReplicaSet, ReplicationController, Service, StatefulSet

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(3, HOSTNAME, SCHEDULE_ANYWAY),
    TopologySpreadConstraint(5, ZONE, SCHEDULE_ANYWAY),
)
OWNERS = frozenset(
    [("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")]
)
MOST_COMPILED = 20_000


class Inclusion(Struct, frozen=True, cache_hash=True):
    """Which nodes count for a pod; tolerations are None where taints do not matter."""

    node_selector: tuple[tuple[str, str], ...]
    required: RequiredNodeAffinity | None
    tolerations: tuple[Toleration, ...] | None

    def includes(self, node: NodeInfo) -> bool:
        for key, value in self.node_selector:
            if node.labels.get(key) != value:
                return False
        if self.required is not None and not self.required.matches(node.labels, node.name):
            return False
        tolerations = self.tolerations
        return tolerations is None or not any(
            taint.effect in ("NoSchedule", "NoExecute")
            and not any(toleration.tolerates(taint) for toleration in tolerations)
            for taint in node.taints
        )


class Constraint(Struct, frozen=True, eq=False, gc=False):
    """One compiled constraint."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool

    @property
    def counts_nothing(self) -> bool:
        """An empty selector matches every pod, and yet none is counted for it."""
        return self.selector.nothing or self.selector.everything

    def inclusion(self, pod: PodInfo) -> Inclusion | None:
        """The nodes that count; None for all."""
        selector: tuple[tuple[str, str], ...] = ()
        required = None
        if self.honors_affinity:
            selector, required = pod.node_selector or (), pod.required_node_affinity
        if not self.honors_taints:
            return Inclusion(selector, required, None) if selector or required else None
        return Inclusion(selector, required, pod.tolerations)


class Constraints(Struct, frozen=True, eq=False, gc=False):
    """What a pod demands and what it would like; a fault stands in the place of its list."""

    hard: tuple[Constraint, ...] = ()
    soft: tuple[Constraint, ...] = ()
    hard_fault: str = ""
    soft_fault: str = ""


NO_CONSTRAINTS = Constraints()


class ConstraintsOf:
    """`ConstraintsOf(defaults, handle).pod(pod)`; what repeats is compiled once."""

    def __init__(self, defaults: Sequence[TopologySpreadConstraint], handle: Handle) -> None:
        self.defaults = tuple(defaults)
        self.handle = handle
        self._read: dict[bytes, tuple[TopologySpreadConstraint, ...] | str] = {}
        self._compiled: dict[Hashable, Constraints] = {}
        self._default: dict[Hashable, tuple[Mapping[str, str], int, Constraints]] = {}

    def pod(self, pod: PodInfo) -> Constraints:
        return self._own(pod) if pod.spread_constraints else self._defaulted(pod)

    def _own(self, pod: PodInfo) -> Constraints:
        spelt = pod.spread_constraints
        listed = self._read.get(spelt)
        if listed is None:
            if len(self._read) >= MOST_COMPILED:
                self._read.clear()
            try:
                listed = read_spread_constraints(spelt)
            except DecodeError as problem:
                listed = str(problem)
            else:
                if not self.handle.release.enabled("MatchLabelKeysInPodTopologySpread"):
                    listed = tuple([replace(each, match_label_keys=()) for each in listed])
            self._read[spelt] = listed
        if isinstance(listed, str):
            return Constraints(hard_fault=listed, soft_fault=listed)
        labels = pod.labels
        values = tuple([labels.get(key) for each in listed for key in each.match_label_keys])
        found = self._compiled.get((spelt, values))
        if found is None:
            if len(self._compiled) >= MOST_COMPILED:
                self._compiled.clear()
            found = self._compiled[spelt, values] = compile_constraints(listed, labels)
        return found

    def _defaulted(self, pod: PodInfo) -> Constraints:
        """The defaults, for the pods that the pod's services and controller select together."""
        namespace, owner = pod.namespace, pod.owner
        known_owner = owner is not None and (owner.api_version, owner.kind) in OWNERS
        services = self.handle.objects.of("Service", namespace)
        if not services and not known_owner:
            return NO_CONSTRAINTS
        place = (namespace, id(pod.labels), owner)
        facts = [("Service", namespace)]
        if known_owner and owner is not None:
            facts.append((owner.kind, f"{namespace}/{owner.name}"))
        version = self.handle.changes.version(facts)
        known = self._default.get(place)
        # The mapping is held on to, so that no other one can have its id.
        if known is not None and known[0] is pod.labels and known[1] == version:
            return known[2]
        if len(self._default) >= MOST_COMPILED:
            self._default.clear()
        selector = default_selector(pod, self.handle)
        found = NO_CONSTRAINTS
        if not selector.everything:
            found = compile_constraints(self.defaults, pod.labels, selector)
        self._default[place] = (pod.labels, version, found)
        return found


def compile_constraints(
    listed: Sequence[TopologySpreadConstraint],
    labels: Mapping[str, str],
    selector: Selector | None = None,
) -> Constraints:
    """Compile the constraints of a pod with these labels; a selector given replaces theirs."""
    hard, hard_fault = of_action(listed, labels, DO_NOT_SCHEDULE, selector)
    soft, soft_fault = of_action(listed, labels, SCHEDULE_ANYWAY, selector)
    return Constraints(hard, soft, hard_fault, soft_fault)


def of_action(
    listed: Sequence[TopologySpreadConstraint],
    labels: Mapping[str, str],
    action: str,
    selector: Selector | None,
) -> tuple[tuple[Constraint, ...], str]:
    found: list[Constraint] = []
    for each in listed:
        if each.when_unsatisfiable != action:
            continue
        try:
            own = compile_label_selector(each.label_selector)
        except DecodeError as problem:
            return (), str(problem)
        keys = [key for key in each.match_label_keys if key in labels]
        own = own.narrowed([Requirement(key, IN, (labels[key],)) for key in keys])
        found.append(
            Constraint(
                each.max_skew,
                each.topology_key,
                own if selector is None else selector,
                1 if each.min_domains is None else each.min_domains,
                each.node_affinity_policy in (None, HONOR),
                each.node_taints_policy == HONOR,
            )
        )
    return tuple(found), ""


def default_selector(pod: PodInfo, handle: Handle) -> Selector:
    """Whom the pod is spread among: what its services and its controller select, merged."""
    objects, namespace = handle.objects, pod.namespace
    merged: dict[str, str] = {}
    for service in cast("Mapping[str, Service]", objects.of("Service", namespace)).values():
        wanted = service.spec.selector
        if all(pod.labels.get(key) == value for key, value in wanted.items()):
            merged |= wanted
    owner = pod.owner
    if owner is None or (owner.api_version, owner.kind) not in OWNERS:
        return compile_label_map(merged)
    controller = objects.get(owner.kind, namespace, owner.name)
    if isinstance(controller, ReplicationController):
        merged |= controller.spec.selector
    selector = compile_label_map(merged)
    if isinstance(controller, (ReplicaSet, StatefulSet)):
        try:
            theirs = compile_label_selector(controller.spec.selector)
        except DecodeError:
            return selector
        return selector.narrowed(theirs.requirements)
    return selector
