"""What the client relies on when it reads and writes objects, asked of both API servers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.kube import errors
from fairlead.kube.client import Client
from fairlead.kube.kubeconfig import load_kubeconfig
from fairlead.kube.resource import (
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    Resource,
)
from tests.contract.api import Api, pod_body
from tests.control_plane.plane import ControlPlane


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def conditions(pod: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["type"]: entry for entry in pod["status"].get("conditions", ())}


async def test_an_object_is_created_read_updated_and_deleted(api: Api) -> None:
    client, ns = api.client, api.namespace
    made = await client.create(CONFIG_MAPS, config_map("a", one="1"), ns)
    assert made["metadata"]["uid"]
    assert made["metadata"]["namespace"] == ns
    assert made["metadata"]["creationTimestamp"]
    read = await client.get(CONFIG_MAPS, "a", ns)
    assert read == made
    read["data"] = {"two": "2"}
    updated = await client.update(CONFIG_MAPS, "a", read, ns)
    assert updated["data"] == {"two": "2"}
    assert updated["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    await client.delete(CONFIG_MAPS, "a", ns)
    with pytest.raises(errors.NotFound) as caught:
        await client.get(CONFIG_MAPS, "a", ns)
    assert caught.value.status == 404
    assert caught.value.reason == "NotFound"
    assert caught.value.message == 'configmaps "a" not found'
    assert caught.value.details["name"] == "a"
    assert caught.value.details["kind"] == "configmaps"


async def test_a_generated_name_is_made_by_the_server(api: Api) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "many-"}}
    first = await api.client.create(CONFIG_MAPS, body, api.namespace)
    second = await api.client.create(CONFIG_MAPS, body, api.namespace)
    names = {first["metadata"]["name"], second["metadata"]["name"]}
    assert len(names) == 2
    assert all(name.startswith("many-") and len(name) == 10 for name in names)


async def test_a_stale_version_is_a_conflict(api: Api) -> None:
    client, ns = api.client, api.namespace
    old = await client.create(CONFIG_MAPS, config_map("a"), ns)
    await client.update(CONFIG_MAPS, "a", {**old, "data": {"x": "1"}}, ns)
    with pytest.raises(errors.Conflict) as caught:
        await client.update(CONFIG_MAPS, "a", {**old, "data": {"x": "2"}}, ns)
    assert caught.value.reason == "Conflict"
    assert "the object has been modified" in caught.value.message


async def test_a_taken_name_already_exists(api: Api) -> None:
    await api.client.create(CONFIG_MAPS, config_map("a"), api.namespace)
    with pytest.raises(errors.AlreadyExists) as caught:
        await api.client.create(CONFIG_MAPS, config_map("a"), api.namespace)
    assert caught.value.message == 'configmaps "a" already exists'


async def test_a_list_is_whole_in_pages_and_of_one_version(api: Api) -> None:
    for number in range(5):
        await api.client.create(CONFIG_MAPS, config_map(f"m-{number}"), api.namespace)
    pages = [
        msgspec.json.decode(page)
        async for page in api.client.pages(CONFIG_MAPS, api.namespace, params={"limit": 2})
    ]
    mine = [[item["metadata"]["name"] for item in page["items"]] for page in pages]
    assert [len(page) for page in mine[:-1]] == [2] * (len(mine) - 1)
    names = [name for page in mine for name in page if name.startswith("m-")]
    assert names == [f"m-{number}" for number in range(5)]
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1
    assert pages[0]["metadata"]["continue"]
    assert "continue" not in pages[-1]["metadata"]
    whole = await api.client.list(CONFIG_MAPS, api.namespace, limit=2)
    assert whole["kind"] == "ConfigMapList"
    assert [m["metadata"]["name"] for m in whole["items"] if "m-" in m["metadata"]["name"]] == names
    assert "continue" not in whole["metadata"]


async def test_selectors_choose(api: Api) -> None:
    client, ns = api.client, api.namespace
    node = await api.node()
    await api.pod("bound", labels={"app": "a"}, spec={"nodeName": node})
    await api.pod("waiting", labels={"app": "b"})

    async def names(**selectors: str) -> set[str]:
        found = await client.list(PODS, ns, **selectors)
        return {pod["metadata"]["name"] for pod in found["items"]}

    assert await names() == {"bound", "waiting"}
    assert await names(field_selector="spec.nodeName=") == {"waiting"}
    assert await names(field_selector=f"spec.nodeName={node}") == {"bound"}
    assert await names(field_selector="spec.nodeName!=") == {"bound"}
    assert await names(field_selector="metadata.name=waiting") == {"waiting"}
    assert await names(field_selector="spec.schedulerName=contract,spec.nodeName=") == {"waiting"}
    terminal = "status.phase!=Succeeded,status.phase!=Failed"
    assert await names(field_selector=terminal) == {"bound", "waiting"}
    assert await names(label_selector="app=a") == {"bound"}
    assert await names(label_selector="app in (a, b), app != a") == {"waiting"}
    assert await names(label_selector="!app") == set()
    with pytest.raises(errors.BadRequest):
        await names(field_selector="spec.no.such=1")


async def test_patches_change_what_their_kind_says(api: Api) -> None:
    client, ns = api.client, api.namespace
    await client.create(CONFIG_MAPS, config_map("a", one="1", two="2"), ns)

    merged = await client.patch(
        CONFIG_MAPS, "a", {"data": {"one": None, "three": "3"}}, ns, kind="merge"
    )
    assert merged["data"] == {"two": "2", "three": "3"}

    steps = [
        {"op": "test", "path": "/data/two", "value": "2"},
        {"op": "replace", "path": "/data/two", "value": "20"},
        {"op": "remove", "path": "/data/three"},
    ]
    stepped = await client.patch(CONFIG_MAPS, "a", steps, ns, kind="json")
    assert stepped["data"] == {"two": "20"}
    with pytest.raises(errors.Invalid):
        await client.patch(CONFIG_MAPS, "a", steps, ns, kind="json")

    pod = await api.pod()
    name = pod["metadata"]["name"]
    labelled = await client.patch(PODS, name, {"metadata": {"labels": {"x": "y"}}}, ns)
    assert labelled["metadata"]["labels"] == {"x": "y"}
    assert labelled["spec"] == pod["spec"]


async def test_a_status_patch_merges_conditions_by_type(api: Api) -> None:
    pod = await api.pod()
    name = pod["metadata"]["name"]

    async def patch(**condition: Any) -> dict[str, Any]:
        body = {"status": {"conditions": [condition]}}
        return await api.client.patch(PODS, name, body, api.namespace, subresource="status")

    await patch(type="Other", status="True")
    patched = await patch(
        type="PodScheduled", status="False", reason="Unschedulable", message="0/1 nodes"
    )
    assert set(conditions(patched)) == {"Other", "PodScheduled"}
    again = await patch(type="PodScheduled", status="False", reason="SchedulerError", message=None)
    assert conditions(again)["PodScheduled"]["reason"] == "SchedulerError"
    assert "message" not in conditions(again)["PodScheduled"]
    assert again["metadata"].get("generation") == pod["metadata"].get("generation")


async def test_a_status_patch_nominates_a_node_and_leaves_the_spec_alone(api: Api) -> None:
    pod = await api.pod()
    name = pod["metadata"]["name"]
    body = {"spec": {"nodeName": "nowhere"}, "status": {"nominatedNodeName": "somewhere"}}
    patched = await api.client.patch(PODS, name, body, api.namespace, subresource="status")
    assert patched["status"]["nominatedNodeName"] == "somewhere"
    assert "nodeName" not in patched["spec"]


async def test_a_bind_puts_the_pod_on_the_node_once(api: Api) -> None:
    node, other = await api.node(), await api.node()
    pod = await api.pod()
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]

    with pytest.raises(errors.Conflict) as caught:
        await api.client.bind(api.namespace, name, node, uid="00000000-0000-0000-0000-000000000000")
    assert "uid" in caught.value.message.lower()

    status = await api.client.bind(api.namespace, name, node, uid)
    assert status["kind"] == "Status"
    assert status["status"] == "Success"
    bound = await api.get(PODS, name)
    assert bound["spec"]["nodeName"] == node
    scheduled = conditions(bound)["PodScheduled"]
    assert scheduled["status"] == "True"
    assert scheduled["lastTransitionTime"]
    assert bound["status"]["phase"] == "Pending"

    with pytest.raises(errors.Conflict) as caught:
        await api.client.bind(api.namespace, name, other, uid)
    assert f"pod {name} is already assigned to node" in caught.value.message
    with pytest.raises(errors.NotFound):
        await api.client.bind(api.namespace, "nobody", node)


async def test_a_pod_with_a_gate_cannot_be_bound(api: Api) -> None:
    node = await api.node()
    pod = await api.pod(spec={"schedulingGates": [{"name": "example.com/wait"}]})
    with pytest.raises(errors.Conflict):
        await api.client.bind(api.namespace, pod["metadata"]["name"], node)


async def test_an_eviction_deletes_unless_a_budget_forbids_it(api: Api) -> None:
    client, ns = api.client, api.namespace
    node = await api.node()
    free = (await api.pod(spec={"nodeName": node}))["metadata"]
    await client.evict(ns, free["name"], uid=free["uid"], grace_period_seconds=0)
    with pytest.raises(errors.NotFound):
        await client.get(PODS, free["name"], ns)
    with pytest.raises(errors.NotFound):
        await client.evict(ns, free["name"])

    kept = (await api.pod(labels={"app": "kept"}, spec={"nodeName": node}))["metadata"]["name"]
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await client.patch(PODS, kept, {"status": ready}, ns, subresource="status")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
    }
    await client.create(POD_DISRUPTION_BUDGETS, budget, ns)
    counts = {
        "observedGeneration": 1,
        "disruptionsAllowed": 0,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
    }
    await client.patch(
        POD_DISRUPTION_BUDGETS, "all", {"status": counts}, ns, kind="merge", subresource="status"
    )
    with pytest.raises(errors.TooManyRequests) as caught:
        await client.evict(ns, kept)
    assert "disruption budget" in caught.value.message
    assert caught.value.retry_after is None
    assert await client.get(PODS, kept, ns)


async def test_a_delete_heeds_uid_and_grace(api: Api) -> None:
    client, ns = api.client, api.namespace
    node = await api.node()
    pod = (await api.pod(spec={"nodeName": node, "terminationGracePeriodSeconds": 30}))["metadata"]
    with pytest.raises(errors.Conflict):
        await client.delete(PODS, pod["name"], ns, uid="00000000-0000-0000-0000-000000000000")
    await client.delete(PODS, pod["name"], ns, uid=pod["uid"])
    leaving = await client.get(PODS, pod["name"], ns)
    assert leaving["metadata"]["deletionTimestamp"]
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30
    await client.delete(PODS, pod["name"], ns, grace_period_seconds=0)
    with pytest.raises(errors.NotFound):
        await client.get(PODS, pod["name"], ns)


async def test_a_finalizer_keeps_a_deleted_object(api: Api) -> None:
    client, ns = api.client, api.namespace
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/keep"]
    await client.create(CONFIG_MAPS, body, ns)
    await client.delete(CONFIG_MAPS, "a", ns)
    assert (await client.get(CONFIG_MAPS, "a", ns))["metadata"]["deletionTimestamp"]
    await client.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, ns, kind="merge")
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAPS, "a", ns)


async def test_a_lease_changes_hands_by_version(api: Api) -> None:
    client, ns = api.client, api.namespace
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "leader"},
        "spec": {
            "holderIdentity": "one",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-11-18T10:00:00.000000Z",
            "renewTime": "2026-11-18T10:00:00.123456Z",
            "leaseTransitions": 0,
        },
    }
    lease = await client.create(LEASES, body, ns)
    assert lease["spec"] == body["spec"]
    mine = {**lease, "spec": {**lease["spec"], "renewTime": "2026-11-18T10:00:02.000001Z"}}
    renewed = await client.update(LEASES, "leader", mine, ns)
    assert renewed["spec"]["renewTime"] == "2026-11-18T10:00:02.000001Z"
    theirs = {**lease, "spec": {**lease["spec"], "holderIdentity": "two"}}
    with pytest.raises(errors.Conflict):
        await client.update(LEASES, "leader", theirs, ns)


async def test_nodes_are_no_ones_namespace_and_have_a_status_of_their_own(api: Api) -> None:
    name = await api.node()
    node = await api.client.get(NODES, name)
    assert "namespace" not in node["metadata"]
    assert node["status"]["allocatable"]["cpu"] == "4"
    changed = await api.client.patch(
        NODES, name, {"spec": {"unschedulable": True}, "status": {"allocatable": {"cpu": "8"}}}
    )
    assert changed["spec"]["unschedulable"] is True
    assert changed["status"]["allocatable"]["cpu"] == "4"


async def test_an_invalid_object_is_refused_with_its_fields(api: Api) -> None:
    with pytest.raises(errors.Invalid) as caught:
        await api.client.create(PODS, pod_body("p", spec={"containers": []}), api.namespace)
    assert caught.value.reason == "Invalid"
    assert caught.value.message.startswith('Pod "p" is invalid: spec.containers: Required value')
    causes = caught.value.details["causes"]
    assert "spec.containers" in {cause["field"] for cause in causes}
    with pytest.raises(errors.Invalid):
        await api.client.create(CONFIG_MAPS, config_map("Not_A_Name"), api.namespace)


async def test_what_is_no_json_and_what_is_no_resource(api: Api) -> None:
    path = CONFIG_MAPS.path(api.namespace)
    with pytest.raises(errors.BadRequest):
        await api.client.raw("POST", path, body=b"{not json")
    nothing = Resource("example.com", "v1", "nothings", True, "Nothing")
    with pytest.raises(errors.NotFound):
        await api.client.list(nothing, api.namespace)
    await api.client.create(CONFIG_MAPS, config_map("a"), api.namespace)
    with pytest.raises(errors.ApiError) as caught:
        await api.client.raw("PATCH", path + "/a", body=b"{}", content_type="text/plain")
    assert caught.value.status == 415


@pytest.mark.e2e
async def test_a_wrong_token_is_unauthorized(real_plane: ControlPlane) -> None:
    """Of the real server alone: the embedded one listens on this machine and asks nobody."""
    access = load_kubeconfig(str(real_plane.kubeconfig))
    stranger = msgspec.structs.replace(access, token="wrong")
    async with Client(stranger) as client:
        with pytest.raises(errors.Unauthorized) as caught:
            await client.list(PODS)
    assert caught.value.status == 401


async def test_the_version_is_told(api: Api) -> None:
    version = await api.client.json("GET", "/version")
    assert version["major"] == "1"
    assert version["gitVersion"].startswith("v1.")


async def test_both_groups_show_one_event(api: Api) -> None:
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "pod.1234", "namespace": api.namespace},
        "eventTime": "2026-11-18T10:00:00.123456Z",
        "reportingController": "contract",
        "reportingInstance": "contract-1",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "Successfully assigned",
        "regarding": {"kind": "Pod", "namespace": api.namespace, "name": "pod", "uid": "u"},
    }
    await api.client.create(EVENTS, body, api.namespace)
    core = Resource("", "v1", "events", True, "Event")
    seen = await api.client.get(core, "pod.1234", api.namespace)
    assert seen["message"] == "Successfully assigned"
    assert seen["involvedObject"]["name"] == "pod"
    assert seen["reportingComponent"] == "contract"
    found = await api.client.list(
        core, api.namespace, field_selector="involvedObject.name=pod,reason=Scheduled"
    )
    assert len(found["items"]) == 1
    del body["eventTime"]
    body["metadata"] = {"name": "pod.5678", "namespace": api.namespace}
    with pytest.raises(errors.Invalid):
        await api.client.create(EVENTS, body, api.namespace)
