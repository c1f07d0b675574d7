"""ResourceClaims: as the watch told them, as they were written since, and those being allocated.

    reserve ──► in flight ──release──► not allocated
                   └──assume (written)──► allocated ──the watch──► as told

The devices of a claim count once, whichever of these says that it has them.
"""

from fairlead.cluster.changes import Changes
from fairlead.cluster.devices.allocations import Allocations, Use, uses_of
from fairlead.cluster.objects import Objects
from fairlead.model.meta import controller_of
from fairlead.model.resource import AllocationResult, ResourceClaim

KIND = "ResourceClaim"
EXTENDED = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of a claim that a scheduler made for extended resources."""


class Claims:
    """All claims, by namespace and name."""

    def __init__(self, objects: Objects, changes: Changes, allocations: Allocations) -> None:
        self.sharing = True
        """Whether devices may be shared (DRAConsumableCapacity)."""
        self._objects = objects
        self._changes = changes
        self._allocations = allocations
        self._assumed: dict[tuple[str, str], ResourceClaim] = {}
        self._in_flight: dict[str, AllocationResult] = {}
        self._counted: dict[str, tuple[AllocationResult, list[Use]]] = {}
        self._of_pods: dict[str, dict[tuple[str, str], ResourceClaim]] = {}

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        """The newest version that is known."""
        assumed = self._assumed.get((namespace, name))
        if assumed is not None:
            return assumed
        return self._objects.get(KIND, namespace, name)  # type: ignore[return-value]

    def in_flight(self, uid: str) -> bool:
        """Whether the claim has been given devices, and that is not written yet."""
        return uid in self._in_flight

    def made_for(self, pod_uid: str, pod_name: str) -> ResourceClaim | None:
        """The claim that a scheduler made for the extended resources of a pod."""
        for key in self._of_pods.get(pod_uid, ()):
            claim = self.get(*key)
            owner = None if claim is None else controller_of(claim.metadata.owner_references)
            if owner is not None and owner.name == pod_name:
                return claim
        return None

    def reserve(self, uid: str, allocation: AllocationResult) -> None:
        """The claim is being given these devices."""
        self._in_flight[uid] = allocation
        self._count(uid, allocation)

    def release(self, uid: str) -> bool:
        """The giving is over, written or given up; whether there was any."""
        allocation = self._in_flight.pop(uid, None)
        if allocation is not None:
            counted = self._counted.get(uid)
            if counted is not None and counted[0] is allocation:
                self._count(uid, None)
        return allocation is not None

    def assume(self, claim: ResourceClaim) -> None:
        """The claim as the API server answered: newer than what the watch has told, or ignored."""
        meta = claim.metadata
        key = meta.namespace, meta.name
        known = self.get(*key)
        if known is None or not newer(claim, known):
            return
        self._assumed[key] = claim
        self._count(meta.uid, claim.status.allocation)
        self._index(known, claim)
        self._changes.touch((KIND, f"{meta.namespace}/{meta.name}"))

    def restore(self, namespace: str, name: str) -> None:
        """Believe the watch again."""
        assumed = self._assumed.pop((namespace, name), None)
        if assumed is not None:
            told = self.get(namespace, name)
            self._count(assumed.metadata.uid, None if told is None else told.status.allocation)
            self._changes.touch((KIND, f"{namespace}/{name}"))

    def heard(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """The watch has told of a claim."""
        given = new or old
        assert given is not None, "a change is of something"
        meta = given.metadata
        key = meta.namespace, meta.name
        assumed = self._assumed.get(key)
        if assumed is not None:
            if new is not None and same(assumed, new) and newer(assumed, new):
                return
            del self._assumed[key]
            if not same(assumed, given):
                self._count(assumed.metadata.uid, None)
        if old is not None and (new is None or not same(old, new)):
            self._count(old.metadata.uid, None)
        if new is not None:
            self._count(meta.uid, new.status.allocation or self._in_flight.get(meta.uid))
        self._index(old, new)

    def _count(self, uid: str, allocation: AllocationResult | None) -> None:
        """From now on the claim has these devices, and no others."""
        counted = self._counted.get(uid)
        if counted is not None and allocation is not None and counted[0] == allocation:
            self._counted[uid] = allocation, counted[1]  # from now on by this one's word
            return
        if counted is not None:
            del self._counted[uid]
            self._allocations.remove(counted[1])
        if allocation is not None:
            uses = uses_of(allocation, sharing=self.sharing)
            self._counted[uid] = allocation, uses
            self._allocations.add(uses)

    def _index(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        for claim, there in ((old, False), (new, True)):
            if claim is None or claim.metadata.annotations.get(EXTENDED) != "true":
                continue
            owner = controller_of(claim.metadata.owner_references)
            if owner is None:
                continue
            key = claim.metadata.namespace, claim.metadata.name
            if there:
                self._of_pods.setdefault(owner.uid, {})[key] = claim
            elif owner.uid in self._of_pods:
                self._of_pods[owner.uid].pop(key, None)
                if not self._of_pods[owner.uid]:
                    del self._of_pods[owner.uid]


def same(one: ResourceClaim, other: ResourceClaim) -> bool:
    return one.metadata.uid == other.metadata.uid


def newer(one: ResourceClaim, other: ResourceClaim) -> bool:
    """By resourceVersion, as kube-scheduler compares them: as numbers."""
    first, second = one.metadata.resource_version, other.metadata.resource_version
    if not first.isdigit() or not second.isdigit():
        return first != second
    return int(first) > int(second)
