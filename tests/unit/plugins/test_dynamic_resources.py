"""DynamicResources: which nodes have devices for the claims of a pod, and how it is said."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cycle.decision import Placed, Unplaced
from tests.builders import node, pod
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
    templated,
    user,
    with_gpus,
)

CANNOT = "cannot allocate all claims"
AWAY = "resourceclaim not available on the node"


def message(world: DeviceWorld, each: Any) -> str:
    decision, _ = world.decided(each)
    assert isinstance(decision, Unplaced), decision
    return decision.message


def held(world: DeviceWorld) -> set[str]:
    return {device for _, _, device in world.cluster.nodes.devices.allocations.devices}


def test_a_pod_goes_where_devices_are_left() -> None:
    world = with_gpus(node("a"), node("b"))
    world.claims(claim("used", allocated=["gpu-0", "gpu-1"], on="a"), claim("c"))
    assert world.said(user("p", "c")) == {"a": CANNOT, "b": ""}


def test_the_next_pod_finds_taken_what_is_only_reserved() -> None:
    world = with_gpus(node("a"), count=1)
    world.claims(claim("c"), claim("d"))
    assert isinstance(world.decide(user("p", "c")), Placed)
    assert world.said(user("q", "d")) == {"a": CANNOT}


def test_a_claim_that_is_being_allocated_keeps_other_pods_waiting() -> None:
    world = with_gpus(node("a"))
    world.claims(claim("c"))
    world.decide(user("p", "c"))
    want = "resource claim default/c is in the process of being allocated"
    assert want in message(world, user("q", "c"))


def test_what_was_reserved_is_given_back() -> None:
    world = with_gpus(node("a"), count=1)
    world.claims(claim("c"))
    decision, _ = world.decided(user("p", "c"))
    assert isinstance(decision, Placed)
    assert held(world) == {"gpu-0"}
    for _ in range(2):  # it must bear repeating
        plugin = world.profile.plugins["DynamicResources"].plugin
        plugin.unreserve(decision.pod, "a", decision.state)
        assert held(world) == set()


@pytest.mark.parametrize(
    ("claims", "statuses", "want"),
    [
        ([], None, 'could not find ResourceClaim "default/c"'),
        ([claim("c", deletionTimestamp="2026-01-01T00:00:00Z")], None, '"c" is being deleted'),
        ([claim("c")], [], 'pod "default/p": ResourceClaim not created yet'),
        (
            [claim("c")],
            [{"name": "c", "resourceClaimName": "c"}],
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
        ),
    ],
)
def test_a_pod_whose_claims_are_not_there_is_not_even_queued(
    claims: list[Any], statuses: list[Any] | None, want: str
) -> None:
    world = with_gpus(node("a"))
    world.claims(*claims)
    world.set_pod(user("p", "c") if statuses is None else templated("p", "c", statuses))
    entry = world.core.queue.get("pod-p")
    assert entry is not None
    assert entry.gated
    assert want in entry.gating_message


def test_a_template_that_needs_no_claim_is_passed_over() -> None:
    world = with_gpus(node("a"))
    assert isinstance(world.decide(templated("p", "c", [{"name": "c"}])), Placed)


def test_a_class_that_is_not_there_is_named_with_the_request() -> None:
    world = with_gpus(node("a"))
    asked = first_of("r", exactly("x"), exactly("y", deviceClassName="none"))
    world.claims(claim("c", asked))
    assert "request r/y: device class none does not exist" in message(world, user("p", "c"))


def test_an_allocated_claim_ties_the_pod_to_its_nodes() -> None:
    world = with_gpus(node("a"), node("b"))
    world.claims(claim("c", allocated=["gpu-0"], on="a", users=["other"]))
    assert world.said(user("p", "c")) == {"a": "", "b": AWAY}


def test_devices_that_nobody_uses_are_given_up_for_a_pod_that_cannot_have_them() -> None:
    world = with_gpus(node("a"))
    world.claims(claim("c", allocated=["gpu-0"], on="gone"))
    assert "deallocation of ResourceClaim completed" in message(world, user("p", "c"))
    world.claims(claim("c", allocated=["gpu-0"], on="gone", users=["other"]))
    assert "still not schedulable" in message(world, user("p", "c"))


def test_a_taint_keeps_devices_from_those_who_do_not_tolerate_it() -> None:
    world = DeviceWorld(node("a"))
    world.classes(device_class())
    taints = [{"key": "flaky", "value": "yes", "effect": "NoSchedule"}]
    world.slices(resource_slice("s", device("d", taints=taints), node="a"))
    tolerant = exactly(tolerations=[{"key": "flaky", "operator": "Exists"}])
    world.claims(claim("c"), claim("t", tolerant))
    assert world.said(user("p", "c")) == {"a": CANNOT}
    assert world.said(user("q", "t")) == {"a": ""}


def test_an_administrator_has_devices_beside_others() -> None:
    world = with_gpus(node("a"), count=1)
    world.claims(claim("used", allocated=["gpu-0"], on="a"), claim("c", exactly(adminAccess=True)))
    assert isinstance(world.decide(user("p", "c")), Placed)
    two = claim("d", exactly(adminAccess=True, count=2))
    world.claims(two)
    assert world.said(user("q", "d")) == {"a": CANNOT}, "but each only once"


def test_alternatives_are_tried_in_order_and_the_first_is_worth_most() -> None:
    world = with_gpus(node("a"), node("b"))
    world.claims(claim("used", allocated=["gpu-0"], on="a"))
    world.claims(claim("c", first_of("r", exactly("two", count=2), exactly("one"))))
    _, detail = world.decided(user("p", "c"))
    assert detail.scores is not None
    assert {name: each["DynamicResources"] for name, each in detail.scores.items()} == {
        "a": 2 * (100 * 7 // 8),
        "b": 200,
    }


def test_all_devices_are_had_or_none() -> None:
    world = with_gpus(node("a"), node("b"))
    world.claims(claim("used", allocated=["gpu-0"], on="a"))
    world.claims(claim("c", exactly(allocationMode="All", count=0)))
    assert world.said(user("p", "c")) == {"a": CANNOT, "b": ""}


@pytest.mark.parametrize(
    ("slices", "want"),
    [
        ([resource_slice("s", device("d"), node="a", count=2)], "currently being updated"),
        (
            [
                resource_slice("s", device("d"), node="a", count=2),
                resource_slice("t", device("d"), node="a", count=2),
            ],
            "currently invalid",
        ),
    ],
)
def test_all_of_a_pool_that_is_not_whole_is_an_error(slices: list[Any], want: str) -> None:
    world = DeviceWorld(node("a"))
    world.classes(device_class())
    world.slices(*slices)
    world.claims(claim("c", exactly(allocationMode="All", count=0)))
    said = message(world, user("p", "c"))
    assert said.startswith('running "DynamicResources" filter plugin: claim default/c, request r:')
    assert said.endswith(f"asks for all devices, but resource pool {DRIVER}/a is {want}")


def test_an_expression_that_fails_ends_the_attempt_and_is_quoted() -> None:
    world = with_gpus(node("a"))
    world.claims(claim("c", exactly(selector=f'device.attributes["{DRIVER}"].nope')))
    assert message(world, user("p", "c")) == (
        'running "DynamicResources" filter plugin: claim default/c: selector #0:'
        " CEL runtime error: no such key: nope"
    )


def test_devices_are_chosen_by_expression() -> None:
    world = with_gpus(node("a"))
    world.claims(claim("c", exactly(selector=f'device.attributes["{DRIVER}"].index == 1')))
    world.decide(user("p", "c"))
    assert held(world) == {"gpu-1"}


def test_devices_in_parts_share_their_counters() -> None:
    world = DeviceWorld(node("a"))
    world.classes(device_class())
    counters = [{"name": "shared", "counters": {"memory": {"value": "80Gi"}}}]
    shared = resource_slice("counters", node="a", count=2, sharedCounters=counters)
    parts = [device(f"part-{at}", consumesCounters=consuming(memory="30Gi")) for at in range(3)]
    world.slices(shared, resource_slice("parts", *parts, node="a", count=2))
    world.claims(claim("two", exactly(count=2)), claim("three", exactly(count=3)))
    assert world.said(user("p", "three")) == {"a": CANNOT}
    assert isinstance(world.decide(user("q", "two")), Placed)
    world.claims(claim("one"))
    assert world.said(user("r", "one")) == {"a": CANNOT}, "20Gi are left"


def test_shares_are_taken_until_the_capacity_is_used_up() -> None:
    world = DeviceWorld(node("a"))
    world.classes(device_class())
    link = device("link", capacity={"bandwidth": "10G"}, allowMultipleAllocations=True)
    world.slices(resource_slice("s", link, node="a"))
    wanted = {"requests": {"bandwidth": "4G"}}
    for name in ("c0", "c1", "c2"):
        world.claims(claim(name, exactly(capacity=wanted)))
    assert isinstance(world.decide(user("p0", "c0")), Placed)
    assert isinstance(world.decide(user("p1", "c1")), Placed)
    assert world.said(user("p2", "c2")) == {"a": CANNOT}


def test_constraints_hold_for_the_devices_of_a_claim() -> None:
    world = with_gpus(node("a"), count=3)
    match = [{"requests": ["r"], "matchAttribute": f"{DRIVER}/index"}]
    world.claims(claim("c", exactly(count=2), constraints=match))
    assert world.said(user("p", "c")) == {"a": CANNOT}


def test_distinct_values_are_remembered_by_request_only() -> None:
    """Trap 80: one request for three devices may get a value twice, as in kube-scheduler."""
    world = DeviceWorld(node("a"))
    world.classes(device_class())
    zones = [device(f"d{at}", attributes={"zone": zone}) for at, zone in enumerate("xyx")]
    world.slices(resource_slice("s", *zones, node="a"))
    distinct = [{"requests": [], "distinctAttribute": f"{DRIVER}/zone"}]
    world.claims(claim("c", exactly(count=3), constraints=distinct))
    assert world.said(user("p", "c")) == {"a": ""}
    world.claims(claim("d", exactly("r"), exactly("s"), exactly("t"), constraints=distinct))
    assert world.said(user("q", "d")) == {"a": CANNOT}


def test_a_refusal_for_want_of_devices_is_beyond_remedy() -> None:
    """Trap 78: no pod is evicted to free devices."""
    world = with_gpus(node("a"), count=0)
    world.claims(claim("c"))
    detail = world.look(user("p", "c"))
    assert detail.filter is not None
    refusal = detail.filter["a"]
    assert refusal is not None
    assert refusal.status.code.title == "UnschedulableAndUnresolvable"


def test_a_search_that_takes_too_long_ends_the_attempt() -> None:
    """Trap 79: it is an error, and no refusal."""
    world = with_gpus(node("a"), count=30)
    odd = f'device.attributes["{DRIVER}"].index % 2 == 0'
    match = [{"requests": [], "matchAttribute": f"{DRIVER}/index"}]
    requests = [exactly(f"r{at}", selector=odd, count=3) for at in range(4)]
    distinct = [{"requests": [], "distinctAttribute": f"{DRIVER}/index"}]
    world.claims(claim("c", *requests, exactly("last", count=2), constraints=[*distinct, *match]))
    plugin = world.profile.plugins["DynamicResources"].plugin
    plugin.tools.steps = 10
    assert message(world, user("p", "c")) == (
        'running "DynamicResources" filter plugin: node a: timed out trying to allocate devices'
    )


def test_more_devices_than_a_claim_may_have_is_an_error() -> None:
    world = with_gpus(node("a"))
    world.claims(claim("c", exactly("r", count=20), exactly("s", count=20)))
    assert message(world, user("p", "c")).endswith(
        "claim default/c: number of requested devices 40 exceeds the claim limit of 32"
    )


def test_an_extended_resource_is_had_as_devices_where_the_node_has_none() -> None:
    """Trap 82: what the node gives itself is never taken from devices."""
    world = with_gpus(node("a"), node("b", allocatable={"example.com/gpu": "1"}), node("c"))
    world.remove("ResourceSlice", "c-gpus")
    world.classes(device_class("gpu", extendedResourceName="example.com/gpu"))
    wanting = pod("p", requests={"example.com/gpu": "2"})
    assert world.said(wanting) == {"a": "", "b": "Insufficient example.com/gpu", "c": CANNOT}
    assert isinstance(world.decide(wanting), Placed)
    assert held(world) == {"gpu-0", "gpu-1"}


def test_the_implicit_resource_of_a_class_needs_no_name() -> None:
    world = with_gpus(node("a"))
    wanting = pod("p", requests={"deviceclass.resource.kubernetes.io/gpu": "1"})
    assert world.said(wanting) == {"a": ""}


def test_the_newest_class_stands_for_a_resource_then_the_first_by_name() -> None:
    """Trap 81."""
    world = with_gpus(node("a"))
    classes = world.cluster.nodes.devices.classes

    def backing() -> str:
        found = classes.backing("example.com/gpu")
        return "" if found is None else found.metadata.name

    def named(name: str, created: str) -> None:
        made = device_class(name, extendedResourceName="example.com/gpu")
        made["metadata"]["creationTimestamp"] = created
        world.classes(made)

    named("m", "2026-01-01T00:00:00Z")
    named("z", "2026-01-01T00:00:00Z")
    assert backing() == "m"
    named("b", "2026-01-01T00:00:00Z")
    assert backing() == "b"
    named("old", "2025-01-01T00:00:00Z")
    assert backing() == "b"
    named("y", "2026-02-01T00:00:00Z")
    assert backing() == "y"


def test_a_claim_left_over_for_extended_resources_is_deleted_first() -> None:
    world = with_gpus(node("a"))
    world.classes(device_class("gpu", extendedResourceName="example.com/gpu"))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "pod-p", "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    world.claims(claim("left", ownerReferences=[owner], annotations=annotations))
    wanting = pod("p", requests={"example.com/gpu": "1"})
    assert world.said(wanting) == {"a": "cannot schedule extended resource claim"}
    assert "deletion of ResourceClaim completed" in message(world, wanting)


def test_init_containers_use_the_devices_of_the_containers_after_them() -> None:
    world = with_gpus(node("a"), count=3)
    world.classes(device_class("gpu", extendedResourceName="example.com/gpu"))

    def container(name: str, count: int, **more: Any) -> Any:
        wanted = {"example.com/gpu": str(count)}
        return {"name": name, "resources": {"requests": wanted}, **more}

    spec = {
        "initContainers": [container("first", 3), container("second", 2)],
        "containers": [container("main", 1)],
    }
    assert world.said(pod("p", spec=spec)) == {"a": ""}
    world.decide(pod("p", spec=spec))
    assert len(held(world)) == 3


def test_a_failed_condition_makes_a_claim_unavailable() -> None:
    world = with_gpus(node("a"))
    bound = claim("c", allocated=["gpu-0"], on="a", users=["pod-p"])
    result = bound["status"]["allocation"]["devices"]["results"][0]
    result |= {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
    world.claims(bound)
    assert world.said(user("p", "c")) == {"a": ""}, "it is awaited"
    status = {"type": "Failed", "status": "True", "reason": "Broken"}
    place = {"driver": DRIVER, "pool": "a", "device": "gpu-0"}
    bound["status"]["devices"] = [{**place, "conditions": [status]}]
    world.claims(bound)
    assert world.said(user("p", "c")) == {"a": AWAY}
    assert "deallocation of ResourceClaim completed" in message(world, user("p", "c"))


def test_a_pod_without_claims_is_none_of_its_business() -> None:
    world = with_gpus(node("a"), node("b"))
    _, detail = world.decided(pod("p"))
    assert detail.scores is not None
    assert detail.scores["a"]["DynamicResources"] == 0


@pytest.mark.parametrize(("strict", "want"), [(False, CANNOT), (True, "")])
def test_counters_are_those_of_a_driver_unless_held_to_the_letter(strict: bool, want: str) -> None:
    world = DeviceWorld(node("a"))
    world.classes(device_class())
    for driver, memory in (("first.example.com", "9"), ("second.example.com", "1")):
        counters = [{"name": driver[:5], "counters": {"memory": {"value": memory}}}]
        consumed = [{"counterSet": driver[:5], "counters": {"memory": {"value": "1"}}}]
        parts = [device(f"d{at}", consumesCounters=consumed) for at in range(2)]
        shared: dict[str, Any] = {"node": "a", "count": 2, "driver": driver}
        world.slices(
            resource_slice(f"{driver}-c", sharedCounters=counters, **shared),
            resource_slice(f"{driver}-d", *parts, **shared),
        )
    world.profile.plugins["DynamicResources"].plugin.tools.strict = strict
    world.claims(claim("c", exactly(count=4)))
    assert world.said(user("p", "c")) == {"a": want}
