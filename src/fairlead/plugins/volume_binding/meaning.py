"""What a pod's claims mean for its placement: everything about them but their names.

Two pods whose claims mean the same can go to the same nodes, so they share one kept answer, though
each has a claim of its own. What a claim means changes when it is bound, so a pod is looked at
anew in each attempt.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fairlead.cluster.objects import Objects
from fairlead.cluster.placed_volumes import PlacedVolumes
from fairlead.cluster.storage import Storage
from fairlead.cluster.volume_classes import STORAGE, Candidate, Wanted, amount_of, nano, wanted_of
from fairlead.framework.status import Code
from fairlead.model.csi_migration import (
    MOVED,
    TranslationError,
    in_tree_plugin,
    translated_affinity,
)
from fairlead.model.errors import DecodeError
from fairlead.model.pod_volumes import PodVolume, foreign
from fairlead.model.podinfo import PodInfo
from fairlead.model.selector import (
    IN,
    RequiredNodeAffinity,
    Requirement,
    compile_label_selector,
    compile_node_selector,
)
from fairlead.model.storage import (
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    CSIDriver,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

NO_PROVISIONER = "kubernetes.io/no-provisioner"
IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


class Refused(NamedTuple):
    """Why no node can take the pod."""

    code: Code
    reason: str


class Bound(NamedTuple):
    """A claim that has its volume: from where the volume can be reached.

    A volume of a kind that has moved to a CSI driver is reached from elsewhere where the node has
    moved too; `fault` is why that cannot be told.
    """

    missing: bool = False
    affinity: RequiredNodeAffinity | None = None
    plugin: str = ""
    moved_affinity: RequiredNodeAffinity | None = None
    fault: str = ""


class KeptVolume(NamedTuple):
    """A volume that is kept for the claim and good enough for it."""

    affinity: RequiredNodeAffinity | None
    capacity: int


class Provision(NamedTuple):
    """What it takes to make a volume; no `topologies` is anywhere."""

    possible: bool
    topologies: tuple[tuple[Requirement, ...], ...] | None
    tracked: bool
    """Whether the driver tells how much it has left."""
    size: int | None
    """In bytes; None if the claim does not say."""


class Unbound(NamedTuple):
    """A claim that waits for its pod: what volume it wants, and how one can be made."""

    wanted: Wanted
    selected_node: str | None
    kept: tuple[KeptVolume, ...]
    provision: Provision
    requested: int
    repeats: int
    """How many volumes of the pod before this one have the same claim."""
    fault: str


class Meaning(NamedTuple):
    """The claims of a pod: those that are bound, and those that wait, in the pod's order."""

    bound: tuple[Bound, ...]
    unbound: tuple[Unbound, ...]

    @property
    def to_match(self) -> list[int]:
        """The claims that look for a volume, smallest first."""
        found = [i for i, each in enumerate(self.unbound) if each.selected_node is None]
        return sorted(found, key=lambda i: self.unbound[i].wanted.size)

    @property
    def begun(self) -> list[int]:
        """The claims for which a node was selected before."""
        return [i for i, each in enumerate(self.unbound) if each.selected_node is not None]


class Claims(NamedTuple):
    """The claims of a pod, with what they mean."""

    bound: tuple[PersistentVolumeClaim, ...]
    unbound: tuple[PersistentVolumeClaim, ...]


