"""Counts of pods by kind, node and domain after any history: as if they were counted just now.

A history adds, changes and removes nodes, pods, namespaces and services, and the same pods are
asked about after each step, so that counts must be kept in step. In the end every count is compared
with the objects, and every answer with that of a scheduler that has seen the last state alone, in
row form and in column form.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.cluster import groups
from fairlead.cluster.check import differences
from fairlead.cluster.state import Cluster
from fairlead.config.loading import load
from fairlead.framework.instance import PluginInstance
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Status
from fairlead.model.decode import DECODERS, decode_node, decode_pod
from fairlead.model.podinfo import PodInfo, PodInfos
from fairlead.profiles import BUILT_IN
from fairlead.scheduler import Core

Json = dict[str, Any]
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PLUGINS = ("PodTopologySpread", "InterPodAffinity")
KEYS = ("zone", "kubernetes.io/hostname", "topology.kubernetes.io/zone")
NAMESPACES = ("here", "there")


class Clock:
    def now(self) -> float:
        return 0.0


class Deaf:
    def wake(self) -> None:
        return

    def refused(self, line: str) -> None:
        raise AssertionError(line)

    def hint_failed(self, plugin: str, event: object, pod: object, problem: Exception) -> None:
        raise AssertionError(plugin)

    def assumed_gone(self, pod: object) -> None:
        return


few = st.integers(0, 5)
namespaces = st.sampled_from(NAMESPACES)
labels = st.fixed_dictionaries({}, optional={"app": st.sampled_from("ab"), "tier": st.just("x")})
node_labels = st.fixed_dictionaries(
    {}, optional={key: st.sampled_from(["", "1", "2", "3"]) for key in (*KEYS, "disk")}
)
expressions = st.one_of(
    st.builds(lambda v: {"key": "app", "operator": "In", "values": v}, st.just(["a", "b"])),
    st.builds(lambda v: {"key": "app", "operator": "NotIn", "values": [v]}, st.sampled_from("ab")),
    st.sampled_from([{"key": k, "operator": o} for k in ("app", "tier")
                     for o in ("Exists", "DoesNotExist")]),
)  # fmt: skip
selectors = st.one_of(
    st.none(),
    st.just({}),
    st.builds(lambda v: {"matchLabels": {"app": v}}, st.sampled_from("ab")),
    st.builds(lambda e: {"matchExpressions": [e]}, expressions),
)
namespace_selectors = st.one_of(
    st.none(),
    st.just({}),
    st.just({"matchLabels": {"team": "red"}}),
    st.just({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]}),
)
constraints = st.builds(
    lambda skew, key, when, selector, least, affinity, taints, match: {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        **({"labelSelector": selector} if selector is not None else {}),
        **({"minDomains": least} if least and when == "DoNotSchedule" else {}),
        **({"nodeAffinityPolicy": affinity} if affinity else {}),
        **({"nodeTaintsPolicy": taints} if taints else {}),
        **({"matchLabelKeys": ["tier"]} if match and selector is not None else {}),
    },
    st.integers(1, 3),
    st.sampled_from(KEYS),
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    selectors,
    st.integers(0, 3),
    st.sampled_from(["", "Honor", "Ignore"]),
    st.sampled_from(["", "Honor", "Ignore"]),
    st.booleans(),
)
terms = st.builds(
    lambda key, selector, named, by_labels: {
        "topologyKey": key,
        **({"labelSelector": selector} if selector is not None else {}),
        **({"namespaces": named} if named else {}),
        **({"namespaceSelector": by_labels} if by_labels is not None else {}),
    },
    st.sampled_from(KEYS),
    selectors,
    st.lists(namespaces, max_size=1),
    namespace_selectors,
)
affinities = st.builds(
    lambda required, weights: {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "podAffinityTerm": term} for weight, term in weights
        ],
    },
    st.lists(terms, max_size=2),
    st.lists(st.tuples(st.integers(1, 9), terms), max_size=2),
)
specs = st.builds(
    lambda spread, near, far, selector, tolerates: {
        "containers": [{"name": "c", "image": "i"}],
        **({"topologySpreadConstraints": spread} if spread else {}),
        "affinity": {
            **({"podAffinity": near} if near else {}),
            **({"podAntiAffinity": far} if far else {}),
        },
        **({"nodeSelector": {"disk": "1"}} if selector else {}),
        **({"tolerations": [{"operator": "Exists"}]} if tolerates else {}),
    },
    st.lists(constraints, max_size=2),
    st.none() | affinities,
    st.none() | affinities,
    st.booleans(),
    st.booleans(),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("node"), few, node_labels, st.booleans()),
        st.tuples(st.just("no node"), few),
        st.tuples(st.just("pod"), few, namespaces, labels, specs, few, st.booleans()),
        st.tuples(st.just("no pod"), few),
        st.tuples(st.just("namespace"), namespaces, st.booleans()),
        st.tuples(st.just("service"), namespaces, st.sampled_from("ab"), st.integers(0, 2)),
    ),
    max_size=30,
)


class World:
    """The objects as they are now, and a scheduler that has seen how they became so."""

    def __init__(self) -> None:
        self.core = core()
        self.objects: dict[tuple[str, str, str], Json] = {}

    def set(self, kind: str, namespace: str, name: str, obj: Json) -> None:
        self.objects[kind, namespace, name] = obj
        tell(self.core, kind, obj)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        if self.objects.pop((kind, namespace, name), None) is None:
            return
        intake = self.core.intake
        if kind == "Node":
            intake.remove_node(name)
        elif kind == "Pod":
            intake.remove_pod(name)
        else:
            intake.remove_object(kind, namespace, name)

    def again(self) -> Core:
        """A scheduler that sees only the end."""
        fresh = core()
        for (kind, _, _), obj in self.objects.items():
            if kind != "Pod":
                tell(fresh, kind, obj)
        for (kind, _, _), obj in self.objects.items():
            if kind == "Pod":
                tell(fresh, kind, obj)
        return fresh


def core() -> Core:
    return Core(Cluster(), load(CONFIG), BUILT_IN, Clock(), lambda ties: 0, Deaf())


def tell(core: Core, kind: str, obj: Json) -> None:
    line = json.dumps(obj).encode()
    if kind == "Node":
        core.intake.set_node(decode_node(line))
    elif kind == "Pod":
        core.intake.set_pod(decode_pod(line))
    else:
        decoded: Any = DECODERS[kind](line)
        core.intake.set_object(kind, decoded)


def play(world: World, history: list[tuple[Any, ...]], asked: list[PodInfo]) -> None:
    """All steps; the pods are asked about in between, so that their counts must be kept in step."""
    for i in range(3):
        step(world, ("node", i, {"zone": str(i), "topology.kubernetes.io/zone": "1"}, False))
    for what in history:
        for each in asked:
            answers(world.core, each)
        step(world, what)


def step(world: World, what: tuple[Any, ...]) -> None:
    match what:
        case ("node", i, labels, tainted):
            taints = [{"key": "k", "effect": "NoSchedule"}] if tainted else []
            meta = {"name": f"n{i}", "uid": f"n{i}", "labels": labels}
            status = {"allocatable": {"pods": "99"}}
            obj = {"metadata": meta, "spec": {"taints": taints}, "status": status}
            world.set("Node", "", f"n{i}", obj)
        case ("no node", i):
            world.remove("Node", "", f"n{i}")
        case ("pod", i, namespace, labels, spec, node, deleting):
            # A pod never changes its namespace or what it asks for: it is another one then.
            world.remove("Pod", "", f"p{i}")
            world.set("Pod", "", f"p{i}", pod(f"p{i}", namespace, labels, spec, f"n{node}"))
            if deleting:
                going = pod(f"p{i}", namespace, {**labels, "app": "b"}, spec, f"n{node}")
                going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
                world.set("Pod", "", f"p{i}", going)
        case ("no pod", i):
            world.remove("Pod", "", f"p{i}")
        case ("namespace", name, red):
            meta = {"name": name, "labels": {"team": "red"} if red else {}}
            world.set("Namespace", "", name, {"metadata": meta})
        case ("service", namespace, app, labels):
            meta = {"name": app, "namespace": namespace}
            if labels:
                selector = {"app": app, **({"tier": "x"} if labels > 1 else {})}
                obj = {"metadata": meta, "spec": {"selector": selector}}
                world.set("Service", namespace, app, obj)
            else:
                world.remove("Service", namespace, app)
        case _:
            raise AssertionError(what)


def pod(name: str, namespace: str, labels: Json, spec: Json, node: str = "") -> Json:
    meta = {"name": name, "namespace": namespace, "uid": name, "labels": labels}
    return {"metadata": meta, "spec": {**spec, "nodeName": node}}


def pod_info(namespace: str, labels: Json, spec: Json) -> PodInfo:
    line = json.dumps(pod("asked", namespace, labels, spec)).encode()
    return PodInfos().of(decode_pod(line))


def answers(core: Core, asked: PodInfo) -> Json:
    """What both plugins say of each node, by name; both forms must say the same."""
    profile = core.profiles["default-scheduler"]
    said: Json = {}
    for name in PLUGINS:
        instance = profile.plugins[name]
        state = CycleState()
        outcome = instance.pre_filter(asked, state)
        if outcome is None:
            said[name, "filter"] = filtered(core, instance, asked, state)
        else:
            assert outcome.code in (Code.SKIP, Code.ERROR, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        # Whether a filter that refuses nothing is skipped or not is all the same.
        said.setdefault((name, "filter"), dict.fromkeys(core.cluster.nodes.rows))
        said[name, "score"] = scored(core, instance, asked, state)
    return said


def filtered(core: Core, instance: PluginInstance, asked: PodInfo, state: CycleState) -> Json:
    table, handle = core.cluster.nodes, core.cycle.handle
    rows = np.flatnonzero(table.columns.exists)
    found: Json = {}
    for nodes in (handle.nodes(rows), handle.nodes()):
        verdicts = instance.filter_nodes(asked, nodes, state)
        for at, info in enumerate(nodes.infos()):
            if info is None:
                continue
            status: Status | None = instance.filter(asked, info, state)
            row = None if status is None else (status.code, status.reasons)
            column = None
            if verdicts is not None and verdicts.codes[at]:
                reasons = handle.reasons_of(int(verdicts.reasons[at]))
                column = (Code(int(verdicts.codes[at])), reasons)
            assert row == column, f"{instance.name} of {info.name}: {row} and {column}"
            found[info.name] = row
    return found


def scored(core: Core, instance: PluginInstance, asked: PodInfo, state: CycleState) -> Json:
    """The normalised scores of every second node, as if the others had been refused."""
    table, handle = core.cluster.nodes, core.cycle.handle
    names = sorted(table.rows)[::2]
    rows = np.array([table.rows[name] for name in names], np.intp)
    status = instance.pre_score(asked, handle.nodes(rows), state)
    if status is not None:
        assert status.code == Code.SKIP
        return {}
    raw = instance.ask_score_nodes(asked, handle.nodes(rows), state)
    assert isinstance(raw, np.ndarray)
    one_by_one = [instance.score(asked, table.info(row), state) for row in rows.tolist()]
    assert raw.tolist() == one_by_one
    normal = instance.ask_normalize(asked, raw, state)
    return dict(zip(names, zip(raw.tolist(), normal.tolist(), strict=True), strict=True))


def check(world: World, asked: list[PodInfo]) -> None:
    before = [answers(world.core, each) for each in asked]
    assert list(differences(world.core.cluster)) == []
    fresh = world.again()
    assert [answers(fresh, each) for each in asked] == before


pods = st.lists(st.builds(pod_info, namespaces, labels, specs), min_size=1, max_size=3)
many = settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)


@many
@given(steps, pods)
def test_counts_are_as_if_counted_now(history: list[tuple[Any, ...]], asked: list[PodInfo]) -> None:
    world = World()
    play(world, history, asked)
    check(world, asked)


@many
@given(steps, pods)
def test_counts_that_are_dropped_come_again(
    history: list[tuple[Any, ...]], asked: list[PodInfo]
) -> None:
    """Room for two tallies makes every question drop another's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "FEWEST_TALLIES", 2)
        patch.setattr(groups, "MOST_BYTES", 0)
        world = World()
        play(world, history, asked)
        check(world, asked)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps, pods)
def test_counts_outlive_a_table_that_grows(
    history: list[tuple[Any, ...]], asked: list[PodInfo]
) -> None:
    world = World()
    play(world, history, asked)
    for i in range(100, 180):
        step(world, ("node", i, {"zone": f"z{i % 7}", "kubernetes.io/hostname": f"h{i}"}, False))
        step(world, ("pod", i, "here", {"app": "ab"[i % 2]}, {"containers": []}, i, False))
    check(world, asked)
