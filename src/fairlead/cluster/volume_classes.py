"""The volumes of one class: those that can be had, by size and by the label that leads to them.

Reads: PersistentVolumes. Writes: its lists.

A volume that is not yet anybody's stands in a bucket for each label value that its affinity names
(`kubernetes.io/hostname=n1`), so that a node looks only at those it may reach. One without such a
name stands where every node looks.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from msgspec import Struct

from fairlead.model.errors import DecodeError
from fairlead.model.quantity import Quantity, parse_quantity
from fairlead.model.selector import (
    IN,
    RequiredNodeAffinity,
    Selector,
    compile_node_selector,
)
from fairlead.model.storage import PersistentVolume, PersistentVolumeClaim

STORAGE = "storage"
Label = tuple[str, str]


class Wanted(Struct, frozen=True, gc=False, cache_hash=True):
    """What a claim asks of a volume; claims that ask alike can have the same volumes."""

    storage_class: str
    size: int
    """In billionths of a byte, which is exact."""
    mode: str
    attributes_class: str
    selector: Selector | None
    access_modes: frozenset[str]


class Candidate:
    """One volume, with what is asked of it again and again."""

    __slots__ = (
        "access_modes", "affinity", "anchors", "exact", "is_free", "key", "size", "volume",
    )  # fmt: skip

    def __init__(self, volume: PersistentVolume) -> None:
        self.volume = volume
        spec, meta = volume.spec, volume.metadata
        self.size = nano(spec.capacity.get(STORAGE))
        self.key = (self.size, meta.name)
        """The smallest comes first; equal ones by name."""
        required = None if spec.node_affinity is None else spec.node_affinity.required
        self.affinity = None if required is None else compile_node_selector(required)
        self.anchors, self.exact = anchored(self.affinity)
        self.access_modes = frozenset(spec.access_modes)
        self.is_free = (
            spec.claim_ref is None
            and volume.status.phase == "Available"
            and meta.deletion_timestamp is None
        )

    def reached(self, labels: Mapping[str, str]) -> bool:
        return self.affinity is None or self.affinity.matches(labels, "")

    def fits(self, wanted: Wanted) -> bool:
        """Whether a claim may have it at all, be it kept for the claim or free."""
        spec = self.volume.spec
        return (
            self.size >= wanted.size
            and spec.volume_mode == wanted.mode
            and spec.volume_attributes_class_name == wanted.attributes_class
            and self.volume.metadata.deletion_timestamp is None
        )

    def suits(self, wanted: Wanted) -> bool:
        """Whether a claim may have it although it is nobody's yet."""
        return (
            self.is_free
            and self.fits(wanted)
            and wanted.access_modes <= self.access_modes
            and (wanted.selector is None or wanted.selector.matches(self.volume.metadata.labels))
        )


class VolumeClass:
    """All volumes of a class: the free ones by size, and those kept for a claim by its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.anywhere: list[Candidate] = []
        self.buckets: dict[str, dict[str, list[Candidate]]] = {}
        """By label key and value."""
        self.inexact = 0
        """How many of the free ones ask for more than one label."""
        self._all: dict[str, Candidate] = {}
        self._kept: dict[tuple[str, str], dict[str, Candidate]] = {}

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, candidate: Candidate) -> Candidate:
        self._all[candidate.volume.metadata.name] = candidate
        ref = candidate.volume.spec.claim_ref
        if ref is not None:
            kept = self._kept.setdefault((ref.namespace, ref.name), {})
            kept[candidate.volume.metadata.name] = candidate
        elif candidate.is_free:
            self.inexact += not candidate.exact
            for bucket in self._places(candidate):
                insort(bucket, candidate, key=by_size)
        return candidate

    def remove(self, name: str) -> Candidate:
        candidate = self._all.pop(name)
        ref = candidate.volume.spec.claim_ref
        if ref is not None:
            kept = self._kept[ref.namespace, ref.name]
            del kept[name]
            if not kept:
                del self._kept[ref.namespace, ref.name]
        elif candidate.is_free:
            self.inexact -= not candidate.exact
            for bucket in self._places(candidate):
                take_out(bucket, candidate)
            self._tidy(candidate)
        return candidate

    def kept_for(self, claim: PersistentVolumeClaim) -> list[Candidate]:
        """The volumes that are kept for a claim, by name."""
        kept = self._kept.get((claim.metadata.namespace, claim.metadata.name))
        if kept is None:
            return []
        return [kept[name] for name in sorted(kept) if kept[name].volume.bound_to(claim)]

    def within_reach(self, labels: Mapping[str, str]) -> Iterator[list[Candidate]]:
        """Lists by size of all free volumes that a node with these labels may reach."""
        yield self.anywhere
        for key, by_value in self.buckets.items():
            value = labels.get(key)
            if value is not None and value in by_value:
                yield by_value[value]

    def _places(self, candidate: Candidate) -> list[list[Candidate]]:
        if candidate.anchors is None:
            return [self.anywhere]
        return [
            self.buckets.setdefault(key, {}).setdefault(value, [])
            for key, value in candidate.anchors
        ]

    def _tidy(self, candidate: Candidate) -> None:
        for key, value in candidate.anchors or ():
            by_value = self.buckets[key]
            if value in by_value and not by_value[value]:
                del by_value[value]
            if not by_value:
                del self.buckets[key]


def by_size(candidate: Candidate) -> tuple[int, str]:
    return candidate.key


def take_out(candidates: list[Candidate], candidate: Candidate) -> None:
    at = bisect_left(candidates, candidate.key, key=by_size)
    assert candidates[at] is candidate, "the list is in order"
    del candidates[at]


def anchored(affinity: RequiredNodeAffinity | None) -> tuple[tuple[Label, ...] | None, bool]:
    """The labels of which a node must have one, and whether having it is all that is asked.

    None if some term can be met without any particular label.
    """
    if affinity is None:
        return None, True
    labels: dict[Label, None] = {}
    exact = True
    for term in affinity.terms:
        if term.faults or term.empty:
            continue
        demand = min(
            (r for r in term.requirements if r.operator == IN),
            key=lambda r: len(r.values),
            default=None,
        )
        if demand is None:
            return None, False
        exact = exact and len(term.requirements) == 1
        labels.update(((demand.key, value), None) for value in demand.values)
    return tuple(labels), exact


def wanted_of(claim: PersistentVolumeClaim, selector: Selector | None) -> Wanted:
    spec = claim.spec
    return Wanted(
        claim.storage_class,
        nano(spec.resources.requests.get(STORAGE)),
        spec.volume_mode,
        spec.volume_attributes_class_name or "",
        selector,
        frozenset(spec.access_modes),
    )


def nano(text: str | int | float | None) -> int:
    """An amount in billionths, which every quantity is a whole number of; unreadable is none."""
    if text is None:
        return 0
    try:
        found: Quantity = parse_quantity(text.strip() if isinstance(text, str) else text)
    except DecodeError:
        return 0
    return found.unscaled * 10 ** (found.scale + 9)


def amount_of(volume: PersistentVolume) -> int:
    """How much a volume holds, in bytes."""
    return -(-nano(volume.spec.capacity.get(STORAGE)) // 10**9)
