"""DefaultPreemption: who may have others evicted, from where, and whom it hits."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from fairlead.cycle.decision import Detail, PostFiltered, Unplaced
from fairlead.framework.stages import Victims
from fairlead.framework.status import Refusal
from fairlead.model.decode import DECODERS
from fairlead.model.pod import Pod, PodStatus
from tests.builders import World, info, node, pod

EVICTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def placed(name: str, on: str, priority: int, cpu: str = "1", **more: Any) -> Pod:
    status = more.pop("status", {})
    spec = {"priority": priority, **more.pop("spec", {})}
    given = pod(name, cpu=cpu, on=on, spec=spec, **more)
    wire = msgspec.json.encode({"phase": "Running", **status})
    return msgspec.structs.replace(given, status=msgspec.json.decode(wire, type=PodStatus))


def started(second: int) -> dict[str, str]:
    return {"startTime": f"2026-03-01T00:00:{second:02d}Z"}


def important(name: str = "p", cpu: str = "2", priority: int = 100, **more: Any) -> Pod:
    spec = {"priority": priority, **more.pop("spec", {})}
    return pod(name, cpu=cpu, spec=spec, **more)


def budget(world: World, name: str, allowed: int, selector: Any, **status: Any) -> None:
    wire = {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {} if selector is None else {"selector": selector},
        "status": {"disruptionsAllowed": allowed, **status},
    }
    decoded: Any = DECODERS["PodDisruptionBudget"](msgspec.json.encode(wire))
    world.core.intake.set_object("PodDisruptionBudget", decoded)


def decided(world: World, each: Pod) -> tuple[Unplaced, PostFiltered]:
    detail = Detail()
    decision = world.decide(each, detail)
    assert isinstance(decision, Unplaced), decision
    assert detail.post_filter is not None
    return decision, detail.post_filter


def chosen(world: World, each: Pod) -> tuple[str | None, list[str]]:
    """The promised node and the victims; the same without anybody asking why."""
    decision, _ = decided(world, each)
    again = world.decide(each)
    assert isinstance(again, Unplaced)
    assert again.nominated_node_name == decision.nominated_node_name
    assert again.message == decision.message
    victims = [] if decision.eviction is None else [v.name for v in decision.eviction.victims]
    return decision.nominated_node_name, victims


def full(count: int = 2, cpu: str = "2") -> World:
    return World(*(node(f"n{i}", cpu=cpu) for i in range(count)))


def test_the_least_important_pods_leave_and_as_few_as_possible() -> None:
    world = full(1, cpu="4")
    world.set_pod(
        placed("a", "n0", 50), placed("b", "n0", 10), placed("c", "n0", 20), placed("d", "n0", 100)
    )
    assert chosen(world, important(cpu="2")) == ("n0", ["c", "b"])
    assert chosen(world, important(cpu="1")) == ("n0", ["b"])


def test_pods_of_the_same_priority_are_left_alone() -> None:
    world = full(1)
    world.set_pod(placed("a", "n0", 100, cpu="2"))
    decision, room = decided(world, important())
    assert (decision.nominated_node_name, decision.eviction) == ("", None)
    assert room.words == (
        "no new claims to deallocate, preemption: 0/1 nodes are available:"
        " 1 No preemption victims found for incoming pod."
    )
    assert decision.message == (f"0/1 nodes are available: 1 Insufficient cpu. {room.words}")


def test_among_equals_the_one_that_has_run_longest_stays() -> None:
    world = full(1)
    world.set_pod(
        placed("old", "n0", 0, status=started(1)),
        placed("new", "n0", 0, status=started(9)),
    )
    assert chosen(world, important(cpu="1")) == ("n0", ["new"])
    world.set_pod(placed("old", "n0", 0))
    assert chosen(world, important(cpu="1")) == ("n0", ["old"])  # not started yet


def test_nodes_that_no_eviction_helps_are_not_tried() -> None:
    world = World(node("small", cpu="1"), node("tainted", taints=["x:NoSchedule"]), node("n"))
    world.set_pod(placed("a", "n", 100, cpu="8"), placed("b", "small", 0))
    _, room = decided(world, important(cpu="2"))
    assert room.words.endswith(
        ": 1 No preemption victims found for incoming pod,"
        " 2 Preemption is not helpful for scheduling."
    )
    assert set(room.tried) == {"n"}


def test_what_a_node_lacks_even_without_its_pods_is_told() -> None:
    world = World(node("n", cpu="4"))
    world.set_pod(placed("keeper", "n", 100, cpu="3"), placed("b", "n", 0))
    _, room = decided(world, important(cpu="2"))
    want = "no new claims to deallocate, preemption: "
    assert room.words.startswith(want)
    assert room.words.removeprefix(want) == ("0/1 nodes are available: 1 Insufficient cpu.")
    outcome = room.tried["n"]
    assert isinstance(outcome, Refusal)
    assert (outcome.plugin, outcome.status.reasons) == ("NodeResourcesFit", ("Insufficient cpu",))


def test_a_pod_with_the_policy_never_evicts_nobody_and_keeps_its_promise() -> None:
    world = full(1)
    world.set_pod(placed("a", "n0", 0, cpu="2"))
    decision, room = decided(world, important(spec={"preemptionPolicy": "Never"}))
    want = "no new claims to deallocate, preemption: "
    assert room.words.startswith(want)
    assert room.words.removeprefix(want) == ("not eligible due to preemptionPolicy=Never.")
    assert (decision.nominated_node_name, decision.eviction) == (None, None)


def test_a_pod_waits_while_its_victims_are_on_their_way() -> None:
    world = full()
    going = {"deletionTimestamp": "2026-03-01T00:00:00Z"}
    status = {"conditions": [EVICTED]}
    world.set_pod(placed("a", "n0", 0, cpu="2", status=status, **going))
    world.set_pod(placed("b", "n1", 0, cpu="2"))
    decision, room = decided(world, important(nominated="n0"))
    want = "no new claims to deallocate, preemption: "
    assert room.words.startswith(want)
    assert room.words.removeprefix(want) == (
        "not eligible due to a terminating pod on the nominated node."
    )
    assert decision.nominated_node_name is None
    # Somebody else deleted it: that is no reason to wait.
    world.set_pod(placed("a", "n0", 0, cpu="2", resourceVersion="2", **going))
    assert chosen(world, important(nominated="n0"))[0] in ("n0", "n1")
    # The promised node will never do: the promise counts for nothing.
    world.set_pod(placed("a", "n0", 0, cpu="2", status=status, resourceVersion="3", **going))
    world.set_node(node("n0", cpu="2", taints=["x:NoSchedule"]))
    assert chosen(world, important(nominated="n0")) == ("n1", ["b"])


def test_victims_that_are_going_already_are_named_but_need_no_word() -> None:
    world = full(1)
    world.set_pod(placed("a", "n0", 0, cpu="2", deletionTimestamp="2026-03-01T00:00:00Z"))
    assert chosen(world, important()) == ("n0", ["a"])


def test_budgets_are_broken_only_where_nothing_else_helps() -> None:
    world = full(1)
    labels = {"app": "web"}
    world.set_pod(placed("old", "n0", 0, status=started(1), labels=labels))
    world.set_pod(placed("new", "n0", 0, status=started(9)))
    budget(world, "web", 0, {"matchLabels": labels})
    assert chosen(world, important(cpu="1")) == ("n0", ["new"])
    world.set_pod(placed("new", "n0", 0, status=started(9), labels=labels, resourceVersion="2"))
    _, room = decided(world, important(cpu="1"))
    outcome = room.tried["n0"]
    assert isinstance(outcome, Victims)
    assert ([v.name for v in outcome.pods], outcome.violations) == (["new"], 1)


@pytest.mark.parametrize(
    ("selector", "status", "violations"),
    [
        ({"matchLabels": {"app": "web"}}, {}, 1),
        ({}, {}, 0),
        (None, {}, 0),
        ({"matchExpressions": [{"key": "app", "operator": "Bad"}]}, {}, 0),
        ({"matchLabels": {"app": "web"}}, {"disruptedPods": {"a": "2026-03-01T00:00:00Z"}}, 0),
    ],
)
def test_whom_a_budget_protects(selector: Any, status: Any, violations: int) -> None:
    world = full(1)
    world.set_pod(placed("a", "n0", 0, cpu="2", labels={"app": "web"}))
    budget(world, "b", 0, selector, **status)
    _, room = decided(world, important())
    outcome = room.tried["n0"]
    assert isinstance(outcome, Victims)
    assert outcome.violations == violations


def test_every_budget_that_a_pod_matches_is_charged() -> None:
    """Also where another one is broken already: the next pod finds less left."""
    world = full(1)
    world.set_pod(
        placed("a", "n0", 0, status=started(1), labels={"app": "web", "tier": "x"}),
        placed("b", "n0", 0, status=started(2), labels={"tier": "x"}),
    )
    budget(world, "none", 0, {"matchLabels": {"app": "web"}})
    budget(world, "one", 1, {"matchLabels": {"tier": "x"}})
    _, room = decided(world, important())
    outcome = room.tried["n0"]
    assert isinstance(outcome, Victims)
    assert outcome.violations == 2


def six() -> list[tuple[str, list[tuple[int, int]], list[tuple[int, int]]]]:
    """Priorities and starts of the victims on a worse and on a better node, by what decides."""
    return [
        ("the highest priority", [(50, 1)], [(40, 1), (40, 1)]),
        ("the sum of priorities", [(40, 1), (30, 1)], [(40, 1), (20, 1)]),
        ("their number", [(40, 1), (-(2**31), 1)], [(40, 1)]),
        ("their start", [(40, 1), (40, 9)], [(40, 2), (40, 2)]),
        ("not that of lesser ones", [(40, 1), (30, 9)], [(40, 2), (30, 1)]),
    ]


@pytest.mark.parametrize(("why", "worse", "better"), six())
@pytest.mark.parametrize("turned", [False, True])
def test_the_node_with_the_least_harm(
    why: str, worse: list[tuple[int, int]], better: list[tuple[int, int]], turned: bool
) -> None:
    world = full(2)
    for name, pods in zip(("n1", "n0") if turned else ("n0", "n1"), (worse, better), strict=True):
        cpu = str(2000 // len(pods)) + "m"
        for at, (priority, second) in enumerate(pods):
            world.set_pod(placed(f"{name}-{at}", name, priority, cpu, status=started(second)))
    assert chosen(world, important(cpu="2"))[0] == ("n0" if turned else "n1"), why


def test_a_budget_outweighs_all_of_it() -> None:
    world = full(2)
    world.set_pod(placed("low", "n0", 0, cpu="2", labels={"app": "web"}))
    world.set_pod(placed("high", "n1", 90, cpu="2"))
    budget(world, "web", 0, {"matchLabels": {"app": "web"}})
    assert chosen(world, important()) == ("n1", ["high"])


def test_equally_good_nodes_are_chosen_among_by_chance() -> None:
    world = World(*(node(f"n{i}", cpu="2") for i in range(4)), choose=Random(7).randrange)
    for i in range(4):
        world.set_pod(placed(f"v{i}", f"n{i}", 0, cpu="2", status=started(1)))
    taken = {decided(world, important())[0].nominated_node_name for _ in range(40)}
    assert taken == {"n0", "n1", "n2", "n3"}


def test_ports_and_spread_and_affinity_are_tried_with_the_pods_gone() -> None:
    world = full(1, cpu="8")
    world.set_pod(placed("a", "n0", 0, ports=[80]), placed("b", "n0", 50, ports=[81]))
    assert chosen(world, important(ports=[80])) == ("n0", ["a"])
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "x"}},
                }
            ]
        }
    }
    world.set_pod(placed("x", "n0", 10, labels={"app": "x"}))
    assert chosen(world, important(affinity=apart)) == ("n0", ["x"])
    world.set_pod(placed("y", "n0", 10, affinity=apart))
    assert chosen(world, important(labels={"app": "x"})) == ("n0", ["y"])


def test_nothing_to_gain_is_remembered_until_something_happens() -> None:
    world = World(node("n", cpu="4"))
    world.set_pod(placed("keeper", "n", 1000, cpu="3"))
    first = world.decide(important("p"))
    shape = next(iter(world.core.cycle.shapes._shapes.values()))
    assert len(shape.remembered) == 1
    assert isinstance(first, Unplaced)
    # Another priority may gain something, and a pod that has been promised a node is asked anew.
    assert chosen(world, important("q", priority=2000)) == ("n", ["keeper"])
    assert len(shape.remembered) == 1
    world.set_pod(placed("low", "n", 0, cpu="1"))
    world.core.intake.remove_pod("pod-keeper")
    world.set_pod(placed("keeper", "n", 10, cpu="3", uid="other"))
    assert chosen(world, important("p"))[0] == "n"


def test_no_node_at_all_takes_a_promise_back() -> None:
    decision = World().decide(important(nominated="gone"))
    assert isinstance(decision, Unplaced)
    assert decision.nominated_node_name == ""


def test_the_pod_is_held_back_while_room_is_being_made() -> None:
    world = full(1)
    victim = placed("a", "n0", 0, cpu="2")
    world.set_pod(victim)
    evictions = world.core.evictions
    waiting = info(important())
    (plugin,) = (i.plugin for i in world.profile.pre_enqueue if i.name == "DefaultPreemption")
    assert plugin.pre_enqueue(waiting) is None
    evictions.begin(waiting.uid)
    held = plugin.pre_enqueue(waiting)
    assert held is not None
    assert held.message == "waiting for the preemption for this pod to be finished"
    evictions.await_last(waiting.uid, info(victim))
    assert plugin.pre_enqueue(waiting) is not None
    world.core.intake.remove_pod("pod-a")
    assert plugin.pre_enqueue(waiting) is None
    world.set_pod(placed("a", "n0", 0, cpu="2", deletionTimestamp="2026-03-01T00:00:00Z"))
    assert plugin.pre_enqueue(waiting) is None
    evictions.end(waiting.uid)
    assert plugin.pre_enqueue(waiting) is None


def test_nothing_to_gain_is_remembered_for_pods_with_the_same_neighbours() -> None:
    """Spread and affinity are asked afresh for each pod, and yet not twice in vain."""

    def far(app: str) -> Any:
        labels = {"matchLabels": {"app": app}}
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": labels}
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    world = World(node("n", cpu="8"))
    world.set_pod(placed("x", "n", 1000, labels={"app": "x"}), placed("low", "n", 0))
    first = world.decide(important("p", affinity=far("x")))
    assert isinstance(first, Unplaced)
    assert "didn't match pod anti-affinity rules" in first.message
    remembered = next(iter(world.core.cycle.shapes._shapes.values())).remembered
    assert len(remembered) == 1
    again = world.decide(important("q", affinity=far("x")))
    assert isinstance(again, Unplaced)
    assert (again.message, again.pod.name, len(remembered)) == (first.message, "q", 1)
    assert not isinstance(world.decide(important("r", affinity=far("y"))), Unplaced)
    assert world.cluster.forget("pod-r")
    assert isinstance(world.decide(important("t", affinity=far("x"))), Unplaced)
    world.core.intake.remove_pod("pod-x")
    assert not isinstance(world.decide(important("s", affinity=far("x"))), Unplaced)
