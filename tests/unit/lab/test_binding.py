"""Binding and eviction."""

from __future__ import annotations

import pytest

from fairlead.lab.cluster import Cluster
from tests.unit.lab.objects import Object, ask, bind, labelled, pod

PATH = "/api/v1/namespaces/default/pods"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster(nodes=2)
    made.create(pod("a"))
    return made


def found(cluster: Cluster, name: str) -> Object:
    value = cluster.get("pods", name)
    assert value is not None
    return value


def test_a_binding_sets_node_and_condition_in_one_write(cluster: Cluster) -> None:
    patch = {"status": {"nominatedNodeName": "node-2"}}
    _, before = ask(cluster, "PATCH", f"{PATH}/a/status", patch, content_type=STRATEGIC)
    code, status = bind(cluster, "a", "node-1", annotations={"by": "tests"})
    assert (code, status["status"]) == (201, "Success")
    after = found(cluster, "a")
    assert after["spec"]["nodeName"] == "node-1"
    assert after["metadata"]["annotations"] == {"by": "tests"}
    (condition,) = after["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert "nominatedNodeName" not in after["status"]
    step = int(after["metadata"]["resourceVersion"]) - int(before["metadata"]["resourceVersion"])
    assert step == 1
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


def test_a_pod_is_bound_once(cluster: Cluster) -> None:
    bind(cluster, "a", "node-1")
    code, status = bind(cluster, "a", "node-2")
    assert (code, status["reason"]) == (409, "Conflict")
    assert status["message"] == (
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node '
        '"node-1"'
    )
    assert status["details"] == {"name": "a", "kind": "pods/binding"}


def test_a_binding_is_for_one_pod_of_the_name(cluster: Cluster) -> None:
    code, status = bind(cluster, "a", "node-1", uid="other")
    assert code == 409
    assert "Precondition failed: UID in precondition: other" in status["message"]
    assert bind(cluster, "a", "node-1", uid=found(cluster, "a")["metadata"]["uid"])[0] == 201


def test_gated_and_leaving_pods_are_not_bound(cluster: Cluster) -> None:
    cluster.create(pod("gated", schedulingGates=[{"name": "g"}]))
    code, status = bind(cluster, "gated", "node-1")
    assert code == 409
    assert "has non-empty .spec.schedulingGates" in status["message"]
    leaving = pod("leaving")
    leaving["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create(leaving)
    cluster.delete("pods", "leaving")
    code, status = bind(cluster, "leaving", "node-1")
    assert code == 409
    assert "is being deleted, cannot be assigned to a host" in status["message"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"metadata": {"name": "b"}, "target": {"name": "node-1"}}, 400),
        ({"metadata": {"name": "a"}, "target": {"name": ""}}, 500),
        ({"metadata": {"name": "a"}, "target": {"kind": "Zone", "name": "z"}}, 500),
    ],
)
def test_a_binding_that_names_nothing_is_refused(cluster: Cluster, body: Object, code: int) -> None:
    assert ask(cluster, "POST", f"{PATH}/a/binding", body)[0] == code
    assert "nodeName" not in found(cluster, "a")["spec"]


def test_a_pod_that_is_gone_is_not_bound(cluster: Cluster) -> None:
    cluster.delete("pods", "a")
    assert bind(cluster, "a", "node-1")[0] == 404


def test_a_bound_pod_has_its_grace_and_an_unbound_one_goes_at_once(cluster: Cluster) -> None:
    cluster.create(pod("b"))
    bind(cluster, "a", "node-1")
    cluster.delete("pods", "a")
    cluster.delete("pods", "b")
    assert cluster.get("pods", "b") is None
    metadata = found(cluster, "a")["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 30
    cluster.delete("pods", "a", grace=5)
    assert found(cluster, "a")["metadata"]["deletionGracePeriodSeconds"] == 5
    cluster.delete("pods", "a", grace=0)
    assert cluster.get("pods", "a") is None


def evict(cluster: Cluster, name: str) -> tuple[int, Object]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return ask(cluster, "POST", f"{PATH}/{name}/eviction", body)


def ready(cluster: Cluster, name: str) -> None:
    cluster.create(labelled(pod(name), app="web"))
    bind(cluster, name, "node-1")
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    ask(cluster, "PATCH", f"{PATH}/{name}/status", {"status": status}, content_type=STRATEGIC)


def test_an_eviction_marks_the_pod_and_deletes_it(cluster: Cluster) -> None:
    ready(cluster, "w")
    assert evict(cluster, "w")[0] == 201
    going = found(cluster, "w")
    assert going["metadata"]["deletionTimestamp"]
    assert going["status"]["conditions"][-1]["type"] == "DisruptionTarget"


def test_a_budget_stops_an_eviction(cluster: Cluster) -> None:
    ready(cluster, "one")
    ready(cluster, "two")
    cluster.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }
    )
    assert evict(cluster, "one")[0] == 429, "the budget has not been counted yet"
    cluster.controllers.settle()
    assert evict(cluster, "one")[0] == 201
    cluster.controllers.settle()
    code, status = evict(cluster, "two")
    assert (code, status["reason"]) == (429, "TooManyRequests")
    assert status["details"]["causes"][0] == {
        "reason": "DisruptionBudget",
        "message": "The disruption budget web needs 1 healthy pods and has 1 currently",
    }
