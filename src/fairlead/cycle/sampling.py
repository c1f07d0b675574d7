"""Looking at a part of the nodes: how many, from where on, and in which order.

Reads: the order of the nodes. Writes: where to begin next time.

Without `percentageOfNodesToScore`, every node is looked at and none of this is asked. With it, or
held to kube-scheduler's letter, the search ends when enough nodes fit, and the next pod's begins
where it has ended; all profiles share that place.
"""

from typing import NamedTuple

import numpy as np

from fairlead.cluster.order import NodeOrder
from fairlead.framework.nodeset import Rows
from fairlead.framework.profile import Profile

LEAST_NODES = 100
"""Below so many nodes all are looked at, and never fewer that fit are looked for."""
LEAST_PERCENTAGE = 5


def enough(nodes: int, percentage: int) -> int:
    """How many of the nodes must fit for the search to end; 0 adapts to their number."""
    if nodes < LEAST_NODES:
        return nodes
    if percentage == 0:
        percentage = max(50 - nodes // 125, LEAST_PERCENTAGE)
    return max(nodes * percentage // 100, LEAST_NODES)


class Visit(NamedTuple):
    """The nodes that were looked at, in order, and those of them that fit."""

    seen: Rows
    fitting: Rows


class Sampling:
    """One place for all profiles: where the last search has ended."""

    __slots__ = ("_order", "_strict", "start")

    def __init__(self, order: NodeOrder, strict: bool) -> None:
        self._order = order
        self._strict = strict
        self.start = 0

    def of(self, profile: Profile) -> bool:
        """Whether pods of this profile need to ask."""
        return self._strict or profile.percentage_of_nodes_to_score > 0

    def visit(self, profile: Profile, candidates: Rows, passed: Rows) -> Visit:
        """What the search sees of the candidates until enough of those that pass are found."""
        order = self._order.rows()
        room = int(order.max(initial=0)) + 1
        if len(candidates) < len(order):
            order = order[_mask(candidates, room)[order]]
        shift = self.start % max(len(order), 1)
        order = np.concatenate((order[shift:], order[:shift]))
        at = np.flatnonzero(_mask(passed, room)[order])
        wanted = enough(len(order), profile.percentage_of_nodes_to_score)
        seen = order if len(at) <= wanted else order[: at[wanted]]
        return Visit(seen, order[at[:wanted]])

    def moved(self, profile: Profile, visit: Visit) -> None:
        """The search has ended: the next begins after what this one has seen.

        Where nothing is scored, it has ended at the first node that fits.
        """
        seen = len(visit.seen)
        if not profile.score and len(visit.fitting) > 1:
            seen = int(np.flatnonzero(visit.seen == visit.fitting[1])[0])
        self.start = (self.start + seen) % max(len(self._order.rows()), 1)


def _mask(rows: Rows, room: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    mask = np.zeros(room, np.bool_)
    mask[rows] = True
    return mask


def first_of(ties: Rows, fitting: Rows) -> int:
    """The position among the ties of the one that kube-scheduler takes.

    It puts the nodes that fit into a heap in their order, where a node rises only above one that
    is worse: so the top is the first of the best as one walks down the tree, left before right.
    """
    place = {row: number for number, row in enumerate(fitting.tolist(), 1)}
    rows = ties.tolist()
    return min(range(len(rows)), key=lambda at: f"{place[rows[at]]:b}"[1:])
