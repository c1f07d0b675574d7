"""Which events wake pods that wait for devices."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cycle.decision import Unplaced
from tests.builders import info, node, pod
from tests.devices import (
    DeviceWorld,
    claim,
    decoded,
    device,
    device_class,
    resource_slice,
    templated,
    user,
)

FREE, TAKEN = claim("c"), claim("c", allocated=["d"], on="a")


def hint(world: DeviceWorld, plugin: str, resource: str) -> Any:
    registered = world.profile.plugins[plugin].plugin.events_to_register()
    (found,) = [hint for event, hint in registered if event.resource.endswith(resource)]
    return found


@pytest.mark.parametrize(
    ("waits_for", "old", "new", "woken"),
    [
        ("c", None, FREE, True),
        ("c", FREE, TAKEN, True),
        ("c", FREE, FREE, False),
        ("other", None, FREE, False),
        ("other", FREE, TAKEN, False),
        ("other", TAKEN, FREE, True),
        ("missing", TAKEN, FREE, False),
    ],
)
def test_a_claim_wakes_its_pods_and_one_that_is_given_up_all(
    waits_for: str, old: Any, new: Any, woken: bool
) -> None:
    world = DeviceWorld(node("a"))
    world.claims(new, claim("other"))
    before = None if old is None else decoded("ResourceClaim", old)
    after = decoded("ResourceClaim", new)
    ask = hint(world, "DynamicResources", "ResourceClaim")
    assert ask(info(user("p", waits_for)), before, after) == woken


def test_a_pod_is_woken_when_its_claims_are_made() -> None:
    world = DeviceWorld(node("a"))
    owner = {"kind": "Pod", "name": "p", "uid": "pod-p", "controller": True}
    world.claims(claim("made", ownerReferences=[owner]))
    ask = hint(world, "DynamicResources", "Pod")
    waiting = info(templated("p", "c", []))
    done = info(templated("p", "c", [{"name": "c", "resourceClaimName": "made"}]))
    assert ask(waiting, waiting, done)
    assert not ask(waiting, waiting, waiting)
    assert not ask(info(pod("q")), waiting, done)


@pytest.mark.parametrize(
    ("requested", "old", "new", "woken"),
    [
        ("example.com/gpu", None, {"extendedResourceName": "example.com/gpu"}, True),
        ("example.com/gpu", {}, {"extendedResourceName": "example.com/gpu"}, True),
        ("example.com/gpu", None, {"extendedResourceName": "example.com/nic"}, False),
        (
            "example.com/gpu",
            {"extendedResourceName": "example.com/gpu"},
            {"extendedResourceName": "example.com/gpu"},
            False,
        ),
        ("deviceclass.resource.kubernetes.io/gpu", None, {}, True),
        ("deviceclass.resource.kubernetes.io/gpu", {}, {}, False),
    ],
)
def test_a_class_wakes_pods_that_request_what_it_stands_for(
    requested: str, old: Any, new: Any, woken: bool
) -> None:
    world = DeviceWorld(node("a"))
    before = None if old is None else decoded("DeviceClass", device_class("gpu", **old))
    after = decoded("DeviceClass", device_class("gpu", **new))
    ask = hint(world, "NodeResourcesFit", "DeviceClass")
    assert ask(info(pod("p", requests={requested: "1"})), before, after) == woken


def test_a_node_without_the_resource_may_have_it_as_devices() -> None:
    world = DeviceWorld()
    ask = hint(world, "NodeResourcesFit", "Node")
    waiting = info(pod("p", requests={"example.com/gpu": "1"}))
    assert not ask(waiting, None, node("a"))
    world.classes(device_class("gpu", extendedResourceName="example.com/gpu"))
    assert ask(waiting, None, node("a"))
    assert ask(waiting, node("a"), node("a", cpu="9"))
    few = {"example.com/gpu": "1"}
    two = info(pod("p", requests={"example.com/gpu": "2"}))
    assert not ask(two, None, node("a", allocatable=few))


def test_a_slice_that_comes_wakes_who_waits_for_devices() -> None:
    world = DeviceWorld(node("a"))
    world.classes(device_class())
    world.claims(claim("c"))
    world.set_pod(user("p", "c"))
    queue = world.core.queue
    entry = queue.pop()
    assert entry is not None
    refusal = world.core.cycle.schedule_one(world.profile, entry)
    assert isinstance(refusal, Unplaced)
    assert refusal.unschedulable_plugins == {"DynamicResources"}
    entry.rejected_by(refusal.unschedulable_plugins)
    queue.add_unschedulable_if_not_present(entry)
    assert queue.pending()["unschedulable"] == 1
    world.slices(resource_slice("s", device("d"), node="a"))
    assert queue.pending()["unschedulable"] == 0


def test_a_claim_that_comes_lets_its_pod_into_the_queue() -> None:
    world = DeviceWorld(node("a"))
    world.set_pod(user("p", "c"))
    entry = world.core.queue.get("pod-p")
    assert entry is not None
    assert entry.gated
    world.claims(claim("c"))
    assert not entry.gated
