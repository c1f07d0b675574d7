"""After any history, what is kept is what would be made anew.

A history is a list of steps, each a few changes of the cluster at once with decisions in between;
what a step leaves behind is compared with the slow truth: the node table with sums over its
objects, each shape with answers made now, and at the end all that a Core says with what a new Core
says to which the final objects are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.check import differences
from fairlead.cluster.nodes import NodeInfo
from fairlead.cycle.decision import Placed
from fairlead.framework.depends import NOTHING, Depends
from fairlead.framework.handle import Handle
from fairlead.framework.state import CycleState
from fairlead.model.node import Node
from fairlead.model.pod import Pod
from fairlead.model.podinfo import PodInfo
from tests.builders import World, names_affinity, node, pod, told

NODES, PODS = 12, 16
CHURN = 150
"""More changes of one row than a log keeps: whoever has read less of it begins anew."""

ZONES = {"nodeAffinity": {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}]},
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 5, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}],
}}  # fmt: skip
NOT_IN_A = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{"matchExpressions": [
        {"key": "zone", "operator": "NotIn", "values": ["a"]}]}]}}}  # fmt: skip

APP: dict[str, Any] = {"labels": {"app": "a"}}
SELECTOR = {"labelSelector": {"matchLabels": APP["labels"]}}


def spread(key: str, when: str) -> dict[str, Any]:
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, **SELECTOR}
    return {"spec": {"topologySpreadConstraints": [constraint]}}


def with_pods(kind: str, key: str) -> dict[str, Any]:
    term = {"topologyKey": key, **SELECTOR}
    preferred = [{"weight": 3, "podAffinityTerm": {**term, "topologyKey": "disk"}}]
    return {"affinity": {kind: {
        "requiredDuringSchedulingIgnoredDuringExecution": [term],
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }}}  # fmt: skip


TEMPLATES: tuple[dict[str, Any], ...] = (
    {},
    {"cpu": "1", "memory": "1Gi"},
    {"cpu": "1", "memory": "1Gi", "tolerations": ["gpu"]},
    {"cpu": "2", "requests": {"example.com/gpu": "1"}},
    {"cpu": "100m", "ports": [80]},
    {"memory": "3Gi", "images": ["app:1", "db:1"]},
    {"cpu": "500m", "affinity": ZONES},
    {"memory": "100Mi", "affinity": NOT_IN_A, "selector": {"disk": "ssd"}},
    {"cpu": "1", "affinity": names_affinity("n0", "n1", "n2")},
    {**APP, **spread("zone", "DoNotSchedule")},
    {**APP, **spread("zone", "ScheduleAnyway"), "cpu": "1"},
    {**APP, **with_pods("podAffinity", "zone")},
    {**APP, **with_pods("podAntiAffinity", "kubernetes.io/hostname")},
)

SIZES = {"app:1": 300 * 2**20, "db:1": 900 * 2**20}

node_facts = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(["0", "2", "4"]),
        "memory": st.sampled_from(["4Gi", "8Gi"]),
        "pods": st.sampled_from(["3", "110"]),
        "allocatable": st.sampled_from([{}, {"example.com/gpu": "2"}]),
        "labels": st.fixed_dictionaries(
            {}, optional={"zone": st.sampled_from("abc"), "disk": st.sampled_from(["ssd", "hdd"])}
        ),
        "taints": st.lists(
            st.sampled_from(["gpu:NoSchedule", "gpu:PreferNoSchedule", "old:NoExecute"]),
            max_size=2,
            unique=True,
        ),
        "unschedulable": st.booleans(),
        "images": st.sampled_from([{}, SIZES, {"app:1": SIZES["app:1"]}]),
        "uid": st.sampled_from(["first", "first", "first", "second"]),
    }
)
node_index, pod_index = st.integers(0, NODES - 1), st.integers(0, PODS - 1)
template = st.integers(0, len(TEMPLATES) - 1)
change = st.one_of(
    st.tuples(st.just("set_node"), node_index, node_facts),
    st.tuples(st.just("set_node"), node_index, node_facts),
    st.tuples(st.just("set_many"), st.integers(2, NODES), node_facts),
    st.tuples(st.just("remove_node"), node_index),
    st.tuples(st.just("churn"), node_index),
    st.tuples(st.just("set_pod"), pod_index, template, node_index),
    st.tuples(st.just("remove_pod"), pod_index),
    st.tuples(st.just("decide"), pod_index, template),
    st.tuples(st.just("decide"), pod_index, template),
    st.tuples(st.just("forget"), pod_index),
    st.tuples(st.just("confirm"), pod_index),
)


def histories(steps: int) -> st.SearchStrategy[list[list[tuple[Any, ...]]]]:
    return st.lists(st.lists(change, min_size=1, max_size=4), min_size=steps // 2, max_size=steps)


class History:
    """A core that lives through changes, and the objects as they are now."""

    def __init__(self) -> None:
        self.world = World()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}

    def set_node(self, index: int, facts: dict[str, Any]) -> None:
        name = f"n{index}"
        self.nodes[name] = node(name, **{**facts, "uid": f"{name}-{facts['uid']}"})
        self.world.set_node(self.nodes[name])

    def set_many(self, count: int, facts: dict[str, Any]) -> None:
        for index in range(count):
            self.set_node(index, facts)

    def remove_node(self, index: int) -> None:
        self.world.core.intake.remove_node(f"n{index}")
        self.nodes.pop(f"n{index}", None)

    def churn(self, index: int) -> None:
        last = self.nodes.get(f"n{index}")
        if last is not None:
            for turn in range(CHURN):
                self.world.set_node(
                    node(f"n{index}", labels={"turn": str(turn)}, uid=last.metadata.uid)
                )
            self.world.set_node(last)

    def set_pod(self, index: int, which: int, on: int) -> None:
        uid = f"pod-p{index}"
        placed = self.world.cluster.placed(uid)
        if placed is None:
            self.pods[uid] = pod(f"p{index}", on=f"n{on}", **TEMPLATES[which])
            self.world.set_pod(self.pods[uid])

    def remove_pod(self, index: int) -> None:
        self.world.core.intake.remove_pod(f"pod-p{index}")
        self.pods.pop(f"pod-p{index}", None)

    def decide(self, index: int, which: int) -> None:
        uid = f"pod-p{index}"
        if self.world.cluster.placed(uid) is None:
            decision = self.world.decide(pod(f"p{index}", **TEMPLATES[which]))
            if isinstance(decision, Placed):
                self.pods[uid] = pod(f"p{index}", on=decision.node_name, **TEMPLATES[which])

    def forget(self, index: int) -> None:
        if self.world.cluster.forget(f"pod-p{index}"):
            del self.pods[f"pod-p{index}"]

    def confirm(self, index: int) -> None:
        uid = f"pod-p{index}"
        if self.world.cluster.is_assumed(uid):
            self.world.set_pod(self.pods[uid])

    def check(self) -> None:
        """What is kept is the truth."""
        assert list(differences(self.world.cluster)) == []
        assert not any(wrong_shapes(self.world))
        assert self.world.core.cycle.engine.counts.mismatches == 0

    def check_against_a_new_core(self) -> None:
        """What a Core says does not depend on how it came to know what it knows."""
        new = World()
        for each in self.nodes.values():
            new.set_node(each)
        new.set_pod(*self.pods.values())
        for which, facts in enumerate(TEMPLATES):
            asked = pod(f"asked-{which}", **facts)
            assert told(self.world.look(asked)) == told(new.look(asked))


def wrong_shapes(world: World) -> Iterator[bool]:
    shapes = world.core.cycle.shapes
    for key in list(shapes._shapes):
        shape = shapes.get(key)
        assert shape is not None
        yield shapes.wrong(shape)


def live(steps: list[list[tuple[Any, ...]]]) -> None:
    history = History()
    for step in steps:
        for what, *how in step:
            getattr(history, what)(*how)
        history.check()
    history.check_against_a_new_core()


@given(histories(25))
@settings(max_examples=60)
def test_what_is_kept_is_the_truth_after_any_history(steps: list[list[tuple[Any, ...]]]) -> None:
    live(steps)


@pytest.mark.slow
@given(histories(50))
@settings(max_examples=2000)
def test_what_is_kept_is_the_truth_after_many_long_histories(
    steps: list[list[tuple[Any, ...]]],
) -> None:
    """Minutes: `make histories` runs it."""
    live(steps)


def toy(*aspects: Aspect, **more: Any) -> type:
    head = {"name": "Toy", "reads": NOTHING, "depends": Depends(*aspects)}
    return type("Toy", (), head | more)


def always(self: object, pod: object, node: object, state: object) -> int:
    return 1


def annotated(self: object, pod: object, node: Any, state: object) -> int:
    return len(node.annotations)


class Stored:
    """Scores by what a node's drivers say."""

    name = "Stored"
    reads = NOTHING
    depends = Depends(Aspect.STORAGE)

    def __init__(self, args: object, handle: Handle) -> None:
        self.csi_nodes = handle.csi_nodes

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        return int(self.csi_nodes.get(node.name) is not None)


