"""Answers that are kept: right after every change, bounded, and harmless when they are wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairlead.cluster.changes import Aspect
from fairlead.cluster.columns import FIRST_ROOM
from fairlead.cluster.nodes import NodeInfo
from fairlead.cycle.decision import Decision, Placed, Unplaced
from fairlead.cycle.schedule_one import UNSTEADY, VERIFY_EVERY
from fairlead.framework.depends import NOTHING, Depends
from fairlead.framework.nodeset import MANY_REASONS, NodeSet
from fairlead.framework.status import Status, unschedulable
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.node_resources_fit import NodeResourcesFit
from tests.builders import World, names_affinity, node, pod


def where(decision: Decision) -> str:
    return decision.node_name if isinstance(decision, Placed) else decision.message


def plugin(
    *aspects: Aspect,
    filter: Callable[[NodeInfo], Any] | None = None,  # noqa: A002
    score: Callable[[NodeInfo], Any] | None = None,
    **more: Any,
) -> type:
    """A plugin whose answers are kept until one of the aspects changes."""
    stages: dict[str, Any] = {}
    if filter is not None:
        stages["filter"] = lambda self, pod, node, state: filter(node)
    if score is not None:
        stages["score"] = lambda self, pod, node, state: score(node)
    head = {"name": "Mine", "reads": NOTHING, "depends": Depends(*aspects)}
    return type("Mine", (), head | stages | more)


def annotated(info: NodeInfo) -> Status | None:
    return unschedulable("closed") if info.annotations.get("closed") else None


CLOSED = {"closed": "yes"}


def test_pods_that_are_alike_share_a_shape_and_others_share_answers() -> None:
    world = World(node("n"))
    shapes = world.core.cycle.shapes
    world.decide(pod("a", cpu="1"))
    answers = shapes.answers
    world.decide(pod("b", cpu="1", labels={"job": "7"}))
    assert (len(shapes), shapes.answers) == (1, answers)
    world.decide(pod("c", cpu="1", tolerations=["gpu"]))
    assert len(shapes) == 2
    assert answers < shapes.answers < 2 * answers


def test_an_answer_that_misses_a_change_places_no_pod_wrongly() -> None:
    """The plugin reads annotations and says that it depends on labels."""
    world = World(node("n"), node("m"), plugins=[plugin(Aspect.LABELS, filter=annotated)])
    assert where(world.decide(pod("a"))) == "n"
    world.set_node(node("n", annotations=CLOSED))
    counts = world.core.cycle.engine.counts
    assert where(world.decide(pod("b"))) == "m"
    assert counts.mismatches == 1
    assert where(world.decide(pod("c"))) == "m"
    assert counts.mismatches == 1


def test_an_answer_that_misses_a_change_calls_no_pod_unschedulable() -> None:
    world = World(node("n", annotations=CLOSED), plugins=[plugin(Aspect.LABELS, filter=annotated)])
    assert "1 closed" in where(world.decide(pod("a")))
    world.set_node(node("n", cpu="9"))
    world.core.cycle.shapes.get(next(iter(world.core.cycle.shapes._shapes))).remembered.clear()  # type: ignore[union-attr]
    assert where(world.decide(pod("b"))) == "n"
    assert world.core.cycle.engine.counts.mismatches == 1


def test_one_decision_in_a_thousand_has_its_totals_made_afresh() -> None:
    """A score that misses a change is harmless, and yet it is found."""
    mine = plugin(Aspect.LABELS, score=lambda n: int(n.annotations.get("score", "50")))
    world = World(node("n"), node("m"), plugins=[mine])
    cycle = world.core.cycle
    assert where(world.decide(pod("a"))) == "n"
    world.set_node(node("m", annotations={"score": "90"}))
    assert where(world.decide(pod("b"))) == "n"
    assert cycle.engine.counts.mismatches == 0
    cycle.decisions = VERIFY_EVERY - 1
    assert where(world.decide(pod("c"))) == "m"
    assert cycle.engine.counts.mismatches == 1


def test_a_refusal_is_remembered_until_something_changes() -> None:
    asked: list[int] = []

    def filter_nodes(self: object, pod: PodInfo, nodes: NodeSet, state: object) -> Any:
        asked.append(nodes.size)
        return nodes.reject(nodes.column("pod_count") >= 1, "taken")

    world = World(
        node("n"), node("m"), plugins=[plugin(Aspect.REQUESTED, filter_nodes=filter_nodes)]
    )
    world.set_pod(pod("x", on="n"), pod("y", on="m"))
    first = world.decide(pod("a"))
    assert where(first) == "0/2 nodes are available: 2 taken."
    times = len(asked)
    second = world.decide(pod("b"))
    assert where(second) == where(first)
    assert second.pod.name == "b"
    assert len(asked) == times
    world.set_node(node("n", labels={"not": "read"}))
    assert where(world.decide(pod("c"))) == where(first)
    assert len(asked) == times
    world.set_pod(pod("z", on="n"))
    assert where(world.decide(pod("d"))) == where(first)
    assert len(asked) > times
    world.core.intake.remove_pod("pod-y")
    assert where(world.decide(pod("e"))) == "m"


def test_two_forms_that_disagree_fail_the_pod_and_not_the_process() -> None:
    mine = plugin(
        Aspect.LABELS,
        filter=lambda n: unschedulable("never"),
        filter_nodes=lambda self, pod, nodes, state: None,
    )
    decision = World(node("n"), plugins=[mine]).decide(pod("a"))
    assert isinstance(decision, Unplaced)
    assert (decision.message, decision.unschedulable) == (UNSTEADY, False)


@pytest.mark.parametrize("kept", [True, False])
def test_a_plugin_without_a_mind_ends_in_some_decision(kept: bool) -> None:
    turns = itertools.cycle([unschedulable("odd"), None, unschedulable("odd")])
    mine = plugin(Aspect.LABELS, filter=lambda n: next(turns))
    if not kept:
        del mine.depends  # type: ignore[attr-defined]
    world = World(node("n"), node("m"), plugins=[mine])
    for i in range(20):
        world.decide(pod(f"p{i}"))
        world.set_node(node("n", labels={"turn": str(i)}))


def test_a_crash_on_the_way_to_now_is_told_and_leaves_nothing_half_repaired() -> None:
    def ask(info: NodeInfo) -> Status | None:
        if info.annotations.get("bad"):
            raise RuntimeError("bad node")
        return annotated(info)

    world = World(*(node(f"n{i}") for i in range(3)), plugins=[plugin(Aspect.OBJECT, filter=ask)])
    assert where(world.decide(pod("a"))) == "n0"
    world.set_node(node("n1", annotations={"bad": "yes"}))
    world.set_node(node("n0", annotations=CLOSED))
    assert "RuntimeError: bad node" in where(world.decide(pod("b")))
    world.set_node(node("n1"))
    decision = world.decide(pod("c"))
    assert where(decision) == "n1"
    assert world.core.cycle.engine.counts.mismatches == 0


def test_a_score_that_failed_is_asked_again_when_it_is_well() -> None:
    """Even if it is well again by nothing that the framework could hear of."""
    well = [True]

    def score(info: NodeInfo) -> int:
        if not well[0]:
            raise RuntimeError("no data")
        return 1

    world = World(node("n"), node("m"), plugins=[plugin(Aspect.OBJECT, score=score)])
    assert where(world.decide(pod("a"))) == "n"
    well[0] = False
    world.set_node(node("m", annotations=CLOSED))
    for name in "bc":
        assert "RuntimeError: no data" in where(world.decide(pod(name)))
    well[0] = True
    assert where(world.decide(pod("d"))) == "n"


def test_a_float_that_comes_with_a_repair_is_named() -> None:
    mine = plugin(Aspect.OBJECT, score=lambda n: 0.5 if n.annotations else 1)
    world = World(node("n"), node("m"), plugins=[mine])
    assert where(world.decide(pod("a"))) == "n"
    world.set_node(node("m", annotations=CLOSED))
    assert "a score must be an integer, got 0.5" in where(world.decide(pod("b")))


def test_an_array_of_the_plugins_own_stays_its_own() -> None:
    own = np.array([5, 5] + [0] * (FIRST_ROOM - 2))

    def score_nodes(self: object, pod: object, nodes: NodeSet, state: object) -> Any:
        return own if nodes.rows is None else own[nodes.rows]

    mine = plugin(Aspect.OBJECT, score=lambda n: 9, score_nodes=score_nodes)
    world = World(node("n"), node("m"), plugins=[mine])
    world.decide(pod("a"))
    world.set_node(node("m", annotations=CLOSED))
    assert where(world.decide(pod("b"))) == "m"
    assert own[:2].tolist() == [5, 5]


def test_a_column_of_the_table_may_be_a_score() -> None:
    def score_nodes(self: object, pod: object, nodes: NodeSet, state: object) -> Any:
        return nodes.column("pod_count")

    world = World(node("n"), node("m"), plugins=[plugin(Aspect.REQUESTED, score_nodes=score_nodes)])
    for i in range(5):
        world.decide(pod(f"p{i}"))
    columns = world.cluster.nodes.columns
    assert sorted(columns.pod_count[:2].tolist()) == [0, 5]


def test_what_many_shapes_hold_is_bounded() -> None:
    world = World(node("n"), node("closed", unschedulable=True))
    shapes = world.core.cycle.shapes
    shapes._most_bytes = 100_000
    for i in range(100):
        world.decide(pod(f"p{i}", cpu=f"{i}m", tolerations=[f"key{i % 7}"]))
        assert shapes.held <= 100_000
        world.cluster.forget(f"pod-p{i}")
    assert 1 < len(shapes) < 100
    used = {one for shape in shapes._shapes.values() for one in shape.kept}
    assert set(shapes._kept.values()) == used
    sizes = sum(one.charged for one in used)
    assert shapes.held == sizes + sum(s.size for s in shapes._shapes.values())
    for shape in list(shapes._shapes.values()):
        shapes.drop(shape)
    assert (shapes.held, shapes.answers, len(shapes)) == (0, 0, 0)


def test_an_answer_that_was_one_number_is_counted_when_it_spreads() -> None:
    world = World(node("n"), node("m"))
    world.decide(pod("a", cpu="1"))
    held = world.core.cycle.shapes.held
    world.set_node(node("m", unschedulable=True))
    world.decide(pod("b", cpu="1"))
    assert world.core.cycle.shapes.held > held
    world.core.cycle.shapes.clear()
    assert world.core.cycle.shapes.held == 0


def test_the_answers_of_a_pod_that_fails_are_not_left_behind() -> None:
    def ask(self: object, pod: PodInfo, node: NodeInfo, state: object) -> Status | None:
        raise RuntimeError("boom")

    bad = type("Bad", (), {"name": "Bad", "filter": ask, "reads": NOTHING, "depends": Depends()})
    world = World(node("n"), plugins=[NodeResourcesFit, bad])
    for i in range(10):
        world.decide(pod(f"p{i}", cpu=f"{i + 1}m"))
    assert (world.core.cycle.shapes.answers, world.core.cycle.shapes.held) == (0, 0)


def test_the_table_may_grow_between_two_decisions() -> None:
    world = World(node("n"))
    world.decide(pod("a", cpu="1"))
    for i in range(2 * FIRST_ROOM):
        world.set_node(node(f"n{i}"))
    world.set_pod(*(pod(f"old{i}", cpu="1", on=f"n{i}") for i in range(2 * FIRST_ROOM - 1)))
    assert where(world.decide(pod("b", cpu="1"))) == f"n{2 * FIRST_ROOM - 1}"


def test_a_row_that_is_used_again_is_asked_again() -> None:
    world = World(node("n", cpu="1"), node("m", cpu="1"))
    assert "2 Insufficient cpu" in where(world.decide(pod("a", cpu="2")))
    world.core.intake.remove_node("m")
    assert "0/1 nodes are available: 1 Insufficient cpu." in where(world.decide(pod("b", cpu="2")))
    world.set_node(node("other", cpu="4"))
    assert where(world.decide(pod("c", cpu="2"))) == "other"


def test_words_that_never_repeat_do_not_grow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.framework.nodeset.MANY_REASONS", 50)
    assert MANY_REASONS > 50
    numbers = itertools.count()
    mine = plugin(Aspect.OBJECT, filter=lambda n: unschedulable(f"load is {next(numbers)}"))
    world = World(node("n"), node("m"), plugins=[mine])
    for i in range(200):
        assert "load is" in where(world.decide(pod(f"p{i}")))
        world.set_node(node("n", annotations={"turn": str(i)}))
        assert len(world.core.cycle.handle._reasons.tuples) < 70


def test_many_changed_rows_are_repaired_at_once_and_very_many_made_anew() -> None:
    world = World(*(node(f"n{i}", cpu="2") for i in range(100)))
    counts = world.core.cycle.engine.counts
    world.decide(pod("a", cpu="1"))
    made = counts.anew
    for count, anew in ((3, False), (30, False), (99, True)):
        for i in range(count):
            world.set_node(node(f"n{i}", cpu="2", labels={"turn": str(count)}))
        world.set_pod(*(pod(f"{count}-{i}", cpu="1m", on=f"n{i}") for i in range(count)))
        assert where(world.decide(pod(f"p{count}", cpu="1"))).startswith("n")
        assert (counts.anew > made) is anew
        shapes = world.core.cycle.shapes
        shape = shapes.get(next(iter(shapes._shapes)))
        assert shape is not None
        assert not shapes.wrong(shape)
        made = counts.anew


def test_pods_of_a_daemon_set_make_no_kept_answer() -> None:
    world = World(*(node(f"n{i}") for i in range(10)))
    for i in range(10):
        assert where(world.decide(pod(f"p{i}", affinity=names_affinity(f"n{i}")))) == f"n{i}"
    assert world.core.cycle.shapes.answers == 0
