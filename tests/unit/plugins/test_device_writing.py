"""What DynamicResources writes: allocations, reservations, claims of its own, and back again."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.cycle.decision import Placed
from fairlead.framework.stages import Io
from fairlead.framework.status import Status
from tests.builders import node, pod
from tests.devices import (
    DRIVER,
    DeviceWorld,
    claim,
    decoded,
    device,
    device_class,
    exactly,
    first_of,
    resource_slice,
    user,
    with_gpus,
)

Json = dict[str, Any]
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
FINALIZER = "resource.kubernetes.io/delete-protection"


class Refused(Exception):  # noqa: N818 - as an API server refuses
    def __init__(self, status: int) -> None:
        super().__init__(f"refused with {status}")
        self.status = status


class Api:
    """A server of claims, by path; it tells the world of what is written, as a watch would."""

    def __init__(self, world: DeviceWorld, *claims: Json) -> None:
        self.world = world
        self.objects = {f"{CLAIMS}/{c['metadata']['name']}": copy.deepcopy(c) for c in claims}
        self.requests: list[tuple[str, str]] = []
        self.patches: dict[str, Any] = {}
        self.refusals: list[int] = []
        self.slept = 0.0
        self.during_sleep: Any = None

    async def request(self, method: str, path: str, body: Any = None) -> object:
        self.requests.append((method, path.removeprefix(CLAIMS)))
        if self.refusals and method == "PUT":
            raise Refused(self.refusals.pop(0))
        if method == "PATCH":
            self.patches[path.removeprefix(CLAIMS)] = body
            return {}
        path = path.removesuffix("/status")
        if method == "POST":
            body = copy.deepcopy(body)
            body["metadata"] |= {"name": "made-1", "uid": "uid-made", "resourceVersion": "1000"}
            path = f"{CLAIMS}/made-1"
        if path not in self.objects and method != "POST":
            raise Refused(404)
        if method == "DELETE":
            return self.objects.pop(path)
        if body is not None:
            version = str(int(body["metadata"]["resourceVersion"]) + 1000)
            self.objects[path] = copy.deepcopy(body)
            self.objects[path]["metadata"]["resourceVersion"] = version
        return copy.deepcopy(self.objects[path])

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        if self.during_sleep is not None:
            self.during_sleep()

    def now(self) -> float:
        return self.slept


def the_io(api: Api) -> Io:
    return api


async def placed_and_written(world: DeviceWorld, api: Api, each: Any) -> tuple[Placed, Any]:
    decision = world.decide(each)
    assert isinstance(decision, Placed), decision
    plugin = world.profile.plugins["DynamicResources"].plugin
    node_name, state = decision.node_name, decision.state
    return decision, await plugin.pre_bind(decision.pod, node_name, state, the_io(api))


def taken(world: DeviceWorld) -> set[str]:
    return {name for _, _, name in world.cluster.nodes.devices.allocations.devices}


async def test_the_allocation_and_the_user_are_written_and_the_claim_protected() -> None:
    world = with_gpus(node("a"))
    wire = claim("c", exactly(count=2))
    world.claims(wire)
    api = Api(world, wire)
    _, refusal = await placed_and_written(world, api, user("p", "c"))
    assert refusal is None
    assert api.requests == [("GET", "/c"), ("PUT", "/c"), ("PUT", "/c/status")]
    written = api.objects[f"{CLAIMS}/c"]
    assert written["metadata"]["finalizers"] == [FINALIZER]
    assert written["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "pod-p"}]
    allocation = written["status"]["allocation"]
    assert allocation["devices"]["results"] == [
        {"request": "r", "driver": DRIVER, "pool": "a", "device": name}
        for name in ("gpu-0", "gpu-1")
    ]
    here = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    assert allocation["nodeSelector"] == {"nodeSelectorTerms": [{"matchFields": [here]}]}
    assert allocation["allocationTimestamp"] == "1970-01-01T00:00:00Z"
    assert taken(world) == {"gpu-0", "gpu-1"}
    assert not world.cluster.nodes.devices.claims.in_flight("claim-c")


async def test_an_allocated_claim_only_gets_another_user() -> None:
    world = with_gpus(node("a"))
    wire = claim("c", allocated=["gpu-0"], on="a", users=["other"])
    world.claims(wire)
    api = Api(world, wire)
    _, refusal = await placed_and_written(world, api, user("p", "c"))
    assert refusal is None
    assert api.requests == [("GET", "/c"), ("PUT", "/c/status")]
    users = api.objects[f"{CLAIMS}/c"]["status"]["reservedFor"]
    assert [each["name"] for each in users] == ["other", "p"]


async def test_a_conflict_is_tried_again_with_what_is_there_then() -> None:
    world = with_gpus(node("a"))
    wire = claim("c")
    world.claims(wire)
    api = Api(world, wire)
    api.refusals = [409, 409]
    _, refusal = await placed_and_written(world, api, user("p", "c"))
    assert refusal is None
    assert api.requests.count(("GET", "/c")) == 3


@pytest.mark.parametrize(
    ("status", "metadata", "want"),
    [
        ({"allocation": {"devices": {}}}, {}, "got allocated elsewhere in the meantime"),
        ({}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "got deleted in the meantime"),
        ({}, {"uid": "another"}, "got deleted in the meantime"),
    ],
)
async def test_a_claim_that_has_changed_is_left_alone(
    status: Json, metadata: Json, want: str
) -> None:
    world = with_gpus(node("a"))
    wire = claim("c")
    world.claims(wire)
    api = Api(world, {**wire, "status": status, "metadata": {**wire["metadata"], **metadata}})
    _, refusal = await placed_and_written(world, api, user("p", "c"))
    assert isinstance(refusal, Status)
    assert refusal.message == f"claim default/c {want}"
    assert api.requests == [("GET", "/c")]
    assert taken(world) == set()


async def test_a_refusal_is_quoted_and_the_devices_are_free_again() -> None:
    world = with_gpus(node("a"))
    wire = claim("c")
    world.claims(wire)
    api = Api(world, wire)
    api.refusals = [403]
    decision, refusal = await placed_and_written(world, api, user("p", "c"))
    want = "add allocation and reservation to claim default/c: refused with 403"
    assert refusal.message == want
    assert taken(world) == set()
    world.profile.plugins["DynamicResources"].plugin.unreserve(decision.pod, "a", decision.state)
    assert world.core.errands.waiting == [], "nothing was written that must be undone"


async def test_what_was_written_is_undone_when_the_pod_is_not_bound() -> None:
    world = with_gpus(node("a"))
    wire = claim("c")
    world.claims(wire)
    api = Api(world, wire)
    decision, _ = await placed_and_written(world, api, user("p", "c"))
    world.profile.plugins["DynamicResources"].plugin.unreserve(decision.pod, "a", decision.state)
    (errand,) = world.core.errands.waiting
    await errand(the_io(api))
    assert api.patches == {
        "/c/status": {
            "metadata": {"uid": "claim-c"},
            "status": {"reservedFor": [{"$patch": "delete", "uid": "pod-p"}]},
        }
    }


async def test_devices_are_given_up_only_while_nobody_else_uses_them() -> None:
    world = with_gpus(node("a"))
    wire = claim("c", allocated=["gpu-0"], on="gone", users=["pod-p"])
    world.claims(wire)
    world.decide(user("p", "c"))
    (errand,) = world.core.errands.waiting
    joined = copy.deepcopy(wire)
    joined["status"]["reservedFor"].append({"resource": "pods", "name": "q", "uid": "q"})
    busy = Api(world, joined)
    await errand(the_io(busy))
    assert busy.requests == [("GET", "/c")]
    alone = Api(world, wire)
    await errand(the_io(alone))
    assert alone.objects[f"{CLAIMS}/c"]["status"] == {}


async def test_a_claim_is_made_for_extended_resources_and_the_pod_told() -> None:
    world = with_gpus(node("a"))
    world.classes(device_class("gpu", extendedResourceName="example.com/gpu"))
    api = Api(world)

    def told() -> None:
        world.claims(api.objects[f"{CLAIMS}/made-1"])

    api.during_sleep = told
    wanting = pod("p", requests={"example.com/gpu": "2"})
    decision, refusal = await placed_and_written(world, api, wanting)
    assert refusal is None
    made = api.objects[f"{CLAIMS}/made-1"]
    assert made["metadata"]["generateName"] == "p-extended-resources-"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "pod-p"
    (asked,) = made["spec"]["devices"]["requests"]
    assert asked["name"] == "container-0-request-0"
    assert asked["exactly"]["count"] == 2
    assert len(made["status"]["allocation"]["devices"]["results"]) == 2
    (said,) = [body for path, body in api.patches.items() if "/pods/p" in path]
    status = said["status"]["extendedResourceClaimStatus"]
    assert status["resourceClaimName"] == "made-1"
    assert status["requestMappings"] == [
        {
            "containerName": "c0",
            "resourceName": "example.com/gpu",
            "requestName": "container-0-request-0",
        }
    ]
    assert taken(world) == {"gpu-0", "gpu-1"}
    world.profile.plugins["DynamicResources"].plugin.unreserve(decision.pod, "a", decision.state)
    (errand,) = world.core.errands.waiting
    await errand(the_io(api))
    assert api.objects == {}


async def test_the_pod_waits_until_its_devices_are_ready() -> None:
    world = DeviceWorld(node("a"))
    world.classes(device_class())
    slow = device("x", bindingConditions=["Ready"], bindingFailureConditions=["Failed"])
    world.slices(resource_slice("s", slow, node="a"))
    wire = claim("c")
    world.claims(wire)
    api = Api(world, wire)

    def becomes(condition: str) -> Any:
        def happen() -> None:
            current = copy.deepcopy(api.objects[f"{CLAIMS}/c"])
            place = {"driver": DRIVER, "pool": "a", "device": "x"}
            told = {"type": condition, "status": "True", "reason": "R", "message": "M"}
            current["status"]["devices"] = [{**place, "conditions": [told]}]
            version = int(current["metadata"]["resourceVersion"]) + 1
            current["metadata"]["resourceVersion"] = str(version)
            world.claims(current)

        return happen

    api.during_sleep = becomes("Ready")
    _, refusal = await placed_and_written(world, api, user("p", "c"))
    assert refusal is None
    assert api.slept == 5.0
    api.during_sleep = becomes("Failed")
    world.cluster.forget("pod-p")
    await_again = world.profile.plugins["DynamicResources"].plugin
    decision = world.decide(user("p", "c"))
    assert isinstance(decision, Placed)
    api.during_sleep()
    again = await await_again.pre_bind(decision.pod, "a", decision.state, the_io(api))
    assert again.message == 'device binding failed: claim=c, reason=R, message="M"'


async def test_configuration_is_handed_on_with_the_requests_that_it_is_for() -> None:
    world = with_gpus(node("a"))
    opaque = {"opaque": {"driver": DRIVER, "parameters": {"mode": "fast"}}}
    world.classes(device_class("gpu", config=[opaque]))
    wire = claim("c", first_of("r", exactly("two", count=9), exactly("one")), exactly("s"))
    own = {"requests": ["r/one"], **opaque}
    other = {"requests": ["r/two"], **opaque}
    wire["spec"]["devices"]["config"] = [own, other, opaque]
    world.claims(wire)
    api = Api(world, wire)
    await placed_and_written(world, api, user("p", "c"))
    config = api.objects[f"{CLAIMS}/c"]["status"]["allocation"]["devices"]["config"]
    assert [(each["source"], each.get("requests")) for each in config] == [
        ("FromClass", ["r/one", "s"]),
        ("FromClaim", ["r/one"]),
        ("FromClaim", None),
    ]


async def test_a_share_has_an_id_and_says_what_it_takes() -> None:
    world = DeviceWorld(node("a"))
    world.classes(device_class())
    policy = {"value": "10", "requestPolicy": {"default": "1", "validRange": {"min": "1"}}}
    link = device("link", capacity={"bandwidth": policy}, allowMultipleAllocations=True)
    world.slices(resource_slice("s", link, allNodes=True, pool="links"))
    wanted = {"requests": {"bandwidth": "2500m"}}
    wire = claim("c", exactly(capacity=wanted), exactly("t"))
    world.claims(wire)
    api = Api(world, wire)
    await placed_and_written(world, api, user("p", "c"))
    allocation = api.objects[f"{CLAIMS}/c"]["status"]["allocation"]
    first, second = allocation["devices"]["results"]
    assert first["consumedCapacity"] == {"bandwidth": "2500m"}
    assert second["consumedCapacity"] == {"bandwidth": "1"}
    assert first["shareID"] != second["shareID"]
    assert "nodeSelector" not in allocation
    assert decoded("ResourceClaim", api.objects[f"{CLAIMS}/c"]).status.allocation is not None
