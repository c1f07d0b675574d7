"""Jobs, ReplicaSets, Deployments, garbage collection: what is there once all have come to rest."""

from __future__ import annotations

import pytest

from fairlead.lab.cluster import Cluster
from fairlead.lab.jobs import indexes
from tests.unit.lab.objects import Object, ask, bind, pod, workload

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=1)


def settled(cluster: Cluster, kind: str = "pods") -> list[Object]:
    cluster.controllers.settle()
    return cluster.items(kind, "default")


def phase(cluster: Cluster, name: str, word: str) -> None:
    path = f"/api/v1/namespaces/default/pods/{name}/status"
    code, _ = ask(cluster, "PATCH", path, {"status": {"phase": word}}, content_type=STRATEGIC)
    assert code == 200


def end(cluster: Cluster, word: str = "Succeeded") -> None:
    """All pods of the moment end."""
    for each in settled(cluster):
        phase(cluster, each["metadata"]["name"], word)


def job(cluster: Cluster) -> Object:
    (found,) = settled(cluster, "jobs")
    return found


def test_a_replica_set_makes_pods_that_name_it(cluster: Cluster) -> None:
    owner = cluster.create(workload("ReplicaSet", "apps/v1", "web", replicas=3))
    pods = settled(cluster)
    assert len({each["metadata"]["name"] for each in pods}) == 3
    for each in pods:
        metadata = each["metadata"]
        assert metadata["generateName"] == "web-"
        assert metadata["name"].startswith("web-")
        (reference,) = metadata["ownerReferences"]
        assert reference == {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "web",
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }


def test_a_replica_set_replaces_what_goes_and_takes_the_unbound_first(cluster: Cluster) -> None:
    cluster.create(workload("ReplicaSet", "apps/v1", "web", replicas=3))
    first, *_ = (each["metadata"]["name"] for each in settled(cluster))
    bind(cluster, first, "node-1")
    cluster.delete("pods", settled(cluster)[1]["metadata"]["name"])
    assert len(settled(cluster)) == 3
    path = "/apis/apps/v1/namespaces/default/replicasets/web/scale"
    code, scale = ask(cluster, "PATCH", path, {"spec": {"replicas": 1}}, content_type=MERGE)
    assert (code, scale["spec"]) == (200, {"replicas": 1})
    assert [each["metadata"]["name"] for each in settled(cluster)] == [first]
    (owner,) = cluster.items("replicasets")
    assert owner["status"]["replicas"] == 1
    assert owner["status"]["observedGeneration"] == owner["metadata"]["generation"] == 2


def test_a_deployment_marks_its_pods_with_the_hash_of_the_template(cluster: Cluster) -> None:
    cluster.create(workload("Deployment", "apps/v1", "web", replicas=2))
    pods = settled(cluster)
    (owner,) = cluster.items("replicasets")
    mark = owner["metadata"]["labels"]["pod-template-hash"]
    assert owner["metadata"]["name"] == f"web-{mark}"
    assert {each["metadata"]["labels"]["pod-template-hash"] for each in pods} == {mark}


