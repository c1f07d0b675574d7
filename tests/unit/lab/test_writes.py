"""Create, update and delete by the API server's rules, with its words."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.lab.cluster import Cluster
from fairlead.lab.status import ApiError
from tests.unit.lab.objects import Object, ask, labelled, pod, workload

PATH = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def refused(cluster: Cluster, value: Object) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        cluster.create(value)
    return refusal.value


def test_a_new_pod_is_completed_as_admission_does() -> None:
    container = {"name": "main", "image": "a", "resources": {"limits": {"cpu": "1"}}}
    made = Cluster(seed=1).create(pod("a", containers=[container]))
    metadata, spec = made["metadata"], made["spec"]
    assert (metadata["generation"], len(metadata["uid"])) == (1, 36)
    assert spec["schedulerName"] == "default-scheduler"
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [each["tolerationSeconds"] for each in spec["tolerations"]] == [300, 300]
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    (filled,) = spec["containers"]
    assert filled["volumeMounts"][0]["name"] == volume["name"]
    assert filled["resources"]["requests"] == {"cpu": "1"}
    assert filled["imagePullPolicy"] == "Always"
    assert made["status"] == {"phase": "Pending", "qosClass": "Burstable"}


def test_the_random_volume_differs_from_pod_to_pod() -> None:
    cluster = Cluster()
    names = {cluster.create(pod(f"p{n}"))["spec"]["volumes"][0]["name"] for n in range(20)}
    assert len(names) == 20


def test_a_seed_fixes_names_and_uids() -> None:
    value = pod("a") | {"metadata": {"generateName": "a-"}}
    first, second = (Cluster(seed=7).create(value)["metadata"] for _ in range(2))
    assert (first["name"], first["uid"]) == (second["name"], second["uid"])


def test_priority_comes_from_the_class_and_from_nothing_else() -> None:
    cluster = Cluster()
    cluster.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
            "preemptionPolicy": "Never",
        }
    )
    spec = cluster.create(pod("a", priorityClassName="high"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    system = cluster.create(pod("b", priorityClassName="system-node-critical"))["spec"]
    assert system["priority"] == 2_000_001_000
    unknown = refused(cluster, pod("c", priorityClassName="nope"))
    assert str(unknown) == 'pods "c" is forbidden: no PriorityClass with name nope was found'
    assert "must not be provided in pod spec" in str(refused(cluster, pod("d", priority=5)))


def test_gates_are_told_in_the_condition() -> None:
    gated = Cluster().create(pod("a", schedulingGates=[{"name": "example.com/wait"}]))
    (condition,) = gated["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert condition["reason"] == "SchedulingGated"


def test_label_keys_are_spelt_out_in_the_selectors() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["version"],
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    made = Cluster().create(labelled(pod("a", affinity=affinity), app="web", version="2"))
    required = made["spec"]["affinity"]["podAntiAffinity"]
    (found,) = required["requiredDuringSchedulingIgnoredDuringExecution"]
    expression = {"key": "version", "operator": "In", "values": ["2"]}
    assert found["labelSelector"]["matchExpressions"] == [expression]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"containers": []}, "spec.containers: Required value"),
        ({"restartPolicy": "Often"}, 'supported values: "Always", "OnFailure", "Never"'),
        ({"nodeName": "A_"}, "spec.nodeName: Invalid value"),
        ({"activeDeadlineSeconds": 0}, "must be between 1 and 2147483647, inclusive"),
        ({"tolerations": [{"operator": "Equal"}]}, "operator must be Exists when `key` is empty"),
        ({"schedulingGates": [{"name": "g"}] * 2}, 'schedulingGates[1]: Duplicate value: "g"'),
        (
            {"schedulingGates": [{"name": "g"}], "nodeName": "n"},
            "cannot be set until all schedulingGates have been cleared",
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z"}]},
            "maxSkew: Invalid value: 0: must be greater than zero",
        ),
    ],
)
def test_what_a_real_server_refuses_is_refused(spec: dict[str, Any], words: str) -> None:
    refusal = refused(Cluster(), pod("a", **spec))
    assert (refusal.code, refusal.reason) == (422, "Invalid")
    assert words in str(refusal)


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, "less than or equal to cpu limit"),
        ({"requests": {"cpu": "-1"}}, 'requests[cpu]: Invalid value: "-1"'),
        ({"requests": {"example.com/gpu": "1"}}, "Limit must be set for non overcommitable"),
        ({"limits": {"widgets": "1"}}, "must be a standard resource type or fully qualified"),
    ],
)
def test_resources_that_make_no_sense_are_refused(resources: Object, words: str) -> None:
    container = {"name": "main", "image": "a", "resources": resources}
    assert words in str(refused(Cluster(), pod("a", containers=[container])))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spec": {"nodeName": 5}}, "cannot unmarshal number into Go struct field PodSpec.spec"),
        ({"spec": {"containers": {}}}, "cannot unmarshal object into Go struct field"),
        ({"spec": {"contaners": []}}, 'strict decoding error: unknown field "spec.contaners"'),
        ({"kind": "Node"}, "converting (v1.Node) to (core.Pod): unknown conversion"),
        ({"apiVersion": "v2"}, 'no kind "Pod" is registered for version "v2"'),
    ],
)
def test_bodies_of_the_wrong_shape_are_bad_requests(change: Object, words: str) -> None:
    code, status = ask(Cluster(), "POST", PATH, pod("a") | change, fieldValidation="Strict")
    assert (code, status["reason"]) == (400, "BadRequest")
    assert words in status["message"]


def test_unknown_fields_vanish_unless_the_client_is_strict() -> None:
    body = pod("a") | {"surprise": 1}
    code, made = ask(Cluster(), "POST", PATH, body)
    assert code == 201
    assert "surprise" not in made


def test_a_body_in_no_known_format_is_refused() -> None:
    code, status = ask(Cluster(), "POST", PATH, b"k8s", content_type="application/cbor")
    assert (code, status["reason"]) == (415, "UnsupportedMediaType")


def test_names_are_taken_once_and_namespaces_must_be_there() -> None:
    cluster = Cluster()
    cluster.create(pod("a"))
    twice = refused(cluster, pod("a"))
    assert (twice.reason, str(twice)) == ("AlreadyExists", 'pods "a" already exists')
    lost = refused(cluster, pod("a", namespace="nowhere"))
    assert (lost.code, str(lost)) == (404, 'namespaces "nowhere" not found')


def test_a_stale_version_is_a_conflict_in_the_real_words() -> None:
    cluster = Cluster()
    made = cluster.create(pod("a"))
    cluster.update(labelled(made, a="b"))
    with pytest.raises(ApiError) as refusal:
        cluster.update(labelled(made, a="c"))
    assert refusal.value.reason == "Conflict"
    assert str(refusal.value) == (
        'Operation cannot be fulfilled on pods "a": the object has been modified; please apply '
        "your changes to the latest version and try again"
    )


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    cluster = Cluster()
    made = cluster.create(pod("a"))
    assert cluster.update(made)["metadata"] == made["metadata"]


def test_status_and_spec_are_written_apart() -> None:
    cluster = Cluster()
    cluster.create(pod("a"))
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    patch = {"status": {"conditions": [condition]}, "spec": {"nodeName": "n"}}
    ask(cluster, "PATCH", f"{PATH}/a/status", patch, content_type=STRATEGIC)
    ask(cluster, "PATCH", f"{PATH}/a", {"status": {"phase": "Running"}}, content_type=MERGE)
    found = cluster.get("pods", "a")
    assert found is not None
    assert "nodeName" not in found["spec"]
    assert found["status"]["phase"] == "Pending"
    assert found["status"]["conditions"][0]["reason"] == "Unschedulable"
    assert found["metadata"]["generation"] == 1


def test_only_binding_gives_a_pod_its_node() -> None:
    cluster = Cluster()
    cluster.create(pod("a"))
    code, status = ask(
        cluster, "PATCH", f"{PATH}/a", {"spec": {"nodeName": "n"}}, content_type=MERGE
    )
    assert code == 422
    assert "pod updates may not change fields other than" in status["message"]


def test_gates_can_be_taken_and_not_given() -> None:
    cluster = Cluster()
    cluster.create(pod("a", schedulingGates=[{"name": "x"}, {"name": "y"}]))
    gates = [{"name": "y"}]
    code, changed = ask(
        cluster, "PATCH", f"{PATH}/a", {"spec": {"schedulingGates": gates}}, content_type=MERGE
    )
    assert (code, changed["spec"]["schedulingGates"]) == (200, gates)
    assert changed["metadata"]["generation"] == 2
    gates = [{"name": "z"}]
    code, status = ask(
        cluster, "PATCH", f"{PATH}/a", {"spec": {"schedulingGates": gates}}, content_type=MERGE
    )
    assert code == 422
    assert "found new scheduling gate 'z'" in status["message"]


def test_a_lease_is_updated_only_with_its_version() -> None:
    cluster = Cluster()
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    lease: Object = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}
    _, made = ask(cluster, "POST", path, lease)
    assert ask(cluster, "PUT", f"{path}/l", lease)[0] == 422
    stale = made["metadata"] | {"resourceVersion": "1"}
    assert ask(cluster, "PUT", f"{path}/l", made | {"metadata": stale})[0] == 409
    code, renewed = ask(cluster, "PUT", f"{path}/l", made | {"spec": {"holderIdentity": "b"}})
    assert (code, renewed["spec"]["holderIdentity"]) == (200, "b")


def test_a_deletion_keeps_what_a_finalizer_holds() -> None:
    cluster = Cluster()
    value = pod("a")
    value["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create(value)
    cluster.delete("pods", "a")
    held = cluster.get("pods", "a")
    assert held is not None
    assert held["metadata"]["deletionTimestamp"]
    ask(cluster, "PATCH", f"{PATH}/a", {"metadata": {"finalizers": None}}, content_type=MERGE)
    assert cluster.get("pods", "a") is None


def test_a_deletion_is_meant_for_one_pod_of_the_name() -> None:
    cluster = Cluster()
    cluster.create(pod("a"))
    body = {"preconditions": {"uid": "other"}}
    code, status = ask(cluster, "DELETE", f"{PATH}/a", body)
    assert (code, status["reason"]) == (409, "Conflict")
    assert "the UID in the precondition (other) does not match" in status["message"]


def test_a_dry_run_changes_nothing() -> None:
    cluster = Cluster()
    assert ask(cluster, "POST", PATH, pod("a"), dryRun="All")[0] == 201
    assert cluster.get("pods", "a") is None


def test_events_are_one_set_of_objects_under_two_names() -> None:
    cluster = Cluster()
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a.1", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000001Z",
        "reportingController": "fairlead",
        "reportingInstance": "fairlead-0",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "name": "a", "namespace": "default"},
        "note": "bound",
        "type": "Normal",
    }
    code, made = ask(cluster, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", event)
    assert (code, made["note"]) == (201, "bound")
    _, core = ask(cluster, "GET", "/api/v1/namespaces/default/events/a.1")
    assert (core["message"], core["involvedObject"]["name"]) == ("bound", "a")
    assert core["reportingComponent"] == "fairlead"
    del event["action"]
    event["metadata"] = {"name": "a.2"}
    code, status = ask(cluster, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", event)
    assert (code, status["message"]) == (422, 'Event "a.2" is invalid: action: Required value')


def test_server_side_apply_creates_and_refuses_what_it_cannot_know() -> None:
    cluster = Cluster()
    media = "application/apply-patch+yaml"
    query = {"fieldManager": "tests"}
    path = f"{PATH}/a"
    assert ask(cluster, "PATCH", path, pod("a"), content_type=media, **query)[0] == 201
    assert ask(cluster, "PATCH", path, pod("a"), content_type=media, **query)[0] == 200
    changed = labelled(pod("a"), app="x")
    code, status = ask(cluster, "PATCH", path, changed, content_type=media, **query)
    assert (code, status["reason"]) == (405, "MethodNotAllowed")
    assert "keeps no managed fields" in status["message"]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/secrets", 404),
        ("GET", "/apis/example.com/v1/widgets", 404),
        ("GET", "/nowhere", 404),
        ("GET", "/api/v1/namespaces/default/pods/a/log", 405),
        ("PUT", "/api/v1/namespaces/default/pods", 405),
        ("DELETE", "/api/v1/namespaces/default", 403),
    ],
)
def test_what_is_not_served_is_refused_with_a_status(method: str, path: str, code: int) -> None:
    cluster = Cluster()
    cluster.create(pod("a"))
    found, status = ask(cluster, method, path)
    assert found == code == status["code"]
    assert (status["kind"], status["status"]) == ("Status", "Failure")


def test_a_job_is_told_from_all_others_by_its_uid() -> None:
    made = Cluster().create(workload("Job", "batch/v1", "j"))
    key = "batch.kubernetes.io/controller-uid"
    assert made["spec"]["selector"] == {"matchLabels": {key: made["metadata"]["uid"]}}
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == labels["job-name"] == "j"
