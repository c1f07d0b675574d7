"""What one step over all nodes says of preemption is what a trial of each node ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.framework.stages import PostFilterResult, Victims
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Refusal
from fairlead.framework.statuses import NodeStatuses
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.default_preemption.budgets import Budgets
from fairlead.plugins.default_preemption.sieve import sift
from fairlead.plugins.default_preemption.victims import victims_on
from tests.builders import World, node, pod

PRIORITIES = st.sampled_from([0, 5, 10])
AMOUNTS = st.sampled_from(["0", "500m", "1", "2", "3500m"])
PORTS = st.lists(st.sampled_from([80, 81]), max_size=2, unique=True)


class Listening:
    """Keeps what a PostFilter plugin is given."""

    name = "Listening"

    def post_filter(
        self, pod: PodInfo, state: CycleState, statuses: NodeStatuses
    ) -> PostFilterResult | None:
        self.seen = statuses
        return None


@st.composite
def shapes(draw: st.DrawFn) -> Mapping[str, Any]:
    """A pod's requests, ports and neighbours."""
    more: dict[str, Any] = {"cpu": draw(AMOUNTS), "ports": draw(PORTS)}
    if draw(st.booleans()):
        more["requests"] = {"example.com/gpu": draw(st.sampled_from(["0", "1", "3"]))}
    more["labels"] = {"app": draw(st.sampled_from(["a", "b"]))}
    if draw(st.integers(0, 3)) == 0:
        term = {
            "topologyKey": draw(st.sampled_from(["kubernetes.io/hostname", "zone"])),
            "labelSelector": {"matchLabels": {"app": "a"}},
        }
        kind = draw(st.sampled_from(["podAntiAffinity", "podAffinity"]))
        more["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    more["spec"] = {"priority": draw(PRIORITIES)}
    if draw(st.integers(0, 3)) == 0:
        more["spec"]["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "a"}},
            }
        ]
    return more


PODS = st.lists(st.tuples(st.integers(0, 5), shapes()), max_size=24)


@settings(max_examples=150, deadline=None)
@given(PODS, shapes(), st.lists(st.integers(0, 5), max_size=2))
def test_one_step_over_all_nodes_says_what_trials_say(
    pods: Sequence[tuple[int, Mapping[str, Any]]],
    asked: Mapping[str, Any],
    nominated: Sequence[int],
) -> None:
    world = World()
    for i in range(6):
        gpus = {"example.com/gpu": "2"} if i % 2 else {}
        world.set_node(node(f"n{i}", cpu="4", allocatable=gpus, labels={"zone": f"z{i % 3}"}))
    for i, (where, shape) in enumerate(pods):
        world.set_pod(pod(f"p{i}", on=f"n{where}", **shape))
    for i, where in enumerate(nominated):
        world.set_pod(pod(f"w{i}", cpu="3", nominated=f"n{where}", spec={"priority": 20}))
    listening = Listening()
    instance = world.profile.plugins["DefaultPreemption"]
    instance.plugin = listening
    world.decide(pod("asked", **{**asked, "spec": {**asked["spec"], "priority": 8}}))
    statuses: NodeStatuses | None = getattr(listening, "seen", None)
    if statuses is None:
        return
    rows = statuses.rows_with(Code.UNSCHEDULABLE)
    handle, trials = world.core.cycle.handle, statuses.trials
    sifted = sift(handle, trials, rows)
    assert np.array_equal(sifted.rows, rows)
    for at, row in enumerate(rows.tolist()):
        outcome = victims_on(trials, world.cluster.nodes.info(row), Budgets(handle.objects))
        if isinstance(outcome, Victims):
            assert sifted.open[at]
            continue
        assert isinstance(outcome, Refusal)
        if sifted.known[at] and not sifted.open[at]:
            by = int(sifted.refusers[at])
            assert outcome.plugin == (trials.filters[by].name if by >= 0 else "")
            assert outcome.status.code == sifted.codes[at]
            assert outcome.status.reasons == handle.reasons_of(int(sifted.reasons[at]))