def test_a_new_template_replaces_the_old_pods_once_the_new_are_ready(cluster: Cluster) -> None:
    cluster.create(workload("Deployment", "apps/v1", "web", replicas=2))
    settled(cluster)
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    containers = [{"name": "main", "image": "registry.example/app:2"}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    ask(cluster, "PATCH", path, patch, content_type=STRATEGIC)
    new = [each for each in settled(cluster) if "app:2" in str(each["spec"]["containers"])]
    assert (len(new), len(cluster.items("pods"))) == (2, 4)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    for each in new:
        name = each["metadata"]["name"]
        target = f"/api/v1/namespaces/default/pods/{name}/status"
        ask(cluster, "PATCH", target, ready, content_type=STRATEGIC)
    names = {each["metadata"]["name"] for each in settled(cluster)}
    assert names == {each["metadata"]["name"] for each in new}


def test_a_job_runs_its_pods_to_completion(cluster: Cluster) -> None:
    cluster.create(workload("Job", "batch/v1", "count", completions=3, parallelism=2))
    pods = settled(cluster)
    assert len(pods) == 2
    labels = pods[0]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == "count"
    assert labels["batch.kubernetes.io/controller-uid"] == job(cluster)["metadata"]["uid"]
    assert pods[0]["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    end(cluster)
    assert job(cluster)["status"]["succeeded"] == 2
    end(cluster)
    status = job(cluster)["status"]
    assert (status["succeeded"], status.get("active", 0)) == (3, 0)
    kinds = [each["type"] for each in status["conditions"]]
    assert kinds == ["SuccessCriteriaMet", "Complete"]
    assert status["completionTime"]
    assert all("finalizers" not in each["metadata"] for each in settled(cluster))


def test_a_job_gives_up_after_its_failures(cluster: Cluster) -> None:
    cluster.create(workload("Job", "batch/v1", "count", backoffLimit=1))
    end(cluster, "Failed")
    assert len([each for each in settled(cluster) if each["status"]["phase"] == "Pending"]) == 1
    end(cluster, "Failed")
    status = job(cluster)["status"]
    assert [each["type"] for each in status["conditions"]] == ["FailureTarget", "Failed"]
    assert status["conditions"][1]["reason"] == "BackoffLimitExceeded"
    assert not [each for each in settled(cluster) if each["status"]["phase"] == "Pending"]


def test_an_indexed_job_gives_every_index_once(cluster: Cluster) -> None:
    cluster.create(
        workload("Job", "batch/v1", "i", completions=3, parallelism=3, completionMode="Indexed")
    )
    key = "batch.kubernetes.io/job-completion-index"
    pods = settled(cluster)
    assert sorted(each["metadata"]["annotations"][key] for each in pods) == ["0", "1", "2"]
    assert {each["spec"]["hostname"] for each in pods} == {"i-0", "i-1", "i-2"}
    end(cluster)
    assert job(cluster)["status"]["completedIndexes"] == "0-2"


def test_completed_indexes_are_read_as_they_are_written() -> None:
    assert indexes("0,2-4,7") == {0, 2, 3, 4, 7}
    assert indexes("") == set()


def test_a_suspended_job_makes_no_pods_until_it_is_resumed(cluster: Cluster) -> None:
    cluster.create(workload("Job", "batch/v1", "s", suspend=True))
    assert settled(cluster) == []
    assert job(cluster)["status"]["conditions"][0]["type"] == "Suspended"
    path = "/apis/batch/v1/namespaces/default/jobs/s"
    ask(cluster, "PATCH", path, {"spec": {"suspend": False}}, content_type=MERGE)
    assert len(settled(cluster)) == 1


def test_pods_follow_their_owner(cluster: Cluster) -> None:
    cluster.create(workload("Deployment", "apps/v1", "web", replicas=2))
    settled(cluster)
    cluster.delete("deployments", "web")
    assert settled(cluster) == []
    assert cluster.items("replicasets") == []


def test_a_job_that_is_deleted_lets_its_pods_go(cluster: Cluster) -> None:
    cluster.create(workload("Job", "batch/v1", "count"))
    settled(cluster)
    cluster.delete("jobs", "count")
    assert settled(cluster) == []


def test_orphans_stay_without_their_owner(cluster: Cluster) -> None:
    cluster.create(workload("ReplicaSet", "apps/v1", "web", replicas=1))
    settled(cluster)
    path = "/apis/apps/v1/namespaces/default/replicasets/web"
    ask(cluster, "DELETE", path, {"propagationPolicy": "Orphan"})
    (left,) = settled(cluster)
    assert "ownerReferences" not in left["metadata"]
    assert cluster.items("replicasets") == []


def test_a_foreground_deletion_waits_for_the_dependents(cluster: Cluster) -> None:
    cluster.create(workload("ReplicaSet", "apps/v1", "web", replicas=1))
    (made,) = settled(cluster)
    bind(cluster, made["metadata"]["name"], "node-1")
    path = "/apis/apps/v1/namespaces/default/replicasets/web"
    ask(cluster, "DELETE", path, {"propagationPolicy": "Foreground"})
    (leaving,) = settled(cluster)
    assert leaving["metadata"]["deletionTimestamp"]
    assert len(cluster.items("replicasets")) == 1
    cluster.delete("pods", made["metadata"]["name"], grace=0)
    assert settled(cluster, "replicasets") == []


def test_an_object_whose_owner_never_was_is_collected(cluster: Cluster) -> None:
    value = pod("lost")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "none"}
    value["metadata"]["ownerReferences"] = [owner]
    cluster.create(value)
    value = pod("kept")
    custom = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "x", "uid": "none"}
    value["metadata"]["ownerReferences"] = [custom]
    cluster.create(value)
    assert [each["metadata"]["name"] for each in settled(cluster)] == ["kept"]


def test_a_namespace_takes_its_content_along(cluster: Cluster) -> None:
    name = {"metadata": {"name": "team"}}
    cluster.create({"apiVersion": "v1", "kind": "Namespace"} | name)
    cluster.create(pod("a", namespace="team"))
    cluster.delete("namespaces", "team")
    code, status = ask(cluster, "POST", "/api/v1/namespaces/team/pods", pod("b", namespace="team"))
    assert code == 403
    assert "because it is being terminated" in status["message"]
    cluster.controllers.settle()
    assert cluster.get("namespaces", "team") is None
    assert cluster.items("pods") == []


def test_a_claim_in_use_outlives_its_deletion(cluster: Cluster) -> None:
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    )
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    cluster.create(pod("a", volumes=[volume]))
    cluster.delete("persistentvolumeclaims", "data")
    (held,) = settled(cluster, "persistentvolumeclaims")
    assert held["metadata"]["deletionTimestamp"]
    cluster.delete("pods", "a")
    assert settled(cluster, "persistentvolumeclaims") == []


@pytest.mark.parametrize(
    ("spec", "desired"),
    [({"minAvailable": 2}, 2), ({"minAvailable": "50%"}, 2), ({"maxUnavailable": 1}, 3)],
)
def test_a_budget_counts_what_its_controller_asks_for(
    cluster: Cluster, spec: Object, desired: int
) -> None:
    cluster.create(workload("ReplicaSet", "apps/v1", "web", replicas=4))
    selector = {"selector": {"matchLabels": {"app": "web"}}}
    cluster.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": spec | selector,
        }
    )
    (budget,) = settled(cluster, "poddisruptionbudgets")
    assert budget["status"]["expectedPods"] == 4
    assert budget["status"]["desiredHealthy"] == desired
    assert budget["status"]["disruptionsAllowed"] == 0
