"""PodInfo: what is shared between pods of one template, what is not, and what is read."""

import gc
import sys
from typing import Any

import msgspec
import pytest

from fairlead.model.decode import decode_pod, decode_pod_event
from fairlead.model.errors import DecodeError
from fairlead.model.podinfo import PodInfo, PodInfos, Toleration
from fairlead.model.selector import Requirement

SHARED = (
    "namespace",
    "labels",
    "node_name",
    "scheduler_name",
    "phase",
    "owner",
    "tolerations",
    "node_selector",
    "required_node_affinity",
    "preferred_node_affinity",
    "pod_affinity",
    "pod_anti_affinity",
    "request",
    "placed_request",
    "placed_nonzero",
    "score_request",
    "balanced_request",
    "host_ports",
    "images",
    "volumes",
    "resource_claims",
    "spread_constraints",
)


def web_container(number: int, token: str) -> dict[str, Any]:
    return {
        "name": "web",
        "image": "registry.example:5000/web",
        "resources": {"requests": {"cpu": "100m"}},
        "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}],
        "volumeMounts": [{"name": token, "mountPath": "/token"}],
        "env": [{"name": "A", "value": str(number)}],
    }


def web_pod(number: int, **spec: Any) -> dict[str, Any]:
    token = f"kube-api-access-{number:05x}"
    return {
        "metadata": {
            "name": f"web-{number}",
            "namespace": "shop",
            "uid": f"uid-{number}",
            "resourceVersion": str(number),
            "generation": 2,
            "creationTimestamp": "2026-03-01T00:00:00Z",
            "labels": {"app": "web", "tier": "front"},
            "ownerReferences": [
                {"kind": "Other", "name": "o", "uid": "1"},
                {"kind": "ReplicaSet", "name": "web", "uid": "2", "controller": True},
            ],
        },
        "spec": {
            "nodeName": "n1",
            "containers": [web_container(number, token)],
            "volumes": [
                {"name": token, "projected": {"sources": []}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "scratch", "emptyDir": {}},
            ],
            "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 300}],
            "nodeSelector": {"b": "2", "a": "1"},
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
                        ]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 3,
                            "preference": {
                                "matchExpressions": [{"key": "disk", "operator": "Exists"}]
                            },
                        }
                    ],
                },
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []},
            },
            "topologySpreadConstraints": [{"maxSkew": 1}],
            "resourceClaims": [{"name": "gpu"}],
            **spec,
        },
        "status": {"phase": "Running", "startTime": "2026-03-01T00:00:01Z"},
    }


def read(infos: PodInfos, pod: dict[str, Any]) -> PodInfo:
    return infos.of(decode_pod(msgspec.json.encode(pod)))


def test_pods_of_one_template_share_the_same_objects() -> None:
    infos = PodInfos()
    one, two = read(infos, web_pod(1)), read(infos, web_pod(2))
    apart = [name for name in SHARED if getattr(one, name) is not getattr(two, name)]
    assert apart == []
    assert one != two
    assert (one.uid, two.uid) == ("uid-1", "uid-2")


def test_equal_facts_are_one_object_however_they_are_spelt() -> None:
    infos = PodInfos()
    one = read(infos, web_pod(1, containers=[{"resources": {"requests": {"cpu": "100m"}}}]))
    two = read(infos, web_pod(2, containers=[{"resources": {"requests": {"cpu": "0.1"}}}]))
    assert one.request is two.request
    seconds = [{"key": "k", "operator": "Exists", "tolerationSeconds": 7}]
    assert read(infos, web_pod(3, tolerations=seconds)).tolerations is one.tolerations


def test_what_is_read_of_a_pod() -> None:
    pod = read(PodInfos(), web_pod(7))
    assert pod.key == "shop/web-7"
    assert pod.resource_version == "7"
    assert pod.generation == 2
    assert dict(pod.labels) == {"app": "web", "tier": "front"}
    assert pod.node_name == "n1"
    assert pod.scheduler_name == "default-scheduler"
    assert pod.priority == 0
    assert not pod.deleting
    assert pod.phase == "Running"
    assert pod.start_time == "2026-03-01T00:00:01Z"
    assert pod.creation_timestamp == "2026-03-01T00:00:00Z"
    assert pod.owner is not None
    assert (pod.owner.kind, pod.owner.name, pod.owner.uid) == ("ReplicaSet", "web", "2")
    assert pod.tolerations == (Toleration("k", "Exists"),)
    assert pod.node_selector == (("a", "1"), ("b", "2"))
    assert pod.required_node_affinity is not None
    assert pod.required_node_affinity.terms[0].requirements == (Requirement("zone", "Exists"),)
    assert pod.required_node_affinity.matches({"zone": "a"}, "n")
    assert pod.preferred_node_affinity is not None
    assert [weight for weight, _ in pod.preferred_node_affinity] == [3]
    assert pod.pod_affinity == b""
    assert pod.pod_anti_affinity == b'{"requiredDuringSchedulingIgnoredDuringExecution":[]}'
    assert pod.host_ports == (("10.0.0.1", "TCP", 8080),)
    assert pod.images == ("registry.example:5000/web:latest",)
    assert pod.container_count == 1
    assert pod.volumes == b'[{"name":"data","persistentVolumeClaim":{"claimName":"data"}}]'
    assert pod.spread_constraints == b'[{"maxSkew":1}]'
    assert pod.resource_claims == b'[{"name":"gpu"}]'
    assert pod.pod_scheduled is None


