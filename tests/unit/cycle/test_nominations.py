"""Nominated pods: room is kept for those that are as important, and for no others."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cycle.decision import Placed, Unplaced
from fairlead.model.pod import Pod
from tests.builders import World, node, pod


def waiting(name: str, on: str, priority: int, cpu: str = "2", **more: Any) -> Pod:
    return pod(name, cpu=cpu, nominated=on, spec={"priority": priority}, **more)


def where(world: World, each: Pod) -> str:
    decision = world.decide(each)
    world.cluster.forget(each.metadata.uid)
    return decision.node_name if isinstance(decision, Placed) else decision.message


@pytest.mark.parametrize(("priority", "fits"), [(9, False), (10, False), (11, True)])
def test_equal_priority_blocks_and_lower_does_not(priority: int, fits: bool) -> None:
    world = World(node("n", cpu="2"))
    world.set_pod(waiting("w", "n", 10))
    found = where(world, pod("p", cpu="1", spec={"priority": priority}))
    assert (found == "n") is fits
    assert fits or "1 Insufficient cpu" in found


def test_a_pod_does_not_give_way_to_itself() -> None:
    world = World(node("n", cpu="2"), node("m", cpu="2"))
    mine = waiting("w", "n", 10)
    world.set_pod(mine)
    assert where(world, mine) == "n"


def test_kept_answers_know_nothing_of_nominations() -> None:
    world = World(node("n", cpu="2"), node("m", cpu="1"))
    each = pod("p", cpu="1")
    assert where(world, each) in ("n", "m")
    world.set_pod(waiting("w", "n", 10))
    assert where(world, each) == "m"
    world.core.intake.remove_pod("pod-w")
    world.set_pod(pod("x", cpu="1", on="m"))
    assert where(world, each) == "n"
    assert world.core.cycle.engine.counts.mismatches == 0


def test_the_promised_node_is_taken_before_a_better_one_unless_others_come_first() -> None:
    world = World(node("n", cpu="2"), node("m", cpu="8"))
    mine = waiting("w", "n", 10)
    world.set_pod(mine)
    assert where(world, mine) == "n"
    world.set_pod(waiting("v", "n", 10))
    assert where(world, mine) == "m"


def test_a_pod_must_fit_with_and_without_those_that_may_come() -> None:
    """Near a pod that may never come is not near anybody."""
    near = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "x"}},
                }
            ]
        }
    }
    world = World(node("n", cpu="8"))
    world.set_pod(waiting("w", "n", 10, cpu="1", labels={"app": "x"}))
    assert "didn't match pod affinity rules" in where(world, pod("p", affinity=near))


def test_those_that_may_come_count_for_spread() -> None:
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }
    ]
    world = World(node("n", cpu="8"), node("m", cpu="4"))
    labels = {"app": "x"}
    each = pod("p", labels=labels, spec={"topologySpreadConstraints": spread})
    assert where(world, each) == "n"
    world.set_pod(waiting("w", "n", 10, cpu="1", labels=labels))
    assert where(world, each) == "m"
    world.set_pod(waiting("v", "n", 10, cpu="1", labels={"app": "other"}))
    assert where(world, each) == "m"


def test_what_nobody_fits_is_remembered_per_nomination() -> None:
    world = World(node("n", cpu="2"))
    world.set_pod(waiting("w", "n", 10))
    low = world.decide(pod("p", cpu="1"))
    high = world.decide(pod("q", cpu="1", spec={"priority": 11}))
    assert isinstance(low, Unplaced)
    assert isinstance(high, Placed)
