"""After any history of slices, classes, claims and nodes: what is kept of devices is the truth.

What the column form says from kept answers is what the row form finds by searching now; what is
given out is the sum over the claims; and the pools of each node are those of a world that was told
only what there is in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.cluster.changes import Aspect, Changes
from fairlead.cluster.devices.allocations import uses_of
from fairlead.cycle.decision import Placed
from fairlead.cycle.reserve import unreserve
from fairlead.framework.state import CycleState
from tests.builders import info, node
from tests.devices import (
    DRIVER,
    DeviceWorld,
    claim,
    consuming,
    device,
    device_class,
    exactly,
    first_of,
    resource_slice,
    user,
)

NODES, CLAIMS, DEVICES = 5, 6, 3
NAMES = [f"n{at}" for at in range(NODES)]
SHARED = [{"name": "shared", "counters": {"memory": {"value": "2"}}}]
ODD = f'device.attributes["{DRIVER}"].index % 2 == 1'

PROBES: dict[str, list[Any]] = {
    "one": [exactly()],
    "two": [exactly(count=2)],
    "odd": [exactly(selector=ODD)],
    "all": [exactly(allocationMode="All", count=0)],
    "either": [first_of("r", exactly("many", count=3), exactly("few"))],
    "some": [exactly(capacity={"requests": {"bandwidth": "3"}})],
}

RACK = {"key": "rack", "operator": "In", "values": ["1"]}
WHERE: list[dict[str, Any]] = [
    {"allNodes": True},
    {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [RACK]}]}},
]
KINDS: list[dict[str, Any]] = [
    {},
    {"consumesCounters": consuming(memory="1")},
    {"allowMultipleAllocations": True, "capacity": {"bandwidth": "5"}},
    {"taints": [{"key": "a", "effect": "NoSchedule"}]},
]

index = st.integers(0, NODES - 1)
number = st.integers(0, CLAIMS - 1)
local_slice = st.tuples(
    st.just("slice"),
    index,
    st.lists(st.integers(0, len(KINDS) - 1), max_size=DEVICES),
    st.sampled_from([1, 1, 2]),
    st.sampled_from([1, 2, 2]),
)
steps = st.one_of(
    local_slice,
    st.tuples(st.just("counters"), index, st.booleans()),
    st.tuples(st.just("wide"), st.integers(0, 2), st.sampled_from(WHERE)),
    st.tuples(st.just("no_slice"), index),
    st.tuples(st.just("claim"), number, index, st.integers(0, DEVICES - 1), st.booleans()),
    st.tuples(st.just("no_claim"), number),
    st.tuples(st.just("set_class"), st.booleans()),
    st.tuples(st.just("set_node"), index, st.sampled_from(["1", "2"])),
    st.tuples(st.just("no_node"), index),
    st.tuples(st.just("decide"), number, st.sampled_from(sorted(PROBES))),
    st.tuples(st.just("give_back"), number),
)
histories = st.lists(steps, min_size=1, max_size=40)


class History:
    """A world, and all that there is in it at the moment."""

    def __init__(self) -> None:
        self.world = DeviceWorld()
        self.there: dict[tuple[str, str], Any] = {}
        self.placed: dict[int, Placed] = {}
        for at in range(NODES):
            self.set_node(at, "1")
        self.set_class(False)
        for name, requests in PROBES.items():
            self.put("ResourceClaim", claim(f"probe-{name}", *requests))

    def put(self, kind: str, wire: Any) -> None:
        self.there[kind, wire["metadata"]["name"]] = wire
        self.world.put(kind, wire)

    def drop(self, kind: str, name: str) -> None:
        if self.there.pop((kind, name), None) is not None:
            namespace = "default" if kind == "ResourceClaim" else ""
            self.world.remove(kind, name, namespace)

    def set_node(self, at: int, rack: str) -> None:
        wire = node(NAMES[at], labels={"rack": rack})
        self.there["Node", NAMES[at]] = wire
        self.world.set_node(wire)

    def no_node(self, at: int) -> None:
        self.there.pop(("Node", NAMES[at]), None)
        self.world.core.intake.remove_node(NAMES[at])

    def slice(self, at: int, kinds: list[int], generation: int, count: int) -> None:
        made = [
            device(f"d{i}", attributes={"index": i}, **KINDS[kind]) for i, kind in enumerate(kinds)
        ]
        wire = resource_slice(f"s{at}", *made, node=NAMES[at], generation=generation, count=count)
        self.put("ResourceSlice", wire)

    def no_slice(self, at: int) -> None:
        self.drop("ResourceSlice", f"s{at}")

    def counters(self, at: int, there: bool) -> None:
        name = f"counters{at}"
        if there:
            made = resource_slice(name, node=NAMES[at], count=2, sharedCounters=SHARED)
            self.put("ResourceSlice", made)
        else:
            self.drop("ResourceSlice", name)

    def wide(self, count: int, where: dict[str, Any]) -> None:
        made = [device(f"w{i}", attributes={"index": i}) for i in range(count)]
        self.put("ResourceSlice", resource_slice("wide", *made, pool="wide", **where))

    def claim(self, number: int, at: int, which: int, shared: bool) -> None:
        wire = claim(f"c{number}", allocated=[f"d{which}"], on=NAMES[at])
        if shared:
            result = wire["status"]["allocation"]["devices"]["results"][0]
            result |= {"shareID": f"share{number}", "consumedCapacity": {"bandwidth": "2"}}
        self.give_back(number)
        self.put("ResourceClaim", wire)

    def no_claim(self, number: int) -> None:
        self.give_back(number)
        self.drop("ResourceClaim", f"c{number}")

    def set_class(self, odd: bool) -> None:
        self.put("DeviceClass", device_class("gpu", ODD if odd else "true"))

    def decide(self, number: int, probe: str) -> None:
        self.give_back(number)
        self.put("ResourceClaim", claim(f"c{number}", *PROBES[probe]))
        decision = self.world.decide(user(f"p{number}", f"c{number}"))
        if isinstance(decision, Placed):
            self.placed[number] = decision

    def give_back(self, number: int) -> None:
        decision = self.placed.pop(number, None)
        if decision is not None and decision.state is not None:
            unreserve(self.world.profile, decision.pod, decision.node_name, decision.state)
            self.world.cluster.forget(decision.pod.uid)

    def check(self) -> None:
        assert list(wrong_answers(self.world)) == []
        assert given_out(self.world) == self._summed()
        fresh = DeviceWorld()
        for (kind, _), wire in self.there.items():
            if kind == "Node":
                fresh.set_node(wire)
            else:
                fresh.put(kind, wire)
        assert pools(self.world) == pools(fresh)

    def _summed(self) -> tuple[Counter[Any], Counter[Any]]:
        devices: Counter[Any] = Counter()
        amounts: Counter[Any] = Counter()
        claims = [self.world.claim(name) for kind, name in self.there if kind == "ResourceClaim"]
        allocations = [c.status.allocation for c in claims if c and c.status.allocation]
        for decision in self.placed.values():
            state = decision.state
            assert state is not None
            binding: Any = state.read("ReserveDynamicResources")
            allocations += [given.struct for given in binding.given.values()]
        for allocation in allocations:
            for name, shared, consumed in uses_of(allocation):
                devices[name, shared] += 1
                if shared:
                    amounts.update({(name, key): amount for key, amount in consumed.items()})
        return devices, amounts


def given_out(world: DeviceWorld) -> tuple[Counter[Any], Counter[Any]]:
    allocations = world.cluster.nodes.devices.allocations
    devices: Counter[Any] = Counter({(d, False): n for d, n in allocations.devices.items()})
    devices.update({(d, True): n for d, n in allocations.shares.items()})
    amounts = Counter(
        {(d, key): n for d, each in allocations.consumed.items() for key, n in each.items()}
    )
    return devices, amounts


def pools(world: DeviceWorld) -> dict[str, list[Any]]:
    """What each node sees, by name."""
    seen = world.cluster.nodes.devices.pools.seen_from
    return {
        each.name: [
            (
                pool.id,
                pool.incomplete,
                pool.invalid,
                [device.id for s in pool.slices for device in s.devices],
                sorted(device.id for s in pool.others for device in s.devices),
                pool.counters,
            )
            for pool in seen(each)
        ]
        for each in world.cluster.nodes.all()
    }


def wrong_answers(world: DeviceWorld) -> Iterator[str]:
    """Where the column form, from what is kept, differs from a search that is made now."""
    plugin = world.profile.plugins["DynamicResources"].plugin
    rows = np.array(sorted(world.cluster.nodes.rows.values()), np.intp)
    for name in PROBES:
        asking = info(user("asking", f"probe-{name}"))
        state = CycleState()
        assert plugin.pre_filter(asking, state) is None
        nodes = plugin.handle.nodes(rows)
        verdicts = plugin.filter_nodes(asking, nodes, state)
        scores = plugin.score_nodes(asking, nodes, state)
        for at, each in enumerate(nodes.infos()):
            status = plugin.filter(asking, each, state)
            want = (0, ()) if status is None else (int(status.code), status.reasons)
            got = int(verdicts.codes[at]), nodes.reasons_of(int(verdicts.reasons[at]))
            if got != want:
                yield f"{name} on {each.name}: {got}, and now {want}"
            elif status is None and scores[at] != plugin.score(asking, each, state):
                yield f"{name} on {each.name}: score {scores[at]}"


def live(steps: list[tuple[Any, ...]]) -> None:
    history = History()
    for name, *arguments in steps:
        getattr(history, name)(*arguments)
        history.check()


@settings(max_examples=40, deadline=None)
@given(histories)
def test_what_is_kept_of_devices_is_the_truth(steps: list[tuple[Any, ...]]) -> None:
    live(steps)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(st.lists(steps, min_size=50, max_size=80))
def test_what_is_kept_of_devices_is_the_truth_after_long_histories(
    steps: list[tuple[Any, ...]],
) -> None:
    """`make test-long`."""
    live(steps)


CHANGES: list[list[tuple[Any, ...]]] = [
    [("slice", 0, [0], 1, 1), ("claim", 0, 0, 0, False)],
    [("claim", 0, 0, 0, False), ("slice", 0, [0], 1, 1), ("no_claim", 0)],
    [("slice", 0, [0], 1, 1), ("slice", 0, [], 1, 1)],
    [("slice", 0, [1], 1, 2), ("counters", 0, True)],
]


@pytest.mark.parametrize("steps", CHANGES)
def test_a_change_that_is_not_marked_is_found(
    steps: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    live(steps)
    history = History()
    assert list(wrong_answers(history.world)) == []
    mark = Changes.mark

    def all_but_devices(self: Changes, aspect: Aspect, row: int) -> None:
        if aspect != Aspect.DEVICES:
            mark(self, aspect, row)

    monkeypatch.setattr(Changes, "mark", all_but_devices)
    found: list[str] = []
    for name, *arguments in steps:
        getattr(history, name)(*arguments)
        found += wrong_answers(history.world)
    assert found
