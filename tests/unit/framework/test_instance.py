"""Plugins as the cycle calls them: either form gives the other, and what is wrong is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairlead.cluster.nodes import NodeInfo
from fairlead.cluster.state import Cluster
from fairlead.framework.depends import NOTHING, Depends
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import MANY_REASONS, NodeSet, Verdicts
from fairlead.framework.normalize import default_normalize
from fairlead.framework.profile import make
from fairlead.framework.stages import points_of
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, PluginError, unresolvable, unschedulable
from tests.builders import info, node, pod

POD = info(pod("a"))
STATE = CycleState()


def handle(count: int = 3) -> Handle:
    cluster = Cluster()
    for i in range(count):
        cluster.set_node(node(f"n{i}", cpu=str(i + 1)))
    return Handle(cluster.nodes)


def instance(plugin: object, on: Handle) -> PluginInstance:
    return PluginInstance("Mine", plugin, 0, on)


def some(on: Handle, *rows: int) -> NodeSet:
    return on.nodes(np.array(rows, np.intp))


def rowed(result: Any) -> type:
    """A plugin with row forms that answer this; callables are asked about the node."""

    class Rowed:
        name = "Mine"

        def filter(self, pod: object, node: NodeInfo, state: CycleState) -> Any:
            return result(node) if callable(result) else result

        def score(self, pod: object, node: NodeInfo, state: CycleState) -> Any:
            return self.filter(pod, node, state)

    return Rowed


def columned(result: Any) -> type:
    class Columned:
        name = "Mine"

        def filter_nodes(self, pod: object, nodes: NodeSet, state: CycleState) -> Any:
            return result(nodes) if callable(result) else result

        score_nodes = filter_nodes

    return Columned


def test_the_row_form_gives_the_column_form() -> None:
    on = handle()
    mine = instance(rowed(lambda n: unresolvable("odd") if n.row % 2 else None)(), on)
    found = mine.ask_filter_nodes(POD, some(on, 0, 1, 2), STATE)
    assert found is not None
    assert found.codes.tolist() == [0, 3, 0]
    assert on.reasons_of(int(found.reasons[1])) == ("odd",)
    assert mine.ask_filter_nodes(POD, some(on, 0, 2), STATE) is None
    scorer = instance(rowed(lambda n: n.allocatable("cpu") // 100)(), on)
    assert np.asarray(scorer.ask_score_nodes(POD, some(on, 2, 0), STATE)).tolist() == [30, 10]


def test_the_column_form_gives_the_row_form() -> None:
    on = handle()

    def small(nodes: NodeSet) -> Verdicts | None:
        return nodes.reject(nodes.allocatable("cpu") < 2000, "small")

    mine = instance(columned(small)(), on)
    one, other = on.node("n0"), on.node("n1")
    assert one is not None
    assert other is not None
    status = mine.ask_filter(POD, one, STATE)
    assert status is not None
    assert (status.code, status.reasons) == (Code.UNSCHEDULABLE, ("small",))
    assert mine.ask_filter(POD, other, STATE) is None
    scorer = instance(columned(lambda nodes: nodes.allocatable("cpu") // 100)(), on)
    assert scorer.ask_score(POD, other, STATE) == 20
    assert instance(columned(7)(), on).ask_score(POD, other, STATE) == 7


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (True, "a Status or None is wanted, got True"),
        ("no", "a Status or None is wanted, got 'no'"),
        (Code.UNSCHEDULABLE, "a Status or None is wanted"),
    ],
)
def test_a_filter_that_returns_something_else_is_named(result: Any, words: str) -> None:
    on = handle()
    mine = instance(rowed(result)(), on)
    one = on.node("n0")
    assert one is not None
    for ask in (lambda: mine.ask_filter(POD, one, STATE), lambda: asked(mine, on)):
        with pytest.raises(PluginError, match="plugin 'Mine' failed in Filter: " + words):
            ask()


def asked(mine: PluginInstance, on: Handle) -> object:
    return mine.ask_filter_nodes(POD, on.nodes(), STATE)


@pytest.mark.parametrize(
    "result",
    [
        True,
        np.zeros(2, np.bool_),
        unschedulable("all of them"),
        Verdicts(np.zeros(2, np.int8), np.zeros(2, np.int32)),
        Verdicts([0, 0, 0, 0], np.zeros(3, np.int32)),  # type: ignore[arg-type]
    ],
)
def test_verdicts_of_the_wrong_shape_are_named(result: Any) -> None:
    on = handle()
    mine = instance(columned(result)(), on)
    with pytest.raises(PluginError, match="verdicts on 3 nodes or None are wanted"):
        mine.ask_filter_nodes(POD, some(on, 0, 1, 2), STATE)


@pytest.mark.parametrize("score", [1.0, float("nan"), None, "9", True, np.float64(3), [1]])
def test_a_score_is_an_integer(score: Any) -> None:
    on = handle()
    one = on.node("n0")
    assert one is not None
    mine = instance(rowed(score)(), on)
    with pytest.raises(PluginError, match="a score must be an integer"):
        mine.ask_score(POD, one, STATE)
    with pytest.raises(PluginError, match="a score must be an integer"):
        mine.ask_score_nodes(POD, on.nodes(), STATE)


def test_numpys_integers_are_welcome() -> None:
    on = handle()
    one = on.node("n0")
    assert one is not None
    assert instance(rowed(np.int32(5))(), on).ask_score(POD, one, STATE) == 5


@pytest.mark.parametrize(
    "scores", [np.zeros(2, np.int64), np.zeros((3, 1), np.int64), np.full(3, np.nan), [1, 2, 3]]
)
def test_scores_of_the_wrong_shape_or_kind_are_named(scores: Any) -> None:
    on = handle()
    with pytest.raises(PluginError, match=r"plugin 'Mine' failed in Score: .*integer"):
        instance(columned(scores)(), on).ask_score_nodes(POD, some(on, 0, 1, 2), STATE)


class Normalizing:
    name = "Mine"

    def __init__(self, result: Any) -> None:
        self.result = result

    def score(self, pod: object, node: NodeInfo, state: CycleState) -> int:
        return node.row

    def normalize_score(self, pod: object, scores: Any, state: CycleState) -> Any:
        return self.result(scores)


@pytest.mark.parametrize("result", [lambda s: s / 2, lambda s: s[:1], list])
def test_normalised_scores_of_the_wrong_shape_or_kind_are_named(result: Any) -> None:
    mine = instance(Normalizing(result), handle())
    with pytest.raises(PluginError, match="plugin 'Mine' failed in NormalizeScore: 2 integers"):
        mine.ask_normalize(POD, np.array([1, 2]), STATE)


def test_scores_may_be_normalised_in_place() -> None:
    def doubled(scores: Any) -> None:
        scores *= 2

    mine = instance(Normalizing(doubled), handle())
    assert mine.ask_normalize(POD, np.array([1, 2]), STATE).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("raw", "normal", "reverse"),
    [
        ([], [], []),
        ([0, 0], [0, 0], [100, 100]),
        ([1, 2, 3], [33, 66, 100], [67, 34, 0]),
        ([5], [100], [0]),
    ],
)
def test_the_usual_normalisation(raw: list[int], normal: list[int], reverse: list[int]) -> None:
    scores = np.array(raw, np.int64)
    assert default_normalize(scores).tolist() == normal
    assert default_normalize(scores, reverse=True).tolist() == reverse


def test_only_what_says_on_what_it_rests_is_kept() -> None:
    class Says(rowed(None)):  # type: ignore[misc]
        reads = NOTHING
        depends = Depends()

    class SaysHalf(rowed(None)):  # type: ignore[misc]
        reads = NOTHING

    assert instance(Says(), handle()).kept
    assert not instance(SaysHalf(), handle()).kept
    assert not instance(rowed(None)(), handle()).kept


def test_points_are_told_by_methods() -> None:
    assert points_of(rowed(None)) == {"filter", "score"}
    assert points_of(columned(None)) == {"filter", "score"}
    assert points_of(object) == frozenset()


def test_a_plugin_takes_as_much_as_its_constructor_wants() -> None:
    class Bare:
        pass

    class WithArgs:
        def __init__(self, args: object) -> None:
            self.given: tuple[object, ...] = (args,)

    class WithHandle:
        def __init__(self, args: object, handle: Handle) -> None:
            self.given = (args, handle)

    on = handle()

    def args_of(name: str, plugin: type) -> object:
        return f"args of {name}"

    assert isinstance(make("A", Bare, args_of, on), Bare)
    for plugin, given in ((WithArgs, ("args of A",)), (WithHandle, ("args of A", on))):
        made: Any = make("A", plugin, args_of, on)
        assert made.given == given


def test_a_constructor_that_crashes_is_named() -> None:
    class Broken:
        def __init__(self) -> None:
            raise ValueError("no such file")

    with pytest.raises(
        PluginError, match="'A' failed in its constructor: ValueError: no such"
    ) as e:
        make("A", Broken, lambda name, plugin: None, handle())
    assert e.value.where.startswith(__file__)


def test_a_state_reads_through_and_writes_on_top() -> None:
    below = CycleState()
    below.write("a", 1)
    above = CycleState(below=below)
    above.write("b", 2)
    assert (above.read("a"), above.read("b"), "a" in above, sorted(above)) == (
        1,
        2,
        True,
        ["a", "b"],
    )
    assert "b" not in below
    with pytest.raises(KeyError):
        above.read("c")


def test_reasons_are_shared_until_there_are_too_many() -> None:
    on = handle()
    assert on.reason_id(("a", "b")) == on.reason_id(("a", "b"))
    assert on.reasons_of(on.reason_id(("a", "b"))) == ("a", "b")
    for i in range(MANY_REASONS):
        on.reason_id((f"load is {i}",))
    assert on.reasons_full
    on.forget_reasons()
    assert not on.reasons_full
    assert on.reasons_of(0) == ()
