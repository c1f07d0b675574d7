"""Looking at a part of the nodes: how many, in which order, from where on, and who wins a tie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cluster.order import NodeOrder, zone_of
from fairlead.cycle.sampling import enough, first_of

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("nodes", "percentage", "wanted"),
    [
        (99, 0, 99),
        (99, 1, 99),
        (100, 0, 100),
        (100, 100, 100),
        (500, 0, 230),
        (1000, 0, 420),
        (5000, 0, 500),
        (6000, 0, 300),
        (10000, 0, 500),
        (1000, 1, 100),
        (1000, 70, 700),
    ],
)
def test_so_many_nodes_are_enough(nodes: int, percentage: int, wanted: int) -> None:
    assert enough(nodes, percentage) == wanted


def order_of(*zones: str) -> NodeOrder:
    order = NodeOrder()
    for row, zone in enumerate(zones):
        order.add(row, {ZONE: zone} if zone else {})
    return order


def test_nodes_come_a_zone_at_a_time_in_turns() -> None:
    assert order_of("a", "a", "b", "", "a", "b").rows().tolist() == [0, 2, 3, 1, 5, 4]


def test_a_zone_that_was_left_comes_last_when_it_is_there_again() -> None:
    order = order_of("a", "b")
    order.remove(0)
    order.add(0, {ZONE: "a"})
    assert order.rows().tolist() == [1, 0]


def test_a_node_that_changes_its_zone_keeps_its_place_until_one_comes_or_goes() -> None:
    order = order_of("a", "a", "b")
    assert order.rows().tolist() == [0, 2, 1]
    order.move(1, {ZONE: "b"})
    assert order.rows().tolist() == [0, 2, 1]
    order.add(3, {})
    assert order.rows().tolist() == [0, 2, 3, 1]


def test_the_older_labels_count_first() -> None:
    assert zone_of({ZONE: "new", OLD_ZONE: "old", REGION: "r"}) == ("r", "old")
    assert zone_of({}) == ("", "")


def top_of_heap(scores: list[int]) -> int:
    """The top after Go's heap.Init, each node with its place in the list."""
    heap = list(range(len(scores)))

    def better(a: int, b: int) -> bool:
        return scores[heap[a]] > scores[heap[b]]

    for start in range(len(heap) // 2 - 1, -1, -1):
        at = start
        while (child := 2 * at + 1) < len(heap):
            if child + 1 < len(heap) and better(child + 1, child):
                child += 1
            if not better(child, at):
                break
            heap[at], heap[child] = heap[child], heap[at]
            at = child
    return heap[0]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_of_the_best_that_one_wins_which_rises_to_the_top_of_the_heap(scores: list[int]) -> None:
    rows = np.arange(100, 100 + len(scores))
    ties = rows[np.array(scores) == max(scores)]
    assert ties[first_of(ties, rows)] == 100 + top_of_heap(scores)
