"""The row form of each built-in plugin says what its column form says, whatever the cluster.

Filters are exact up to 2^62. Scores multiply by 100 in 64 bits, as kube-scheduler does, and are
compared up to 2^56: a node of 64 pebibytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import NodeSet
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Status
from fairlead.model.podinfo import PodInfo
from fairlead.profiles import BUILT_IN
from tests.builders import Json, World, info, node, pod

NAMES = [f"n{i}" for i in range(6)]
FILTERS = sorted(n for n, p in BUILT_IN.items() if {"filter", "filter_nodes"} <= set(dir(p)))
SCORES = sorted(n for n, p in BUILT_IN.items() if {"score", "score_nodes"} <= set(dir(p)))

RESOURCES = [
    {"name": "cpu", "weight": 3},
    {"name": "memory", "weight": 1},
    {"name": "ephemeral-storage", "weight": 2},
    {"name": "example.com/gpu", "weight": 5},
]
RATIO = {
    "shape": [
        {"utilization": 0, "score": 2},
        {"utilization": 40, "score": 9},
        {"utilization": 100, "score": 0},
    ]
}
STRATEGIES: list[Json] = [
    {"type": "LeastAllocated", "resources": RESOURCES},
    {"type": "MostAllocated", "resources": RESOURCES},
    {
        "type": "RequestedToCapacityRatio",
        "resources": RESOURCES,
        "requestedToCapacityRatio": RATIO,
    },
]
AFFINITY: Json = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
    },
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {
            "weight": 7,
            "preference": {"matchExpressions": [{"key": "age", "operator": "Gt", "values": ["3"]}]},
        }
    ],
}
ARGS: list[dict[str, Json]] = [
    *(
        {
            "NodeResourcesFit": {"scoringStrategy": strategy},
            "NodeResourcesBalancedAllocation": {"resources": [{**r, "weight": 1} for r in some]},
        }
        for strategy, some in zip(
            STRATEGIES, (RESOURCES, RESOURCES[:2], RESOURCES[:3]), strict=True
        )
    ),
    {
        "NodeAffinity": {"addedAffinity": AFFINITY},
        "NodeResourcesFit": {"ignoredResources": ["example.com/gpu"]},
    },
]


def quantities(largest: int) -> st.SearchStrategy[Json]:
    """Amounts of everything, or of some of it; the largest is where 64 bits still suffice."""
    amount = st.one_of(
        st.sampled_from([0, 1, 2, 3, 100, largest - 1, largest]), st.integers(0, largest)
    )
    return st.fixed_dictionaries(
        {},
        optional={
            "cpu": amount.map(lambda n: f"{n // 1000}m"),
            "memory": amount.map(str),
            "ephemeral-storage": amount.map(str),
            "example.com/gpu": amount.map(str),
            "example.com/rare": st.just("1"),
        },
    )


values = st.lists(st.sampled_from(["a", "b", "3", "10", "-1", ""]), max_size=3)
keys = st.sampled_from(["zone", "disk", "age"])
labels = st.dictionaries(keys, st.sampled_from(["a", "b", "3", "10", "-1", ""]))
expressions = st.lists(
    st.fixed_dictionaries(
        {
            "key": keys,
            "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
            "values": values,
        }
    ),
    max_size=2,
)
fields = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["metadata.name", "metadata.uid"]),
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(st.sampled_from(NAMES), min_size=1, max_size=1),
        }
    ),
    max_size=1,
)
terms = st.fixed_dictionaries({}, optional={"matchExpressions": expressions, "matchFields": fields})
affinities = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.fixed_dictionaries(
            {"nodeSelectorTerms": st.lists(terms, min_size=1, max_size=3)}
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
            st.fixed_dictionaries({"weight": st.integers(1, 100), "preference": terms}), max_size=3
        ),
    },
)
app = {"matchLabels": {"app": "a"}}
pod_term = keys.map(lambda key: {"topologyKey": key, "labelSelector": app})
pod_affinities = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.lists(pod_term, max_size=2),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
            st.fixed_dictionaries({"weight": st.integers(1, 100), "podAffinityTerm": pod_term}),
            max_size=2,
        ),
    },
)
all_affinities = st.fixed_dictionaries(
    {},
    optional={
        "nodeAffinity": affinities,
        "podAffinity": pod_affinities,
        "podAntiAffinity": pod_affinities,
    },
)
spreads = st.lists(
    st.fixed_dictionaries(
        {
            "maxSkew": st.integers(1, 2),
            "topologyKey": keys,
            "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": st.just(app),
        }
    ),
    max_size=2,
    unique_by=lambda each: (each["topologyKey"], each["whenUnsatisfiable"]),
).map(lambda constraints: {"topologySpreadConstraints": constraints})
images = st.dictionaries(st.sampled_from(["app:1", "db:1", "web:1"]), st.integers(0, 2**42))


def nodes(largest: int) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {
            "allocatable": quantities(largest),
            "pods": st.sampled_from(["0", "1", "110"]),
            "labels": labels,
            "taints": st.lists(
                st.sampled_from(["a:NoSchedule", "b=1:PreferNoSchedule", "c:NoExecute"]), max_size=3
            ),
            "unschedulable": st.booleans(),
            "images": images,
        }
    )


def pods(largest: int) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {
            "requests": quantities(largest),
            "ports": st.lists(st.sampled_from([80, 443]), max_size=1),
            "images": st.lists(st.sampled_from(["app:1", "db:1", "web:1"]), min_size=1, max_size=3),
            "tolerations": st.lists(st.sampled_from(["", "a", "b=1", "b=2", "c"]), max_size=2),
        },
        optional={
            "selector": labels,
            "affinity": all_affinities,
            "spec": spreads,
            "labels": st.sampled_from([{"app": "a"}, {"app": "b"}]),
        },
    )


def clusters(largest: int) -> st.SearchStrategy[tuple[list[Json], list[tuple[int, Json]]]]:
    placed = st.tuples(st.integers(0, len(NAMES) - 1), pods(largest))
    return st.tuples(
        st.lists(nodes(largest), min_size=1, max_size=len(NAMES)), st.lists(placed, max_size=5)
    )


Cluster = tuple[list[Json], list[tuple[int, Json]]]


def world_of(cluster: Cluster, args: dict[str, Json]) -> World:
    world = World(args=args)
    for name, facts in zip(NAMES, cluster[0], strict=False):
        allocatable = {"cpu": "0", "memory": "0", **facts["allocatable"]}
        world.set_node(node(name, **{**facts, "allocatable": allocatable}))
    for i, (at, facts) in enumerate(cluster[1]):
        world.set_pod(pod(f"old{i}", on=NAMES[at % len(cluster[0])], **facts))
    return world


def sets(world: World, chosen: list[int], whole_table: bool) -> list[NodeSet]:
    """All nodes, and some of them in any order; the whole table only if answers are kept."""
    handle, count = world.core.cycle.handle, len(world.cluster.nodes)
    some = list(dict.fromkeys(i % count for i in chosen))
    found = [handle.nodes(np.arange(count)), handle.nodes(np.array(some, np.intp))]
    return [*found, handle.nodes()] if whole_table else found


def rows_of(some: NodeSet, world: World) -> list[int]:
    return list(range(len(world.cluster.nodes))) if some.rows is None else some.rows.tolist()


def noted(instance: PluginInstance, asked: PodInfo, some: NodeSet) -> tuple[CycleState, list[Any]]:
    """What the earlier stages leave behind, and what they say."""
    state = CycleState()
    said: list[Any] = [None, None]
    if instance.pre_filter is not None:
        said[0] = instance.pre_filter(asked, state)
    if instance.pre_score is not None:
        said[1] = instance.pre_score(asked, some, state)
    return state, said


def words(status: Status | None) -> tuple[int, tuple[str, ...]]:
    return (0, ()) if status is None else (int(status.code), status.reasons)


chosen_rows = st.lists(st.integers(0, len(NAMES) - 1), min_size=1, max_size=4, unique=True)


@pytest.mark.parametrize("name", FILTERS)
@settings(max_examples=50)
@given(clusters(2**62), pods(2**62), st.sampled_from(ARGS), chosen_rows)
def test_filters(
    name: str, cluster: Cluster, facts: Json, args: dict[str, Json], chosen: list[int]
) -> None:
    world = world_of(cluster, args)
    instance, asked = world.profile.plugins[name], info(pod("asked", **facts))
    for some in sets(world, chosen, instance.kept):
        state, said = noted(instance, asked, some)
        if isinstance(said[0], Status):  # skipped or refused: nobody asks further
            return
        verdicts = instance.ask_filter_nodes(asked, some, state)
        for at, row in enumerate(rows_of(some, world)):
            found: tuple[int, tuple[str, ...]] = (0, ())
            if verdicts is not None and verdicts.codes[at] != Code.SUCCESS:
                found = int(verdicts.codes[at]), some.reasons_of(int(verdicts.reasons[at]))
            each = world.cluster.nodes.info(row)
            assert found == words(instance.ask_filter(asked, each, state))


@pytest.mark.parametrize("name", SCORES)
@settings(max_examples=50)
@given(clusters(2**56), pods(2**56), st.sampled_from(ARGS), chosen_rows)
def test_scores(
    name: str, cluster: Cluster, facts: Json, args: dict[str, Json], chosen: list[int]
) -> None:
    world = world_of(cluster, args)
    instance, asked = world.profile.plugins[name], info(pod("asked", **facts))
    for some in sets(world, chosen, instance.kept):
        state, said = noted(instance, asked, some)
        if said[1] is not None:
            return
        scores: Any = instance.ask_score_nodes(asked, some, state)
        for at, row in enumerate(rows_of(some, world)):
            found = scores if isinstance(scores, int) else int(scores[at])
            assert found == instance.ask_score(asked, world.cluster.nodes.info(row), state)


def test_all_plugins_that_have_two_forms_are_here() -> None:
    assert set(FILTERS) >= {"NodeResourcesFit", "NodeAffinity", "TaintToleration", "NodePorts"}
    assert set(SCORES) >= {"NodeResourcesFit", "NodeAffinity", "ImageLocality"}
