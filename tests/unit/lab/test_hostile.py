"""Whatever a client sends, the answer is an object or a Status, never a crash."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.lab.cluster import Cluster
from tests.unit.lab.objects import Object, ask, labelled, pod, workload

NAMESPACE = "/namespaces/default"
BODIES: dict[str, Object] = {
    f"/api/v1{NAMESPACE}/pods": labelled(
        pod(
            "a",
            tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
                        ]
                    }
                },
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 1,
                            "podAffinityTerm": {
                                "topologyKey": "z",
                                "labelSelector": {"matchLabels": {"a": "b"}},
                                "matchLabelKeys": ["c"],
                            },
                        }
                    ]
                },
            },
            topologySpreadConstraints=[
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
            ],
            containers=[
                {
                    "name": "c",
                    "image": "i",
                    "ports": [{"containerPort": 80, "hostPort": 80}],
                    "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
                    "env": [{"name": "e", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
                    "volumeMounts": [{"name": "v", "mountPath": "/x"}],
                }
            ],
            volumes=[{"name": "v", "emptyDir": {}}],
            overhead={"cpu": "1"},
            resourceClaims=[{"name": "r", "resourceClaimName": "x"}],
            schedulingGates=[{"name": "g"}],
        ),
        a="b",
    ),
    "/api/v1/nodes": {
        "metadata": {"name": "n", "ownerReferences": [{"kind": "x"}], "finalizers": ["a/b"]},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True},
        "status": {
            "capacity": {"cpu": "1"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    },
    f"/apis/batch/v1{NAMESPACE}/jobs": workload("Job", "batch/v1", "j", completions=2),
    f"/apis/apps/v1{NAMESPACE}/deployments": workload(
        "Deployment", "apps/v1", "d", replicas=2, strategy={"rollingUpdate": {"maxSurge": 1}}
    ),
    f"/apis/policy/v1{NAMESPACE}/poddisruptionbudgets": {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}},
    },
    f"/apis/events.k8s.io/v1{NAMESPACE}/events": {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "regarding": {"kind": "Pod", "namespace": "default"},
        "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"},
    },
    f"/api/v1{NAMESPACE}/services": {
        "metadata": {"name": "s"},
        "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30000}]},
    },
    "/api/v1/persistentvolumes": {
        "metadata": {"name": "v"},
        "spec": {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}},
    },
    f"/apis/resource.k8s.io/v1{NAMESPACE}/resourceclaims": {
        "metadata": {"name": "c"},
        "spec": {
            "devices": {
                "requests": [
                    {"name": "a", "exactly": {"deviceClassName": "d", "tolerations": [{}]}},
                    {"name": "b", "firstAvailable": [{"name": "x", "deviceClassName": "d"}]},
                ]
            }
        },
    },
}
JUNK = st.sampled_from(
    [
        None, True, 0, -1, 2**63, 1e300, 0.5, "", "a", "1e999", "-1", "9" * 400, "2026", "\x00",
        [], [None], [[]], {}, {"": None}, {"a": {}}, ["a", "a"], [{}, {}], "50%", "x/y/z",
    ]
)  # fmt: skip
PATCHES = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every spot in a document."""
    found = [path] if path else []
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, each in items:
        found += places(each, (*path, key))
    return found


def with_junk(value: Object, path: tuple[str | int, ...], junk: Any) -> Object:
    changed: Any = copy.deepcopy(value)
    spot = changed
    for step in path[:-1]:
        spot = spot[step]
    spot[path[-1]] = junk
    return changed


@pytest.mark.parametrize("path", BODIES, ids=lambda each: each.rsplit("/", 1)[-1])
@settings(max_examples=60)
@given(data=st.data())
def test_no_body_breaks_the_server(path: str, data: st.DataObject) -> None:
    body = BODIES[path]
    changed = body
    for _ in range(data.draw(st.integers(1, 2))):
        spot = data.draw(st.sampled_from(places(changed)))
        changed = with_junk(changed, spot, data.draw(JUNK))
    cluster = Cluster()
    code, made = ask(cluster, "POST", path, changed)
    assert code in (201, 400, 403, 404, 409, 422), made
    ask(cluster, "POST", path, body)
    name = f"{path}/{body['metadata']['name']}"
    for code, answer in (
        ask(cluster, "PUT", name, changed),
        *(ask(cluster, "PATCH", name, changed, content_type=each) for each in PATCHES),
        ask(cluster, "PATCH", f"{name}/status", changed, content_type=PATCHES[1]),
        ask(cluster, "DELETE", name, {"preconditions": changed.get("metadata")}),
    ):
        assert isinstance(answer, dict)
        assert answer["kind"]
        assert (code >= 400) == (answer.get("status") == "Failure")
    cluster.controllers.settle()


@settings(max_examples=200)
@given(
    text=st.text(alphabet="abc=!<>(), .inot'\"", max_size=20),
    which=st.sampled_from(["labelSelector", "fieldSelector", "continue", "limit"]),
)
def test_no_parameter_breaks_the_server(text: str, which: str) -> None:
    code, answer = ask(Cluster(), "GET", "/api/v1/pods", **{which: text})
    assert code in (200, 400, 410)
    assert answer["kind"] in ("PodList", "Status")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"{" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"metadata":{"name":"a","name":"b"},"spec":NaN}',
    ],
)
def test_no_bytes_break_the_server(body: bytes) -> None:
    path = f"/api/v1{NAMESPACE}/pods"
    code, status = ask(Cluster(), "POST", path, body)
    assert (code, status["reason"]) == (400, "BadRequest")