class Reader:
    """Looks up what the claims of pods mean."""

    def __init__(self, objects: Objects, placed: PlacedVolumes, storage: Storage) -> None:
        self.objects = objects
        self.placed = placed
        self.storage = storage

    def refused(self, pod: PodInfo) -> Refused | None:
        """What stands against the pod's claims wherever the pod goes."""
        for name, volume in self.placed.of(pod).claims(pod):
            claim = self.objects.get("PersistentVolumeClaim", pod.namespace, name)
            reason = wrong_with(pod, name, volume, claim)
            if reason:
                return Refused(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reason)
        return None

    def claims(self, pod: PodInfo) -> Claims | Refused:
        """The pod's claims as they are assumed to be; refused if one should be bound by now."""
        bound: list[PersistentVolumeClaim] = []
        unbound: list[PersistentVolumeClaim] = []
        immediate = False
        for name, _ in self.placed.of(pod).claims(pod):
            claim = self.storage.claims.get(pod.namespace, name)
            if claim is None:
                return Refused(Code.ERROR, f'error getting PVC "{pod.namespace}/{name}"')
            if claim.is_bound:
                bound.append(claim)
                continue
            of_class = self._class(claim.storage_class)
            if of_class is not None and of_class.volume_binding_mode is None:
                name = of_class.metadata.name
                return Refused(Code.ERROR, f'VolumeBindingMode not set for StorageClass "{name}"')
            waits = of_class is not None and of_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
            if waits and not claim.spec.volume_name:
                unbound.append(claim)
            else:
                immediate = True
        if immediate:
            return Refused(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, IMMEDIATE)
        return Claims(tuple(bound), tuple(unbound))

    def meaning(self, claims: Claims) -> Meaning:
        return Meaning(
            tuple([self._bound(claim) for claim in claims.bound]),
            tuple(self._unbound(claims.unbound)),
        )

    def kept_for(self, claim: PersistentVolumeClaim, wanted: Wanted) -> list[Candidate]:
        """The volumes that are kept for the claim and good enough, by name."""
        of_class = self.storage.volume_class(wanted.storage_class)
        if of_class is None:
            return []
        return [each for each in of_class.kept_for(claim) if each.fits(wanted)]

    def _bound(self, claim: PersistentVolumeClaim) -> Bound:
        volume = self.storage.volumes.get("", claim.spec.volume_name)
        return Bound(missing=True) if volume is None else reached_from(volume)

    def _unbound(self, claims: Iterable[PersistentVolumeClaim]) -> Iterator[Unbound]:
        seen: dict[str, int] = {}
        for claim in claims:
            name = claim.metadata.name
            repeats = seen[name] = seen.get(name, -1) + 1
            selector, fault = None, ""
            if claim.spec.selector is not None:
                try:
                    selector = compile_label_selector(claim.spec.selector)
                except DecodeError as problem:
                    key = f"{claim.metadata.namespace}/{name}"
                    what = "error creating internal label selector for claim"
                    fault = f"{what}: {key}: {problem}"
            wanted = wanted_of(claim, selector)
            kept = tuple(
                [KeptVolume(c.affinity, amount_of(c.volume)) for c in self.kept_for(claim, wanted)]
            )
            provision = self._provision(claim)
            selected = claim.metadata.annotations.get(SELECTED_NODE)
            requested = provision.size or 0
            yield Unbound(wanted, selected, kept, provision, requested, repeats, fault)

    def _provision(self, claim: PersistentVolumeClaim) -> Provision:
        of_class = self._class(claim.storage_class)
        assert of_class is not None, "a claim without a class does not wait"
        request = claim.spec.resources.requests.get(STORAGE)
        size = None if request is None else -(-nano(request) // 10**9)
        driver = self.objects.get("CSIDriver", "", of_class.provisioner)
        return Provision(
            of_class.provisioner not in ("", NO_PROVISIONER),
            topologies_of(of_class),
            isinstance(driver, CSIDriver) and driver.spec.storage_capacity,
            size,
        )

    def _class(self, name: str) -> StorageClass | None:
        found = self.objects.get("StorageClass", "", name) if name else None
        return found if isinstance(found, StorageClass) else None


def wrong_with(pod: PodInfo, name: str, volume: PodVolume, claim: object) -> str:
    """What is wrong with a claim of the pod, be it bound or not; "" if nothing is."""
    if not isinstance(claim, PersistentVolumeClaim):
        if volume.is_ephemeral and volume.persistent_volume_claim is None:
            what = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
            return f'{what} "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == "Lost":
        lost = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume'
        return f'{lost} "{claim.spec.volume_name}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if volume.persistent_volume_claim is None:
        return foreign(pod, claim)
    return ""


def reached_from(volume: PersistentVolume) -> Bound:
    """From where a volume can be reached, by nodes that have moved to its driver and by others."""
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    plain = None if required is None else compile_node_selector(required)
    plugin = in_tree_plugin(volume.spec)
    if plugin not in MOVED:
        return Bound(affinity=plain)
    try:
        moved = translated_affinity(volume)
    except TranslationError as problem:
        fault = f"could not translate pv: {problem}"
        return Bound(affinity=plain, plugin=plugin, fault=fault)
    compiled = None if moved is None else compile_node_selector(moved)
    return Bound(affinity=plain, plugin=plugin, moved_affinity=compiled)


def topologies_of(of_class: StorageClass) -> tuple[tuple[Requirement, ...], ...] | None:
    """Where volumes of a class can be made: any of the terms will do, an empty one never does."""
    if not of_class.allowed_topologies:
        return None
    return tuple(
        tuple(
            Requirement(demand.key, IN, tuple(sorted(set(demand.values))))
            for demand in term.match_label_expressions
        )
        for term in of_class.allowed_topologies
        if term.match_label_expressions
    )
