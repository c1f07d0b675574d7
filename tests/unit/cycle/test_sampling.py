"""Looking at a part of the nodes: how many, in which order, from where on, and who wins a tie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cluster.order import NodeOrder, zone_of
from fairlead.cycle.decision import Detail, Placed
from fairlead.cycle.sampling import enough, first_of
from tests.builders import World, names_affinity, node, pod

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


def placed(world: World, name: str, **fields: object) -> str:
    decision = world.decide(pod(name, cpu="1", **fields))  # type: ignore[arg-type]
    assert isinstance(decision, Placed)
    return decision.node_name


def test_to_the_letter_the_first_of_the_best_is_taken_and_else_any() -> None:
    nodes = [node(name) for name in "abc"]
    strict = World(*nodes, strict=True)
    assert [placed(strict, f"p{number}") for number in range(3)] == ["a", "b", "c"]
    assert placed(World(*nodes, choose=lambda ties: ties - 1), "p") == "c"


def test_to_the_letter_a_part_of_the_nodes_is_looked_at_and_else_all() -> None:
    nodes = [node(f"n{number:03d}") for number in range(250)]
    detail = Detail()
    World(*nodes).decide(pod("p"), detail)
    assert (detail.evaluated, len(detail.filter or ())) == (0, 250)
    strict = World(*nodes, strict=True)
    seen: list[set[str]] = []
    for number in range(2):
        detail = Detail()
        strict.decide(pod(f"p{number}"), detail)
        assert detail.evaluated == 120
        seen.append(set(detail.filter or ()))
    assert not seen[0] & seen[1]


def test_a_search_among_few_moves_the_beginning_of_the_next_one_too() -> None:
    nodes = [node(f"n{number:03d}") for number in range(150)]
    world = World(*nodes, strict=True)
    placed(world, "p", affinity=names_affinity("n007", "n008", "n009"))
    assert world.core.cycle.sampling.start == 3
    world.decide(pod("q", cpu="9", affinity=names_affinity("n001", "n002")))
    assert world.core.cycle.sampling.start == 5
    world.decide(pod("r", cpu="9"))
    assert world.core.cycle.sampling.start == 5