def test_a_pod_that_waits_has_its_condition_gates_and_priority() -> None:
    pod = web_pod(
        1, nodeName="", priority=-5, schedulingGates=[{"name": "a"}, {"name": "b"}],
        preemptionPolicy="Never", schedulerName="other", schedulingGroup={"podGroupName": "g"},
    )  # fmt: skip
    pod["metadata"]["deletionTimestamp"] = "2026-03-01T00:00:00Z"
    pod["status"] = {
        "phase": "Pending",
        "nominatedNodeName": "n9",
        "conditions": [
            {"type": "Ready", "status": "False"},
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"},
        ],
    }
    found = read(PodInfos(), pod)
    assert found.scheduling_gates == ("a", "b")
    assert (found.priority, found.preemption_policy) == (-5, "Never")
    assert (found.scheduler_name, found.scheduling_group) == ("other", "g")
    assert found.deleting
    assert found.nominated_node_name == "n9"
    assert found.pod_scheduled is not None
    assert (found.pod_scheduled.reason, found.pod_scheduled.message) == ("Unschedulable", "m")


def test_absent_and_empty_are_told_apart_where_kubernetes_does() -> None:
    infos = PodInfos()
    bare = infos.of(decode_pod(b'{"spec":{"affinity":{"nodeAffinity":{}}}}'))
    assert bare.node_selector is None
    assert bare.required_node_affinity is None
    assert bare.preferred_node_affinity is None
    empty = infos.of(
        decode_pod(
            b'{"spec":{"nodeSelector":{},"affinity":{"nodeAffinity":{'
            b'"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]},'
            b'"preferredDuringSchedulingIgnoredDuringExecution":[]}}}}'
        )
    )
    assert empty.node_selector == ()
    assert empty.required_node_affinity is not None
    assert not empty.required_node_affinity.matches({}, "n")
    assert empty.preferred_node_affinity == ()
    assert empty.preferred_node_affinity_error == ""


def test_preferences_that_are_not_valid_are_a_value_not_an_exception() -> None:
    wrong = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    wish = {"weight": 1, "preference": wrong}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    pod = read(PodInfos(), web_pod(1, affinity=affinity))
    assert pod.preferred_node_affinity == ()
    assert "Unsupported value" in pod.preferred_node_affinity_error


def test_ports_of_sidecars_count_and_those_of_other_init_containers_do_not() -> None:
    def with_port(port: int, **more: Any) -> dict[str, Any]:
        return {"image": "i", "ports": [{"hostPort": port, "protocol": "UDP"}], **more}

    pod = read(
        PodInfos(),
        web_pod(
            1,
            containers=[with_port(1), with_port(1), with_port(0)],
            initContainers=[with_port(2, restartPolicy="Always"), with_port(3)],
        ),
    )
    assert pod.host_ports == (("0.0.0.0", "UDP", 1), ("0.0.0.0", "UDP", 2))
    assert pod.container_count == 5


def test_images_of_volumes_come_after_those_of_containers() -> None:
    pod = read(
        PodInfos(),
        web_pod(
            1,
            containers=[{"image": "a:1"}],
            initContainers=[{"image": "b@sha256:0"}],
            volumes=[{"name": "v", "image": {"reference": "c"}}, {"name": "w", "image": None}],
        ),
    )
    assert pod.images == ("b@sha256:0", "a:1", "c:latest")
    assert pod.container_count == 2


def test_an_assumed_pod_is_the_same_but_for_its_node() -> None:
    pod = read(PodInfos(), web_pod(1))
    assumed = pod.on("n2")
    assert assumed.node_name == "n2"
    same = [f for f in PodInfo.__struct_fields__ if getattr(pod, f) is getattr(assumed, f)]
    assert len(same) == len(PodInfo.__struct_fields__) - 1


def test_a_pod_that_cannot_be_read_is_named_and_harms_no_other() -> None:
    infos = PodInfos()
    bad = web_pod(1, overhead={"cpu": "1x"})
    with pytest.raises(DecodeError, match=r"^pod shop/web-1: resource 'cpu': quantity '1x'"):
        read(infos, bad)
    with pytest.raises(DecodeError, match=r"^pod shop/web-1: affinity: "):
        read(infos, web_pod(1, affinity=[]))
    assert read(infos, web_pod(1)).key == "shop/web-1"


def test_the_tables_stay_bounded() -> None:
    infos = PodInfos(limit=8)
    for number in range(100):
        pod = web_pod(number)
        pod["metadata"]["labels"] = {"index": str(number)}
        assert read(infos, pod).labels["index"] == str(number)
    tables = [referent for referent in gc.get_referents(infos._facts) if type(referent) is dict]
    tables += [t for table in tables for t in gc.get_referents(table) if type(t) is dict]
    assert tables
    assert max(map(len, tables)) <= 20


def test_nothing_of_the_line_is_held() -> None:
    infos = PodInfos()
    line = msgspec.json.encode({"type": "ADDED", "object": web_pod(1)})
    before = sys.getrefcount(line)
    kind, pod = decode_pod_event(line)
    assert kind == "ADDED"
    assert sys.getrefcount(line) > before
    info = infos.of(pod)
    del pod
    assert info.key == "shop/web-1"
    assert sys.getrefcount(line) == before
