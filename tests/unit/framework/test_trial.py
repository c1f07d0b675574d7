"""Trials: a node with other pods on it, and nothing left of it afterwards."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from fairlead.cluster.check import differences
from fairlead.cluster.nodeinfo import NodeInfo
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, error, unschedulable
from fairlead.framework.trial import NoNominations, Trials
from tests.builders import World, info, node, pod


def fields(of: NodeInfo) -> dict[str, Any]:
    return {name: getattr(of, name) for name in NodeInfo.__slots__}


@pytest.mark.parametrize("seed", range(8))
def test_a_pod_on_a_copy_counts_as_on_the_table(seed: int) -> None:
    """Whatever a node knows of its pods: a field that the copy forgets is found here."""
    rng = Random(seed)
    world = World(node("n", allocatable={"example.com/gpu": "8"}))
    pods = [
        info(
            pod(
                f"p{i}",
                cpu=f"{rng.randrange(900)}m",
                requests={"example.com/gpu": str(rng.randrange(3)), "memory": str(i)},
                ports=[8000 + i] * (rng.random() < 0.5),
                on="n",
            )
        )
        for i in range(6)
    ]
    real = world.cluster.nodes.info(0)
    before = fields(real.copy())
    copy = real.copy()
    for each in pods:
        copy.put_on(each)
    assert fields(real) == before
    for each in pods:
        world.cluster.set_pod(each)
    assert fields(copy) == fields(real)
    rng.shuffle(pods)
    copy = real.copy()
    for each in pods[:3]:
        copy.take_off(each)
        world.cluster.remove_pod(each.uid)
    assert fields(copy) == fields(real)
    assert list(differences(world.cluster)) == []


class Notes:
    def __init__(self, count: int = 0) -> None:
        self.count = count

    def clone(self) -> Notes:
        return Notes(self.count)


class Counting:
    """Refuses a node while its notes say that any pod is there, and bears no pod named bad."""

    name = "Counting"

    def pre_filter(self, pod: Any, state: CycleState) -> None:
        state.write("notes", Notes(1))

    def add_pod(self, pod: Any, added: Any, node: Any, state: CycleState) -> Any:
        state.own("notes").count += 1
        return error("no room for it") if added.name == "bad" else None

    def remove_pod(self, pod: Any, removed: Any, node: Any, state: CycleState) -> None:
        state.own("notes").count -= 1

    def filter(self, pod: Any, node: NodeInfo, state: CycleState) -> Any:
        notes: Any = state.read("notes")
        if notes.count == 7:
            raise RuntimeError("seven")
        return unschedulable("somebody is there") if notes.count else None


def trials(world: World, state: CycleState) -> Trials:
    instance = PluginInstance("Counting", Counting(), 0, Handle(world.cluster.nodes))
    assert instance.moved_by_pods
    asked = info(pod("asked"))
    instance.pre_filter(asked, state)
    return Trials(asked, state, [instance], [instance], NoNominations())


def test_a_plugin_keeps_step_in_notes_of_its_own() -> None:
    world, state = World(node("n")), CycleState()
    found = trials(world, state)
    there = info(pod("there", on="n"))
    world.cluster.set_pod(there)
    trial = found.on(world.cluster.nodes.info(0))
    refusal = trial.refusal()
    assert refusal is not None
    assert (refusal.plugin, refusal.status.reasons) == ("Counting", ("somebody is there",))
    trial.remove(there)
    assert trial.refusal() is None
    assert trial.still_fits()
    trial.add(there)
    assert not trial.still_fits()
    notes: Any = state.read("notes")
    assert notes.count == 1
    assert list(world.cluster.nodes.info(0).pods) == [there]


def test_what_goes_wrong_is_told_in_kube_schedulers_words() -> None:
    world = World(node("n"))
    trial = trials(world, CycleState()).on(world.cluster.nodes.info(0))
    with pytest.raises(Exception, match='running AddPod on PreFilter plugin "Counting": no room'):
        trial.add(info(pod("bad")))
    for i in range(5):
        trial.add(info(pod(f"p{i}")))
    refusal = trial.refusal()
    assert refusal is not None
    assert refusal.status.code == Code.ERROR
    assert "seven" in refusal.status.message
    assert not trial.still_fits()
