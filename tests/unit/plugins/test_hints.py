"""Which events wake pods that a built-in plugin rejected: one that does, one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cycle.decision import Placed, Unplaced
from fairlead.queue.events import QueueingHint, Registration
from tests.builders import World, info, names_affinity, node, pod

PORT = pod("me", ports=[80])
TOLERANT = pod("me", tolerations=["gpu"])
PLAIN = pod("me")
HUNGRY = pod("me", cpu="4", requests={"example.com/gpu": "1"})
PICKY = pod("me", selector={"disk": "ssd"})
NEEDY = {"hostNetwork": True, "hostUsers": False}
GUEST = pod("me", spec=NEEDY)
SSD, HDD = {"disk": "ssd"}, {"disk": "hdd"}
GPU = ["gpu=yes:NoSchedule"]
CORDON = "node.kubernetes.io/unschedulable"
EXTENDED = {"example.com/gpu": "2"}

# The plugin, the event, the pod that waits, the object before and after, whether it is woken.
CASES: list[tuple[str, str, Any, Any, Any, bool]] = [
    ("SchedulingGates", "gates", PLAIN, pod("me", gates=["a"]), PLAIN, True),
    ("SchedulingGates", "gates", PLAIN, pod("other", gates=["a"]), pod("other"), False),
    ("NodeUnschedulable", "node", PLAIN, None, node("n"), True),
    ("NodeUnschedulable", "node", PLAIN, None, node("n", unschedulable=True), False),
    ("NodeUnschedulable", "node", PLAIN, node("n", unschedulable=True), node("n"), True),
    ("NodeUnschedulable", "node", PLAIN, node("n", taints=GPU), node("n"), False),
    ("NodeUnschedulable", "pod", PLAIN, PLAIN, pod("me", tolerations=[CORDON]), True),
    ("NodeUnschedulable", "pod", PLAIN, PLAIN, TOLERANT, False),
    ("NodeUnschedulable", "pod", PLAIN, PLAIN, pod("other", tolerations=[CORDON]), False),
    ("TaintToleration", "node", PLAIN, None, node("n"), True),
    ("TaintToleration", "node", PLAIN, None, node("n", taints=GPU), False),
    ("TaintToleration", "node", TOLERANT, None, node("n", taints=GPU), True),
    ("TaintToleration", "node", PLAIN, node("n", taints=GPU), node("n"), True),
    ("TaintToleration", "node", PLAIN, node("n", taints=["a:PreferNoSchedule"]), node("n"), False),
    ("TaintToleration", "pod", PLAIN, PLAIN, TOLERANT, True),
    ("TaintToleration", "pod", PLAIN, pod("other"), pod("other", tolerations=["gpu"]), False),
    ("NodeAffinity", "node", PICKY, None, node("n", labels=SSD), True),
    ("NodeAffinity", "node", PICKY, None, node("n", labels=HDD), False),
    ("NodeAffinity", "node", PICKY, node("n", labels=HDD), node("n", labels=SSD), True),
    ("NodeAffinity", "node", PICKY, node("n", labels=SSD), node("n", labels=SSD, cpu="9"), False),
    ("NodeAffinity", "node", pod("me", affinity=names_affinity("n")), None, node("n"), True),
    ("NodeAffinity", "node", pod("me", affinity=names_affinity("n")), None, node("m"), False),
    ("NodeDeclaredFeatures", "node", GUEST, None, node("n"), True),
    ("NodeDeclaredFeatures", "node", GUEST, node("n"), node("n", features=["Some"]), True),
    ("NodeDeclaredFeatures", "node", GUEST, node("n", labels=HDD), node("n"), False),
    ("NodeDeclaredFeatures", "pod", PLAIN, PLAIN, GUEST, True),
    ("NodeDeclaredFeatures", "pod", GUEST, GUEST, pod("me", spec=NEEDY, cpu="2"), False),
    ("NodeDeclaredFeatures", "pod", PLAIN, pod("other"), pod("other", spec=NEEDY), False),
    ("NodePorts", "pod", PORT, pod("other", ports=[80], on="n"), None, True),
    ("NodePorts", "pod", PORT, pod("other", ports=[80], nominated="n"), None, True),
    ("NodePorts", "pod", PORT, pod("other", ports=[80]), None, False),
    ("NodePorts", "pod", PORT, pod("other", ports=[81], on="n"), None, False),
    ("NodePorts", "pod", PORT, pod("other", on="n"), None, False),
    ("NodeResourcesFit", "pod", HUNGRY, pod("other", on="n"), None, True),
    ("NodeResourcesFit", "pod", HUNGRY, pod("other", nominated="n"), None, True),
    ("NodeResourcesFit", "pod", HUNGRY, pod("other"), None, False),
    ("NodeResourcesFit", "pod", HUNGRY, pod("me", cpu="5"), pod("me", cpu="4"), True),
    ("NodeResourcesFit", "pod", HUNGRY, pod("o", cpu="5", on="n"), pod("o", cpu="4", on="n"), True),
    ("NodeResourcesFit", "pod", HUNGRY, pod("o", cpu="5"), pod("o", cpu="4"), False),
    (
        "NodeResourcesFit",
        "pod",
        HUNGRY,
        pod("o", memory="2Gi", on="n"),
        pod("o", memory="1Gi", on="n"),
        False,
    ),
    ("NodeResourcesFit", "node", HUNGRY, None, node("n", allocatable=EXTENDED), True),
    ("NodeResourcesFit", "node", HUNGRY, None, node("n"), False),
    ("NodeResourcesFit", "node", HUNGRY, None, node("n", cpu="3", allocatable=EXTENDED), False),
    ("NodeResourcesFit", "node", PLAIN, None, node("n", pods="0"), False),
    ("NodeResourcesFit", "node", HUNGRY, node("n"), node("n", allocatable=EXTENDED), True),
    ("NodeResourcesFit", "node", PLAIN, node("n", pods="1"), node("n", pods="2"), True),
    (
        "NodeResourcesFit",
        "node",
        HUNGRY,
        node("n", allocatable=EXTENDED),
        node("n", memory="64Gi", allocatable=EXTENDED),
        False,
    ),
]


def registered(plugin: str) -> dict[str, Registration]:
    found = World().profile.plugins[plugin].plugin.events_to_register()
    return {event.resource: (event, hint) for event, hint in found}


def facts(obj: Any) -> Any:
    return info(obj) if type(obj).__name__ == "Pod" else obj


@pytest.mark.parametrize(("plugin", "kind", "waiting", "old", "new", "woken"), CASES)
def test_a_hint_queues_only_what_may_help(
    plugin: str, kind: str, waiting: Any, old: Any, new: Any, woken: bool
) -> None:
    _, hint = registered(plugin)["Node" if kind == "node" else "Pod"]
    assert hint is not None
    assert hint(facts(waiting), facts(old), facts(new)) is QueueingHint(woken)


@pytest.mark.parametrize(
    ("plugin", "events"),
    [
        ("SchedulingGates", {"Pod": 2048}),
        ("NodeUnschedulable", {"Node": 1 | 16, "Pod": 1024}),
        ("NodeName", {"Node": 1}),
        ("TaintToleration", {"Node": 1 | 16, "Pod": 1024}),
        ("NodeAffinity", {"Node": 1 | 8}),
        ("NodePorts", {"Pod": 2, "Node": 1}),
        (
            "NodeResourcesFit",
            {"Pod": 2 | 512, "Node": 1 | 4, "resource.k8s.io/DeviceClass": 1 | 8188},
        ),
        (
            "DynamicResources",
            {
                "Node": 1 | 4 | 8,
                "Pod": 4096,
                "resource.k8s.io/ResourceClaim": 1 | 8188,
                "resource.k8s.io/DeviceClass": 1 | 8188,
                "resource.k8s.io/ResourceSlice": 1 | 8188,
            },
        ),
    ],
)
def test_the_events_are_those_of_kube_scheduler(plugin: str, events: dict[str, int]) -> None:
    found = {resource: int(event.action) for resource, (event, _) in registered(plugin).items()}
    assert found == events


@pytest.mark.parametrize("plugin", ["NodeName", "NodePorts"])
def test_a_new_node_may_always_help(plugin: str) -> None:
    assert registered(plugin)["Node"][1] is None


def test_a_resource_that_the_configuration_ignores_wakes_nobody_in_vain() -> None:
    """The pod fits the node, because the plugin is told not to count what the node lacks."""
    fit = World().profile.plugins["NodeResourcesFit"].plugin
    fit.ignored = frozenset(["example.com/gpu"])
    assert fit.after_node_change(info(HUNGRY), None, node("n")) is QueueingHint.QUEUE


def test_the_affinity_of_the_configuration_comes_first() -> None:
    affinity = World().profile.plugins["NodeAffinity"].plugin
    affinity.added_required = info(pod("x", affinity=names_affinity("m"))).required_node_affinity
    hint = affinity.after_node_change
    assert hint(info(PICKY), None, node("n", labels=SSD)) is QueueingHint.SKIP
    assert hint(info(PICKY), None, node("m", labels=SSD)) is QueueingHint.QUEUE


def test_the_queue_asks_the_hints() -> None:
    """A pod that found no room stays where it is until a node comes that has some."""
    world = World(node("small", cpu="1"))
    world.set_pod(pod("big", cpu="4"))
    queue = world.core.queue
    entry = queue.pop()
    assert entry is not None
    refusal = world.core.cycle.schedule_one(world.profile, entry)
    assert isinstance(refusal, Unplaced)
    entry.rejected_by(refusal.unschedulable_plugins)
    queue.add_unschedulable_if_not_present(entry)
    world.set_node(node("small-too", cpu="2"))
    assert queue.pending()["unschedulable"] == 1
    world.set_node(node("large", cpu="16"))
    assert queue.pending()["unschedulable"] == 0
    assert not world.told.lines


def test_an_assumed_pod_that_is_deleted_makes_room() -> None:
    """The object that the watch deletes names no node yet; what waits for the room must know."""
    world = World(node("n", cpu="1"))
    assert isinstance(world.decide(pod("first", cpu="1")), Placed)
    world.set_pod(pod("second", cpu="1"))
    entry = world.core.queue.pop()
    assert entry is not None
    entry.rejected_by(frozenset(["NodeResourcesFit"]))
    world.core.queue.add_unschedulable_if_not_present(entry)
    world.core.intake.remove_pod("pod-first")
    assert world.core.queue.pending()["unschedulable"] == 0
