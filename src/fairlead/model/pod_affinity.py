"""Affinity between pods: as the API spells it, and compiled for one namespace.

matchLabelKeys and mismatchLabelKeys are not read: the API server merges them into the selector.
"""

from collections.abc import Mapping

from msgspec import Struct

from fairlead.model.errors import DecodeError
from fairlead.model.reading import reader
from fairlead.model.selector import LabelSelector, Selector, compile_label_selector


class PodAffinityTerm(Struct, rename="camel", frozen=True, gc=False):
    """Pods, by namespace and labels, and the topology in which they are near or far."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(Struct, rename="camel", frozen=True, gc=False):
    """A term that is only preferred."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Struct, rename="camel", frozen=True, gc=False):
    """The terms of podAffinity or of podAntiAffinity: both are spelt alike."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class PodTerm(Struct, frozen=True, gc=False, cache_hash=True):
    """A compiled term: pods of these namespaces, or of those with such labels, and selected."""

    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector

    def matches(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        """Whether a pod is meant: by its namespace, its labels and those of its namespace."""
        return (
            namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(labels)


WeightedPodTerm = tuple[int, PodTerm]


class PodTerms(Struct, frozen=True, eq=False, gc=False):
    """All terms of a pod; `fault` says what is wrong with them, and the faulty lists are empty."""

    required: tuple[PodTerm, ...] = ()
    required_anti: tuple[PodTerm, ...] = ()
    preferred: tuple[WeightedPodTerm, ...] = ()
    preferred_anti: tuple[WeightedPodTerm, ...] = ()
    fault: str = ""


NO_POD_TERMS = PodTerms()

_read = reader(PodAffinity, "affinity")


def compile_pod_terms(affinity: bytes, anti_affinity: bytes, namespace: str) -> PodTerms:
    """Compile podAffinity and podAntiAffinity, JSON or b"", of a pod of this namespace."""
    faults: list[str] = []
    try:
        near = _read(affinity) if affinity else PodAffinity()
        far = _read(anti_affinity) if anti_affinity else PodAffinity()
    except DecodeError as problem:
        return PodTerms(fault=str(problem))

    def required(of: PodAffinity, what: str) -> tuple[PodTerm, ...]:
        try:
            terms = of.required_during_scheduling_ignored_during_execution
            return tuple([_compiled(term, namespace) for term in terms])
        except DecodeError as problem:
            faults.append(f"{what}: {problem}")
            return ()

    def preferred(of: PodAffinity, what: str) -> tuple[WeightedPodTerm, ...]:
        try:
            terms = of.preferred_during_scheduling_ignored_during_execution
            return tuple([(t.weight, _compiled(t.pod_affinity_term, namespace)) for t in terms])
        except DecodeError as problem:
            faults.append(f"{what}: {problem}")
            return ()

    lists = (
        required(near, "requiredAffinityTerms"),
        required(far, "requiredAntiAffinityTerms"),
        preferred(near, "preferredAffinityTerms"),
        preferred(far, "preferredAntiAffinityTerms"),
    )
    distinct = list(dict.fromkeys(faults))
    fault = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
    return PodTerms(*lists, fault)


def _compiled(term: PodAffinityTerm, namespace: str) -> PodTerm:
    """Without any word about namespaces the pod's own is meant."""
    selector = compile_label_selector(term.label_selector)
    names = frozenset(term.namespaces)
    if not names and term.namespace_selector is None:
        names = frozenset([namespace])
    return PodTerm(
        term.topology_key, names, compile_label_selector(term.namespace_selector), selector
    )