DISK: dict[str, Any] = {
    "spec": {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "one"}}]}
}
CSI_NODE: dict[str, Any] = {"kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": []}}

# For each aspect: the plugins (None: the built-in ones), a pod, and a change that matters to it.
Case = tuple[list[type] | None, dict[str, Any], Callable[[World], object]]
CASES: dict[Aspect, Case] = {
    Aspect.EXISTENCE: ([toy(score=always)], {}, lambda w: w.set_node(node("new"))),
    Aspect.LABELS: (
        None,
        {"selector": {"disk": "ssd"}},
        lambda w: w.set_node(node("n", labels={"disk": "ssd"})),
    ),
    Aspect.TAINTS: (None, {}, lambda w: w.set_node(node("n", taints=["gpu:NoSchedule"]))),
    Aspect.ALLOCATABLE: (None, {"cpu": "1"}, lambda w: w.set_node(node("n", cpu="500m"))),
    Aspect.REQUESTED: (None, {"cpu": "1"}, lambda w: w.set_pod(pod("x", cpu="8", on="n"))),
    Aspect.PORTS: (None, {"ports": [80]}, lambda w: w.set_pod(pod("x", ports=[80], on="n"))),
    Aspect.IMAGES: (
        [toy(Aspect.IMAGES, score=lambda self, pod, node, state: len(node.images))],
        {},
        lambda w: w.set_node(node("n", images=SIZES)),
    ),
    Aspect.OBJECT: (
        [toy(Aspect.OBJECT, score=annotated)],
        {},
        lambda w: w.set_node(node("n", annotations={"a": "b"})),
    ),
    Aspect.VOLUMES: (None, DISK, lambda w: w.set_pod(pod("x", on="n", **DISK))),
    Aspect.STORAGE: ([Stored], {}, lambda w: w.set_object(CSI_NODE)),
}


@pytest.mark.parametrize("deaf", [False, True], ids=["marked", "not marked"])
@pytest.mark.parametrize("aspect", CASES)
def test_a_change_that_is_not_marked_is_found(
    aspect: Aspect, deaf: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check can fail: it does for each aspect whose mark is left out."""
    plugins, facts, change = CASES[aspect]
    world = World(node("n"), node("m"), plugins=plugins)
    world.look(pod("a", **facts))
    assert not any(wrong_shapes(world))
    if deaf:
        mark = Changes.mark
        monkeypatch.setattr(
            Changes,
            "mark",
            lambda self, which, row: None if which == aspect else mark(self, which, row),
        )
    change(world)
    assert any(wrong_shapes(world)) is deaf


def test_every_aspect_has_its_change() -> None:
    asked = {
        aspect
        for instance in World().profile.signing
        if instance.depends is not None
        for aspect in instance.depends.aspects
    }
    assert asked <= set(CASES)
