"""One pod at a time: which node, and in what words when there is none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.cluster.nodes import NodeInfo
from fairlead.cycle.decision import Decision, Detail, Placed, Unplaced
from fairlead.framework.depends import NOTHING, Depends
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.status import SKIP, Code, Status, error, unresolvable, unschedulable
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.node_affinity import NodeAffinity
from fairlead.plugins.node_resources_fit import NodeResourcesFit
from tests.builders import World, before_preemption, names_affinity, node, pod


def placed(decision: Decision) -> str:
    assert isinstance(decision, Placed), decision
    return decision.node_name


def refused(decision: Decision) -> Unplaced:
    assert isinstance(decision, Unplaced), decision
    return decision


def filtering(ask: Callable[[PodInfo, NodeInfo], Any], **more: Any) -> type:
    """A plugin that nobody keeps, with this Filter."""
    return type(
        "Filtering", (), {"name": "Filtering", "filter": lambda s, p, n, t: ask(p, n)} | more
    )


def scoring(ask: Callable[[PodInfo, NodeInfo], Any], **more: Any) -> type:
    return type("Scoring", (), {"name": "Scoring", "score": lambda s, p, n, t: ask(p, n)} | more)


KEPT = {"reads": NOTHING, "depends": Depends()}


def test_without_nodes_there_is_nothing_to_say_about_them() -> None:
    decision = refused(World().decide(pod("a")))
    assert decision.message == "no nodes available to schedule pods"
    assert (decision.unschedulable, decision.unschedulable_plugins) == (True, frozenset())


def test_the_emptier_node_is_taken_and_the_pod_counts_there() -> None:
    world = World(node("full"), node("empty"))
    world.set_pod(pod("old", cpu="4", on="full"))
    assert placed(world.decide(pod("a", cpu="1"))) == "empty"
    empty = world.cluster.nodes.get("empty")
    assert empty is not None
    assert empty.requested("cpu") == 1000
    assert world.cluster.is_assumed("pod-a")


def test_ties_are_broken_by_chance_among_all_the_best() -> None:
    world = World(
        *(node(f"n{i}") for i in range(4)), node("worse"), choose=random.Random(7).randrange
    )
    world.set_pod(pod("old", cpu="1", memory="1Gi", on="worse"))
    taken = Counter[str]()
    for i in range(200):
        decision = world.decide(pod(f"p{i}"))
        taken[placed(decision)] += 1
        world.cluster.forget(f"pod-p{i}")
    assert set(taken) == {"n0", "n1", "n2", "n3"}
    assert min(taken.values()) > 20


def test_the_best_are_all_told_and_nobody_chooses_between_one() -> None:
    asked: list[int] = []

    def choose(count: int) -> int:
        asked.append(count)
        return count - 1

    world = World(node("a"), node("b"), node("small", cpu="1"), choose=choose)
    detail = Detail()
    world.decide(pod("p", cpu="2"), detail)
    assert (detail.winners, asked) == (["a", "b"], [2])
    world.set_node(node("b", unschedulable=True))
    assert placed(world.decide(pod("q", cpu="2"))) == "a"
    assert asked == [2]


@pytest.mark.parametrize("more", [{}, KEPT], ids=["fresh", "kept"])
def test_the_only_node_that_fits_is_not_scored(more: dict[str, Any]) -> None:
    """A score that fails harms nobody where there is nothing to choose."""

    def fails(pod: PodInfo, node: NodeInfo) -> int:
        raise RuntimeError("no data")

    world = World(
        node("n", cpu="8"), node("m", cpu="1"), plugins=[NodeResourcesFit, scoring(fails, **more)]
    )
    assert placed(world.decide(pod("a", cpu="2"))) == "n"
    decision = refused(world.decide(pod("b", cpu="500m")))
    assert not decision.unschedulable
    assert decision.reason == "SchedulerError"
    assert "plugin 'Scoring' failed in Score: RuntimeError: no data" in decision.message
    assert not world.cluster.is_assumed("pod-b")


@pytest.mark.parametrize("more", [{}, KEPT], ids=["fresh", "kept"])
@pytest.mark.parametrize("score", [101, -1])
def test_a_score_out_of_range_fails_the_pod(score: int, more: dict[str, Any]) -> None:
    world = World(node("n"), node("m"), plugins=[scoring(lambda p, n: score, **more)])
    decision = refused(world.decide(pod("a")))
    assert f'plugin "Scoring" returns an invalid score {score}' in decision.message


@pytest.mark.parametrize("more", [{}, KEPT], ids=["fresh", "kept"])
@pytest.mark.parametrize("normal", [101, -1])
def test_a_normalised_score_out_of_range_fails_the_pod(normal: int, more: dict[str, Any]) -> None:
    more = more | {"normalize_score": lambda self, pod, scores, state: scores * 0 + normal}
    world = World(node("n"), node("m"), plugins=[scoring(lambda p, n: n.row, **more)])
    decision = refused(world.decide(pod("a")))
    assert f'plugin "Scoring" returns an invalid score {normal}' in decision.message


def test_raw_scores_may_be_anything_that_is_normalised() -> None:
    def normalize(self: object, pod: object, scores: Any, state: object) -> Any:
        return 100 * (scores - scores.min()) // (scores.max() - scores.min())

    for more in ({}, KEPT):
        mine = scoring(lambda p, n: -1000 * (n.row + 1), normalize_score=normalize, **more)
        world = World(node("n"), node("m"), node("o"), plugins=[mine])
        detail = world.look(pod("a"))
        assert detail.winners == ["n"]
        assert detail.totals == {"n": 100, "m": 50, "o": 0}


def test_refusals_are_counted_by_reason() -> None:
    world = World(
        node("small", cpu="1", memory="1Gi"),
        node("tiny", cpu="1"),
        node("tainted", taints=["gpu:NoSchedule"]),
        node("closed", unschedulable=True),
    )
    decision = refused(world.decide(pod("a", cpu="2", memory="2Gi")))
    assert before_preemption(decision.message) == (
        "0/4 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 2 Insufficient cpu."
    )
    assert decision.unschedulable_plugins == {
        "NodeResourcesFit",
        "TaintToleration",
        "NodeUnschedulable",
    }


def test_pre_filter_may_end_it() -> None:
    world = World(node("n"))
    for terms, message in [
        (names_affinity("gone"), "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s)"
                                 " [NodeAffinity]."),
        ({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["n"]},
                {"key": "metadata.name", "operator": "In", "values": ["m"]},
            ]}]}}}, "0/1 nodes are available: pod affinity terms conflict."),
    ]:  # fmt: skip
        decision = refused(world.decide(pod("a", affinity=terms)))
        assert before_preemption(decision.message) == message
        assert decision.unschedulable_plugins == {"NodeAffinity"}


@pytest.mark.parametrize(
    ("status", "message", "unschedulable", "pending"),
    [
        (unresolvable("never"), "0/1 nodes are available: never.", {"Gate"}, set()),
        (Status(Code.PENDING, "later"), "0/1 nodes are available: later.", set(), {"Gate"}),
        (error("broken"), 'running PreFilter plugin "Gate": broken', set(), set()),
    ],
)
def test_what_pre_filter_says_is_told(
    status: Status, message: str, unschedulable: set[str], pending: set[str]
) -> None:
    gate = type("Gate", (), {"name": "Gate", "pre_filter": lambda self, pod, state: status})
    decision = refused(World(node("n"), plugins=[gate]).decide(pod("a")))
    assert decision.message == message
    assert decision.unschedulable_plugins == unschedulable
    assert decision.pending_plugins == pending
    assert decision.unschedulable is status.code.rejected


@pytest.mark.parametrize("more", [{}, KEPT], ids=["fresh", "kept"])
def test_a_filter_that_cannot_answer_fails_the_pod(more: dict[str, Any]) -> None:
    """Whatever it would have said elsewhere; but not where an earlier plugin has refused."""
    broken = filtering(lambda p, n: error("no data") if n.name == "bad" else None, **more)
    world = World(node("good"), node("bad"), plugins=[NodeResourcesFit, broken])
    decision = refused(world.decide(pod("a")))
    assert (decision.unschedulable, decision.message) == (
        False,
        'running "Filtering" filter plugin: no data',
    )
    world.set_node(node("bad", cpu="1"))
    assert placed(world.decide(pod("b", cpu="2"))) == "good"


@pytest.mark.parametrize("more", [{}, KEPT], ids=["fresh", "kept"])
def test_a_pending_refusal_is_not_an_unschedulable_one(more: dict[str, Any]) -> None:
    later = filtering(lambda p, n: Status(Code.PENDING, "not yet"), **more)
    decision = refused(World(node("n"), plugins=[later]).decide(pod("a")))
    assert decision.message == "0/1 nodes are available: 1 not yet."
    assert (decision.pending_plugins, decision.unschedulable_plugins) == ({"Filtering"}, set())


def test_a_filter_that_pre_filter_skips_is_not_asked() -> None:
    def fails(pod: PodInfo, node: NodeInfo) -> Status:
        raise AssertionError("it was asked")

    skipped = filtering(fails, pre_filter=lambda self, pod, state: SKIP)
    assert placed(World(node("n"), plugins=[skipped]).decide(pod("a"))) == "n"


@pytest.mark.parametrize(("count", "shapes"), [(64, 0), (65, 1)])
def test_a_pod_with_few_candidates_leaves_nothing_behind(count: int, shapes: int) -> None:
    names = [f"n{i}" for i in range(count)]
    world = World(*(node(f"n{i}") for i in range(70)))
    world.set_pod(*(pod(f"old{i}", cpu="1", on=f"n{i}") for i in range(count - 1)))
    decision = world.decide(pod("a", cpu="1", affinity=names_affinity(*names)))
    assert placed(decision) == names[-1]
    assert len(world.core.cycle.shapes) == shapes
    decision = refused(world.decide(pod("b", cpu="9", affinity=names_affinity(*names))))
    assert before_preemption(decision.message) == (
        f"0/70 nodes are available: {70 - count} node(s) didn't satisfy plugin(s) [NodeAffinity],"
        f" {count} Insufficient cpu."
    )


def test_names_that_a_plugin_without_a_signature_gives_are_this_pods_alone() -> None:
    """Two pods that all kept plugins take for alike, narrowed to different nodes."""

    def pre_filter(self: object, pod: PodInfo, state: object) -> PreFilterResult:
        start = int(pod.labels["start"])
        return PreFilterResult(frozenset(f"n{i}" for i in range(start, start + 65)))

    narrow = type("Narrow", (), {"name": "Narrow", "pre_filter": pre_filter})
    world = World(*(node(f"n{i}") for i in range(130)), plugins=[NodeResourcesFit, narrow])
    world.set_pod(*(pod(f"old{i}", cpu="1", on=f"n{i}") for i in range(130) if i not in (3, 100)))
    assert placed(world.decide(pod("a", cpu="1", labels={"start": "65"}))) == "n100"
    assert placed(world.decide(pod("b", cpu="1", labels={"start": "0"}))) == "n3"


def test_the_nominated_node_is_taken_if_it_fits() -> None:
    world = World(node("empty"), node("cleared"))
    world.set_pod(pod("old", cpu="4", on="cleared"))
    assert placed(world.decide(pod("a", cpu="1", nominated="cleared"))) == "cleared"
    assert placed(world.decide(pod("b", cpu="5", nominated="cleared"))) == "empty"
    assert placed(world.decide(pod("c", cpu="1", nominated="gone"))) == "empty"


def test_a_nominated_node_counts_even_where_pre_filter_named_others() -> None:
    world = World(node("named"), node("cleared"), plugins=[NodeResourcesFit, NodeAffinity])
    both = pod("a", cpu="9", affinity=names_affinity("named"), nominated="cleared")
    detail = Detail()
    refused(world.decide(both, detail))
    assert detail.filter is not None
    assert set(detail.filter) == {"named", "cleared"}


def test_one_plugin_is_asked_before_the_next() -> None:
    asked: list[str] = []

    def note(name: str, refuses: bool) -> type:
        def ask(self: object, pod: object, node: NodeInfo, state: object) -> Status | None:
            asked.append(name)
            return unschedulable(name) if refuses else None

        return type(name, (), {"name": name, "filter": ask})

    world = World(node("n"), plugins=[note("A", False), note("B", True), note("C", False)])
    assert refused(world.decide(pod("a"))).message == "0/1 nodes are available: 1 B."
    assert "C" not in asked


def test_a_crash_in_pre_enqueue_holds_the_pod_and_names_the_plugin() -> None:
    def pre_enqueue(self: object, pod: PodInfo) -> Status | None:
        raise ValueError("oops")

    world = World(
        node("n"), plugins=[type("Gate", (), {"name": "Gate", "pre_enqueue": pre_enqueue})]
    )
    world.set_pod(pod("a"))
    entry = world.core.queue.get("pod-a")
    assert entry is not None
    assert entry.gating_plugin == "Gate"
    assert "plugin 'Gate' failed in PreEnqueue: ValueError: oops" in entry.gating_message


def returns(point: str, result: Any, **more: Any) -> type:
    return type("Odd", (), {"name": "Odd", point: lambda self, *_: result} | more)


@pytest.mark.parametrize(
    ("odd", "point"),
    [
        (returns("pre_filter", True), "PreFilter"),
        (returns("filter", "no"), "Filter"),
        (returns("filter", "no", **KEPT), "Filter"),
        (returns("pre_score", 3, score=lambda *_: 1), "PreScore"),
        (returns("reserve", False), "Reserve"),
        (returns("permit", 5.0), "Permit"),
        (returns("filter", None, reads=lambda self, pod: [1], depends=Depends()), "reads"),
        (returns("filter", None, **KEPT, facts=lambda self, pod: 1 // 0), "facts"),
    ],
)
def test_whatever_a_plugin_returns_costs_the_pod_its_attempt_and_no_more(
    odd: type, point: str
) -> None:
    world = World(node("n"), node("m"), plugins=[odd])
    decision = refused(world.decide(pod("a")))
    assert decision.message.startswith(f"plugin 'Odd' failed in {point}: ")
    assert not decision.unschedulable
    assert world.cluster.assumed == 0


def test_what_post_filter_and_pre_enqueue_return_is_looked_at_too() -> None:
    world = World(node("n", cpu="1"), plugins=[NodeResourcesFit, returns("post_filter", 1)])
    decision = refused(world.decide(pod("a", cpu="2")))
    assert decision.message.startswith("plugin 'Odd' failed in PostFilter: a Status or None")
    world = World(node("n"), plugins=[returns("pre_enqueue", 1)])
    world.set_pod(pod("a"))
    entry = world.core.queue.get("pod-a")
    assert entry is not None
    assert entry.gating_message.startswith("plugin 'Odd' failed in PreEnqueue: a Status or None")


def test_names_of_nodes_may_come_in_any_collection() -> None:
    odd = returns("pre_filter", PreFilterResult(["m", "gone"]))
    assert placed(World(node("n"), node("m"), plugins=[odd]).decide(pod("a"))) == "m"
