"""Reserve and Permit: the last words on a pod that has a node, and how all is taken back."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cycle.decision import Placed, Unplaced
from fairlead.cycle.reserve import LONGEST_WAIT
from fairlead.framework.status import Code, Status, error, unschedulable, wait
from tests.builders import World, node, pod


def plugin(name: str, said: list[str], *, crashes: str = "", **words: Any) -> type:
    """A plugin that notes what it is asked, and answers with these words."""

    def stage(point: str) -> Any:
        def ask(self: object, pod: object, node_name: str, state: Any) -> Status | None:
            said.append(f"{point} {name}")
            state.write(f"{name}/{point}", node_name)
            if point == crashes:
                raise RuntimeError("boom")
            return words.get(point)

        return ask

    points = {point: stage(point) for point in ("reserve", "unreserve", "permit")}
    return type(name, (), {"name": name, **points})


@pytest.mark.parametrize("point", ["reserve", "permit"])
@pytest.mark.parametrize(
    ("status", "message", "unschedulable_plugins", "pending_plugins"),
    [
        (unschedulable("no"), "0/1 nodes are available: 1 no.", {"B"}, set()),
        (Status(Code.PENDING, "later"), "0/1 nodes are available: 1 later.", set(), {"B"}),
        (error("broken"), 'running {} plugin "B": broken', set(), set()),
    ],
)
def test_a_refusal_takes_everything_back(
    point: str,
    status: Status,
    message: str,
    unschedulable_plugins: set[str],
    pending_plugins: set[str],
) -> None:
    said: list[str] = []
    world = World(
        node("n"),
        plugins=[plugin("A", said), plugin("B", said, **{point: status}), plugin("C", said)],
    )
    decision = world.decide(pod("a", cpu="1"))
    assert isinstance(decision, Unplaced)
    assert decision.message == message.format(point.capitalize())
    assert decision.unschedulable is status.code.rejected
    assert decision.unschedulable_plugins == unschedulable_plugins
    assert decision.pending_plugins == pending_plugins
    assert said[-3:] == ["unreserve C", "unreserve B", "unreserve A"]
    assert said[:-3] == (
        ["reserve A", "reserve B"]
        if point == "reserve"
        else ["reserve A", "reserve B", "reserve C", "permit A", "permit B"]
    )
    n = world.cluster.nodes.get("n")
    assert n is not None
    assert (world.cluster.assumed, n.pod_count) == (0, 0)


@pytest.mark.parametrize("point", ["reserve", "permit"])
def test_a_crash_takes_everything_back(point: str) -> None:
    said: list[str] = []
    world = World(node("n"), plugins=[plugin("A", said), plugin("B", said, crashes=point)])
    decision = world.decide(pod("a"))
    assert isinstance(decision, Unplaced)
    assert f"plugin 'B' failed in {point.capitalize()}: RuntimeError: boom" in decision.message
    assert f"({__file__}:" in decision.message
    assert said[-2:] == ["unreserve B", "unreserve A"]
    assert world.cluster.assumed == 0


def test_a_crash_in_unreserve_does_not_keep_the_others_from_theirs() -> None:
    said: list[str] = []
    plugins = [
        plugin("A", said),
        plugin("B", said, crashes="unreserve"),
        plugin("C", said, permit=unschedulable("no")),
    ]
    decision = World(node("n"), plugins=plugins).decide(pod("a"))
    assert isinstance(decision, Unplaced)
    assert "plugin 'B' failed in Unreserve" in decision.message
    assert said[-3:] == ["unreserve C", "unreserve B", "unreserve A"]


def test_permit_may_ask_for_time() -> None:
    said: list[str] = []
    plugins = [plugin("A", said, permit=wait(5.0)), plugin("B", said, permit=wait(1e9))]
    world = World(node("n"), plugins=plugins)
    decision = world.decide(pod("a"))
    assert isinstance(decision, Placed)
    assert decision.waits == {"A": 5.0, "B": LONGEST_WAIT}
    assert world.cluster.is_assumed("pod-a")


def test_notes_of_one_pod_are_not_those_of_the_next() -> None:
    """Pods that are alike share what PreFilter noted, and nothing that came later."""
    said: list[str] = []
    world = World(node("n"), plugins=[plugin("A", said)])
    first, second = world.decide(pod("a")), world.decide(pod("b"))
    assert isinstance(first, Placed)
    assert isinstance(second, Placed)
    assert first.state is not None
    assert second.state is not None
    first.state.write("mine", 1)
    assert "mine" not in second.state
    assert second.state.read("A/reserve") == "n"
