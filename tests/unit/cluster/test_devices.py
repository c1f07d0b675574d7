"""What is given out of the devices, and which pools a node sees."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cluster.devices.claims import Claims
from tests.builders import node
from tests.devices import (
    DRIVER,
    DeviceWorld,
    claim,
    consuming,
    decoded,
    device,
    resource_slice,
)


def claims_of(world: DeviceWorld) -> Claims:
    return world.cluster.nodes.devices.claims


def held(world: DeviceWorld) -> list[str]:
    return sorted(name for _, _, name in world.cluster.nodes.devices.allocations.devices)


def pools(world: DeviceWorld, name: str = "a") -> list[tuple[str, bool, bool]]:
    """The pools that a node sees: their names, and whether they are incomplete or invalid."""
    info = world.cluster.nodes.get(name)
    assert info is not None
    seen = world.cluster.nodes.devices.pools.seen_from(info)
    return [(pool.id[1], pool.incomplete, pool.invalid) for pool in seen]


def test_devices_count_from_the_allocation_to_the_end_of_the_claim() -> None:
    world = DeviceWorld()
    world.claims(claim("c"))
    assert held(world) == []
    world.claims(claim("c", allocated=["x", "y"], on="a"))
    assert held(world) == ["x", "y"]
    world.claims(claim("c"))
    assert held(world) == []
    world.claims(claim("c", allocated=["x"], on="a"))
    world.remove("ResourceClaim", "c", "default")
    assert held(world) == []


def test_a_claim_of_the_same_name_counts_for_itself() -> None:
    world = DeviceWorld()
    world.claims(claim("c", allocated=["x"], on="a"))
    world.claims(claim("c", allocated=["y"], on="a", uid="another"))
    assert held(world) == ["y"]


def test_what_is_given_to_an_administrator_is_nobodys() -> None:
    world = DeviceWorld()
    watched = claim("c", allocated=["x"], on="a")
    watched["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    world.claims(watched)
    assert held(world) == []


def test_a_device_that_two_claims_have_is_free_when_both_are_gone() -> None:
    world = DeviceWorld()
    world.claims(claim("c", allocated=["x"], on="a"), claim("d", allocated=["x"], on="a"))
    world.remove("ResourceClaim", "c", "default")
    assert held(world) == ["x"]
    world.remove("ResourceClaim", "d", "default")
    assert held(world) == []


def test_shares_add_up_and_go_by_exact_differences() -> None:
    world = DeviceWorld()
    consumed = world.cluster.nodes.devices.allocations.consumed
    for name, amount in (("c", "1500m"), ("d", "2")):
        made = claim(name, allocated=["link"], on="a")
        result = made["status"]["allocation"]["devices"]["results"][0]
        result |= {"shareID": name, "consumedCapacity": {"bandwidth": amount}}
        world.claims(made)
    assert consumed[DRIVER, "a", "link"] == {"bandwidth": 3_500_000_000}
    assert held(world) == []
    world.remove("ResourceClaim", "c", "default")
    assert consumed[DRIVER, "a", "link"] == {"bandwidth": 2_000_000_000}
    world.remove("ResourceClaim", "d", "default")
    assert consumed == {}


def in_flight(world: DeviceWorld) -> None:
    world.claims(claim("c"))
    given = decoded("ResourceClaim", claim("c", allocated=["x"], on="a"))
    claims_of(world).reserve("claim-c", given.status.allocation)


def test_what_is_in_flight_counts_until_it_is_released() -> None:
    world = DeviceWorld()
    in_flight(world)
    assert claims_of(world).in_flight("claim-c")
    assert held(world) == ["x"]
    assert claims_of(world).release("claim-c")
    assert not claims_of(world).release("claim-c")
    assert held(world) == []


@pytest.mark.parametrize("first", ["the watch", "the release"])
def test_what_is_written_counts_once_in_whatever_order_it_is_heard_of(first: str) -> None:
    world = DeviceWorld()
    in_flight(world)
    written = claim("c", allocated=["x"], on="a")
    for step in sorted(("the watch", "the release"), key=lambda each: each != first):
        if step == "the watch":
            world.claims(written)
        else:
            claims_of(world).assume(decoded("ResourceClaim", written))
            claims_of(world).release("claim-c")
        assert world.cluster.nodes.devices.allocations.devices == {(DRIVER, "a", "x"): 1}


def test_the_watch_is_not_believed_while_it_tells_of_an_older_version() -> None:
    world = DeviceWorld()
    old = claim("c")
    world.claims(old)
    newer = decoded("ResourceClaim", claim("c", allocated=["x"], on="a"))
    claims_of(world).assume(newer)
    world.claims(old)
    assert held(world) == ["x"]
    assert world.claim("c") is newer
    world.claims(claim("c"))
    assert held(world) == []


def test_an_assumption_can_be_taken_back() -> None:
    world = DeviceWorld()
    world.claims(claim("c"))
    claims_of(world).assume(decoded("ResourceClaim", claim("c", allocated=["x"], on="a")))
    claims_of(world).restore("default", "c")
    assert held(world) == []


def test_the_newest_generation_of_a_pool_counts() -> None:
    world = DeviceWorld(node("a"))
    world.slices(resource_slice("new", device("n"), node="a", generation=2))
    world.slices(resource_slice("old", device("o"), node="a", generation=1))
    info = world.cluster.nodes.get("a")
    assert info is not None
    (pool,) = world.cluster.nodes.devices.pools.seen_from(info)
    assert [each.id[2] for s in pool.slices for each in s.devices] == ["n"]


def test_a_pool_is_passed_over_while_it_is_written_anew_elsewhere() -> None:
    world = DeviceWorld(node("a"), node("b"))
    world.slices(resource_slice("a", device("x"), node="a", pool="p", count=2))
    world.slices(resource_slice("b", device("y"), node="b", pool="p", count=2))
    assert pools(world) == [("p", False, False)]
    world.slices(resource_slice("b", device("y"), node="b", pool="p", count=2, generation=2))
    assert pools(world) == []


def test_a_pool_that_lacks_slices_is_incomplete() -> None:
    world = DeviceWorld(node("a"))
    world.slices(resource_slice("s", device("x"), node="a", count=2))
    assert pools(world) == [("a", True, False)]
    world.slices(resource_slice("t", device("y"), node="a", count=2))
    assert pools(world) == [("a", False, False)]
    world.remove("ResourceSlice", "t")
    assert pools(world) == [("a", True, False)]


SHARED = [{"name": "shared", "counters": {"memory": {"value": "1"}}}]


@pytest.mark.parametrize(
    "slices",
    [
        [device("x"), device("x")],
        [device("x", consumesCounters=consuming(cores="1"))],
        [device("x", consumesCounters=[{"counterSet": "none", "counters": {}}])],
    ],
)
def test_a_pool_that_contradicts_itself_is_invalid(slices: list[Any]) -> None:
    world = DeviceWorld(node("a"))
    world.slices(resource_slice("c", node="a", count=2, sharedCounters=SHARED))
    world.slices(resource_slice("s", *slices, node="a", count=2))
    assert pools(world) == [("a", False, True)]


def test_counters_that_contradict_each_other_are_everybodys_trouble() -> None:
    world = DeviceWorld(node("a"), node("b"))
    world.slices(resource_slice("c", node="b", sharedCounters=[*SHARED, *SHARED]))
    assert pools(world, "a") == [("b", False, True)]
    world.remove("ResourceSlice", "c")
    assert pools(world, "a") == []


def test_a_node_sees_what_its_labels_let_it_see() -> None:
    world = DeviceWorld(node("a", labels={"rack": "1"}))
    rack = {"key": "rack", "operator": "In", "values": ["1"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [rack]}]}
    world.slices(resource_slice("s", device("x"), pool="p", nodeSelector=selector))
    assert pools(world) == [("p", False, False)]
    world.set_node(node("a", labels={"rack": "2"}))
    assert pools(world) == []


def test_devices_may_say_for_themselves_who_sees_them() -> None:
    world = DeviceWorld(node("a"), node("b"))
    world.slices(
        resource_slice("s", device("x", nodeName="b"), pool="p", perDeviceNodeSelection=True)
    )
    assert pools(world, "a") == []
    assert pools(world, "b") == [("p", False, False)]


def test_pools_whose_devices_must_be_made_ready_come_last() -> None:
    world = DeviceWorld(node("a"))
    slow = device("x", bindingConditions=["Ready"], bindingFailureConditions=["Failed"])
    world.slices(resource_slice("s", slow, pool="a", allNodes=True))
    world.slices(resource_slice("t", device("y"), pool="z", allNodes=True))
    assert [name for name, _, _ in pools(world)] == ["z", "a"]


def test_a_slice_that_cannot_be_read_is_left_out_and_told() -> None:
    world = DeviceWorld(node("a"))
    world.slices(resource_slice("s", device("x", capacity={"memory": "much"}), node="a"))
    assert pools(world) == []
    assert "quantity 'much'" in world.told.lines[0]
