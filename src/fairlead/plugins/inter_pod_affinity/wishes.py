"""How welcome a pod is in each domain: what it prefers, and what those around it would like."""

from collections.abc import Sequence

import numpy as np

from fairlead.cluster.columns import Int64
from fairlead.cluster.domains import Domains, Totals
from fairlead.cluster.nodes import NodeInfo
from fairlead.cluster.terms import PlacedTerm, TermKey, TermKind
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet
from fairlead.framework.stages import MAX_NODE_SCORE
from fairlead.model.pod_affinity import PodTerms
from fairlead.plugins.inter_pod_affinity.demands import existing_totals, totals_of


class Wishes:
    """The sum of all weights in each domain of each topology; empty if nobody has a wish."""

    __slots__ = ("_sums",)

    def __init__(
        self, handle: Handle, terms: PodTerms, placed: Sequence[PlacedTerm], hard_weight: int
    ) -> None:
        self._sums: dict[Domains, Int64] = {}
        for weighted, sign in ((terms.preferred, 1), (terms.preferred_anti, -1)):
            found = totals_of(handle, [term for _, term in weighted])
            for (weight, _), totals in zip(weighted, found, strict=True):
                self._add(totals, sign * weight)
        for each in placed:
            weight = weight_of(each.key, hard_weight)
            if weight is not None:
                self._add(existing_totals(handle, each), weight)

    @property
    def empty(self) -> bool:
        return not self._sums

    def _add(self, totals: Totals, weight: int) -> None:
        if not totals.total:
            return
        domains = totals.domains
        sums = self._sums.get(domains)
        if sums is None:
            self._sums[domains] = totals.counts * weight
        else:
            sums += totals.counts * weight

    def score(self, node: NodeInfo) -> int:
        score = 0
        for domains, sums in self._sums.items():
            value = node.labels.get(domains.topology.key)
            if value is not None:
                score += sums.item(domains.column.values[value])
        return score

    def scores(self, nodes: NodeSet) -> Int64:
        scores = np.zeros(nodes.size, np.int64)
        for domains, sums in self._sums.items():
            scores += sums[domains.ids if nodes.rows is None else domains.ids[nodes.rows]]
        return scores


def weight_of(key: TermKey, hard_weight: int) -> int | None:
    """What a term of a placed pod adds to a score; None for one that adds nothing to any."""
    match key.kind:
        case TermKind.PREFERRED:
            return key.weight
        case TermKind.PREFERRED_ANTI:
            return -key.weight
        case TermKind.REQUIRED:
            return hard_weight if hard_weight > 0 else None
        case TermKind.REQUIRED_ANTI:
            return None


def normalized(scores: Int64) -> Int64:
    """From the lowest at 0 to the highest at 100; all 0 if there is no difference."""
    if not scores.size:
        return scores
    lowest, highest = int(scores.min()), int(scores.max())
    if highest == lowest:
        return np.zeros_like(scores)
    scaled = MAX_NODE_SCORE * ((scores - lowest).astype(np.float64) / float(highest - lowest))
    return scaled.astype(np.int64)
