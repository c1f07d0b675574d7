"""The same requests to the embedded cluster and to a real API server: the same answers.

What differs by nature is blanked: uids, times, versions, random names, managed fields. Neither side
has controllers or kubelets here, so that only the API itself is compared.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.lab.cluster import Cluster
from tests.control_plane.plane import ControlPlane
from tests.lab.alike import (
    JSON,
    MERGE,
    STEPS,
    STRATEGIC,
    Object,
    Step,
    asked_of,
    blanked,
    embedded,
)

pytestmark = pytest.mark.e2e

COUNT = itertools.count()
Both = Callable[..., None]


@pytest.fixture
def both(real_plane: ControlPlane) -> Both:
    """Send steps to both, in a namespace of their own, and compare every answer."""
    cluster = Cluster()
    namespace = f"alike-{next(COUNT)}"

    def run(*steps: Step) -> None:
        for step in steps:
            here = Step(*json.loads(json.dumps(step).replace("NS", namespace)))
            found, wanted = embedded(cluster, here), asked_of(real_plane, here)
            assert (here, found[0], blanked(found[1])) == (here, wanted[0], blanked(wanted[1]))

    name = {"metadata": {"name": namespace}}
    embedded(cluster, Step("POST", "/api/v1/namespaces", name))
    asked_of(real_plane, Step("POST", "/api/v1/namespaces", name))
    account = {"metadata": {"name": "default"}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    asked_of(real_plane, Step("POST", path, account))
    return run


PODS = "/api/v1/namespaces/NS/pods"


def pod(name: str, metadata: Object | None = None, **spec: Any) -> Object:
    containers = [{"name": "main", "image": "registry.example/app"}]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name} | (metadata or {}),
        "spec": {"containers": containers} | spec,
    }


def container(**fields: Any) -> Object:
    return {"containers": [{"name": "main", "image": "a"} | fields]}


def affinity(kind: str, part: str, value: Any) -> Object:
    return {"affinity": {kind: {f"{part}DuringSchedulingIgnoredDuringExecution": value}}}


def wanted(**requirement: Any) -> Object:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return affinity("nodeAffinity", "required", terms)


def spread(**fields: Any) -> Object:
    return {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"} | fields


REFUSED: list[Object] = [
    pod("X_"),
    pod("a", {"labels": {"a b": "c d"}}),
    pod("a", {"labels": {"a": "x" * 70}}),
    pod("a", {"ownerReferences": [{"kind": "X"}]}),
    pod("a", {"finalizers": ["x"]}),
    pod("a", {"namespace": "other"}),
    pod("a", containers=[]),
    pod("a", containers=[{"name": "c"}, {"name": "c", "image": "x"}]),
    pod("a", containers={}),
    pod("a", contaners=[]),
    pod("a", initContainers=[{"name": "main", "image": "x"}]),
    pod("a", restartPolicy="Sometimes"),
    pod("a", dnsPolicy="X"),
    pod("a", nodeName="N_"),
    pod("a", nodeName=5),
    pod("a", activeDeadlineSeconds=0),
    pod("a", priority=5),
    pod("a", preemptionPolicy="Never"),
    pod("a", priorityClassName="nope"),
    pod("a", serviceAccountName="nope"),
    pod("a", runtimeClassName="nope"),
    pod("a", overhead={"cpu": "1"}),
    pod("a", resourceClaims=[{"name": "r"}]),
    pod("a", nodeSelector={"a/b/c": "d"}),
    pod("a", tolerations=[{"operator": "Foo"}]),
    pod("a", tolerations=[{"key": "a", "operator": "Exists", "value": "x"}]),
    pod("a", tolerations=[{"key": "k", "effect": "Bad"}]),
    pod("a", tolerations=[{"key": "k", "tolerationSeconds": 3}]),
    pod("a", volumes=[{"name": "v"}, {"name": "v"}]),
    pod("a", schedulingGates=[{"name": "g"}, {"name": "g"}]),
    pod("a", schedulingGates=[{"name": "g"}], nodeName="n"),
    pod("a", topologySpreadConstraints=[spread(maxSkew=0, topologyKey="")]),
    pod("a", topologySpreadConstraints=[spread(whenUnsatisfiable="X")]),
    pod("a", topologySpreadConstraints=[spread(), spread()]),
    pod("a", **affinity("nodeAffinity", "required", {"nodeSelectorTerms": []})),
    pod("a", **affinity("nodeAffinity", "preferred", [{"weight": 0, "preference": {}}])),
    pod("a", **affinity("podAntiAffinity", "required", [{"labelSelector": {}}])),
    pod("a", **wanted(key="a", operator="Foo")),
    pod("a", **wanted(key="a", operator="In")),
    pod("a", **wanted(key="a", operator="Gt", values=["1", "2"])),
    pod("a", **wanted(key="a", operator="Exists", values=["1"])),
    pod("a", **container(volumeMounts=[{"name": "nope", "mountPath": "/x"}])),
    pod("a", **container(ports=[{"containerPort": 70000}, {"hostPort": 1}])),
    pod("a", hostNetwork=True, **container(ports=[{"containerPort": 80, "hostPort": 81}])),
    pod("a", **container(resources={"requests": {"cpu": "zz"}})),
    pod("a", **container(resources={"requests": {"cpu": "-1"}})),
    pod("a", **container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
    pod("a", **container(resources={"limits": {"foo": "1"}})),
    pod("a", **container(resources={"requests": {"example.com/gpu": "1"}})),
    {"kind": "Pod", "apiVersion": "v2", "metadata": {"name": "a"}},
    {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}},
]


@pytest.mark.parametrize("body", REFUSED, ids=range(len(REFUSED)))
def test_pods_that_are_refused(both: Both, body: Object) -> None:
    both(Step("POST", f"{PODS}?fieldValidation=Strict", body))


def rich_pod() -> Object:
    """Much of what defaults and admission have something to add to."""
    term = {
        "topologyKey": "z",
        "labelSelector": {"matchLabels": {"x": "y"}},
        "matchLabelKeys": ["app"],
    }
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return pod(
        "rich",
        {"labels": {"app": "x"}},
        schedulingGates=[{"name": "g"}],
        topologySpreadConstraints=[spread(labelSelector={}, matchLabelKeys=["app"])],
        tolerations=[{"operator": "Exists"}],
        terminationGracePeriodSeconds=-5,
        initContainers=[{"name": "i", "image": "busybox:1.2", "restartPolicy": "Always"}],
        automountServiceAccountToken=False,
        volumes=[
            {"name": "e", "emptyDir": {}},
            {"name": "c", "configMap": {"name": "x"}},
            {"name": "h", "hostPath": {"path": "/x"}},
            {"name": "t", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}},
        ],
        **affinity("podAntiAffinity", "preferred", [{"weight": 5, "podAffinityTerm": term}]),
    )


def test_pods_as_admission_completes_them(both: Both) -> None:
    probe = {"httpGet": {"port": 80}}
    full = container(
        image="x@sha256:abc",
        ports=[{"containerPort": 80}],
        readinessProbe=probe,
        resources={"limits": {"cpu": "100m", "memory": "1Gi"}},
    )
    both(
        Step("POST", PODS, pod("plain")),
        Step("POST", PODS, pod("plain")),
        Step("POST", PODS, rich_pod()),
        Step("POST", PODS, pod("full", hostNetwork=True, **full)),
        Step("POST", PODS, pod("critical", priorityClassName="system-node-critical")),
        Step("POST", PODS, pod("placed", nodeName="n1")),
        Step("GET", PODS),
        Step("GET", f"{PODS}?limit=2&labelSelector=app%3Dx"),
        Step("GET", f"{PODS}?fieldSelector=spec.nodeName%3D"),
        Step("GET", f"{PODS}?fieldSelector=spec.nodeName!%3D,status.phase!%3DFailed"),
        Step("GET", f"{PODS}?fieldSelector=foo%3Dbar"),
        Step("GET", f"{PODS}?resourceVersion=abc"),
        Step("GET", f"{PODS}?resourceVersionMatch=Exact"),
        Step("GET", f"{PODS}?sendInitialEvents=true"),
        Step("GET", f"{PODS}/nope"),
        Step("GET", "/api/v1/foos"),
        Step("POST", "/api/v1/pods", pod("x")),
        Step("POST", "/api/v1/namespaces/nowhere/pods", pod("x")),
    )


def binding(name: str, node: str = "n1", **metadata: Any) -> Object:
    return {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": name} | metadata,
        "target": {"kind": "Node", "name": node},
    }


def test_a_pod_from_its_patches_to_its_end(both: Both) -> None:
    one = f"{PODS}/a"
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    both(
        Step("POST", PODS, pod("a", {"labels": {"app": "x"}})),
        Step("PATCH", one, {"metadata": {"labels": {"y": "z"}}}, STRATEGIC),
        Step("PATCH", one, {"metadata": {"labels": {"y": None}}}, MERGE),
        Step("PATCH", one, [{"op": "add", "path": "/metadata/labels/z", "value": "1"}], STEPS),
        Step("PATCH", one, [{"op": "test", "path": "/metadata/labels/z", "value": "2"}], STEPS),
        Step("PATCH", one, [{"op": "remove", "path": "/metadata/labels/q"}], STEPS),
        Step("PATCH", one, {"metadata": {"resourceVersion": "1"}}, MERGE),
        Step("PATCH", one, {"spec": {"nodeName": "n"}}, STRATEGIC),
        Step("PATCH", one, {"spec": {"tolerations": []}}, MERGE),
        Step("PATCH", one, {"spec": {"containers": [{"name": "main", "image": "b"}]}}, STRATEGIC),
        Step("PATCH", one, {}, JSON),
        Step("PATCH", f"{PODS}/nope", {}, MERGE),
        Step("PATCH", f"{one}/status", {"status": {"conditions": [condition]}}, STRATEGIC),
        Step("PATCH", f"{one}/status", {"status": {"nominatedNodeName": "n1"}}, STRATEGIC),
        Step("PATCH", f"{one}/status", {"spec": {"nodeName": "x"}}, STRATEGIC),
        Step("POST", f"{one}/binding", binding("b")),
        Step("POST", f"{one}/binding", binding("a", "")),
        Step("POST", f"{one}/binding", binding("a", uid="u")),
        Step("POST", f"{PODS}/nope/binding", binding("nope")),
        Step("POST", f"{one}/binding", binding("a", annotations={"k": "v"}, labels={"l": "m"})),
        Step("GET", one),
        Step("POST", f"{one}/binding", binding("a")),
        Step("DELETE", one, {"preconditions": {"uid": "x"}}),
        Step("DELETE", one, {"propagationPolicy": "Foo"}),
        Step("DELETE", one),
        Step("DELETE", f"{one}?gracePeriodSeconds=5"),
        Step("POST", f"{one}/binding", binding("a")),
        Step("DELETE", one, {"gracePeriodSeconds": 0}),
        Step("GET", one),
    )


def test_gates_finalizers_and_evictions(both: Both) -> None:
    gated = f"{PODS}/gated"
    held = f"{PODS}/held"
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "e"}}
    both(
        Step("POST", PODS, pod("gated", schedulingGates=[{"name": "g"}])),
        Step("POST", f"{gated}/binding", binding("gated")),
        Step("PATCH", gated, {"spec": {"schedulingGates": [{"name": "h"}]}}, MERGE),
        Step("PATCH", gated, {"spec": {"schedulingGates": None}}, MERGE),
        Step("PATCH", gated, {"spec": {"nodeSelector": {"a": "b"}}}, MERGE),
        Step("DELETE", gated),
        Step("POST", PODS, pod("held", {"finalizers": ["a/b"]})),
        Step("DELETE", held),
        Step("PATCH", held, {"metadata": {"finalizers": None}}, MERGE),
        Step("GET", held),
        Step("POST", PODS, pod("e")),
        Step("POST", f"{PODS}/e/eviction", eviction),
        Step("GET", f"{PODS}/e"),
    )


def test_nodes_and_priority_classes(both: Both) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"

    def node(name: str, **parts: Any) -> Object:
        return {"metadata": {"name": name}} | parts

    def tainted(*taints: Object) -> Object:
        return node("NS-2", spec={"taints": list(taints)})

    one = "/api/v1/nodes/NS-1"
    taint = {"key": "k", "effect": "NoSchedule"}
    status = {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}
    both(
        Step("POST", "/api/v1/nodes", node("NS-1", status=status, spec={"podCIDR": ""})),
        Step("POST", "/api/v1/nodes", tainted(taint, taint)),
        Step("POST", "/api/v1/nodes", tainted({"key": "k", "effect": "Foo"})),
        Step("POST", "/api/v1/nodes", tainted({"key": "k"})),
        Step("PATCH", one, {"spec": {"unschedulable": True, "taints": [taint]}}, STRATEGIC),
        Step("PATCH", one, {"spec": {"unschedulable": None}}, STRATEGIC),
        Step("PATCH", one, {"status": {"capacity": {"cpu": "9"}}}, STRATEGIC),
        Step("PATCH", f"{one}/status", {"status": {"allocatable": {"cpu": "3"}}}, STRATEGIC),
        Step("PUT", one, node("other")),
        Step("PUT", "/api/v1/nodes/nope", node("nope")),
        Step("DELETE", one),
        Step("POST", classes, {"metadata": {"name": "NS"}, "value": 1000}),
        Step("POST", classes, {"metadata": {"name": "x"}, "value": 2_000_000_000}),
        Step("POST", classes, {"metadata": {"name": "system-x"}, "value": 1}),
        Step("PATCH", f"{classes}/NS", {"value": 5}, MERGE),
        Step("PATCH", f"{classes}/NS", {"preemptionPolicy": "Never"}, MERGE),
        Step("POST", PODS, pod("high", priorityClassName="NS")),
        Step("DELETE", f"{classes}/NS"),
    )


def test_leases_and_events(both: Both) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/NS/leases"
    core, new = "/api/v1/namespaces/NS/events", "/apis/events.k8s.io/v1/namespaces/NS/events"
    lease = {
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "a", "renewTime": "2026-01-01T00:00:00.000000Z"},
    }
    about = {"kind": "Pod", "name": "p", "namespace": "NS"}
    event: Object = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.123456Z",
        "reportingController": "fairlead",
        "reportingInstance": "fairlead-0",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": about,
        "note": "hello",
        "type": "Normal",
    }
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:10.000000Z"}}
    old = {"metadata": {"name": "c"}, "involvedObject": about, "message": "m", "count": 1}
    without = [
        Step("POST", new, {key: each for key, each in event.items() if key != field})
        for field in ("eventTime", "reportingController", "reportingInstance", "action", "type")
    ]
    both(
        Step("POST", leases, lease),
        Step("POST", leases, lease | {"spec": {"leaseDurationSeconds": 0}}),
        Step("PUT", f"{leases}/l", lease),
        Step("PUT", f"{leases}/m", lease | {"metadata": {"name": "m"}}),
        Step("DELETE", f"{leases}/l"),
        *without,
        Step("POST", new, event),
        Step("GET", f"{core}/e"),
        Step("PATCH", f"{new}/e", series, STRATEGIC),
        Step("PATCH", f"{new}/e", {"note": "other"}, STRATEGIC),
        Step("POST", core, old),
        Step("GET", f"{new}/c"),
        Step("POST", core, old | {"involvedObject": {"namespace": "elsewhere"}}),
        Step("GET", f"{core}?fieldSelector=involvedObject.name%3Dp,reason%3DScheduled"),
        Step("GET", f"{new}?fieldSelector=regarding.name%3Dp"),
    )


def test_workloads_and_storage(both: Both) -> None:
    apps, batch = "/apis/apps/v1/namespaces/NS", "/apis/batch/v1/namespaces/NS"
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": container(image="x:1")}
    chosen = {"selector": {"matchLabels": labels}, "template": template}
    ends = {"template": {"spec": container(image="x:1") | {"restartPolicy": "Never"}}}

    def named(name: str, **spec: Any) -> Object:
        return {"metadata": {"name": name}, "spec": spec}

    budgets = "/apis/policy/v1/namespaces/NS/poddisruptionbudgets"
    other = {"selector": {"matchLabels": {"c": "d"}}, "template": template}
    claims = "/api/v1/namespaces/NS/persistentvolumeclaims"
    both(
        Step("POST", f"{apps}/replicasets", named("r", replicas=0, **chosen)),
        Step("POST", f"{apps}/replicasets", named("s", **other)),
        Step("POST", f"{apps}/replicasets", named("s", template=template)),
        Step("POST", f"{apps}/replicasets", named("s", **(chosen | {"selector": {}}))),
        Step("POST", f"{apps}/deployments", named("d", replicas=0, **chosen)),
        Step("POST", f"{apps}/deployments", named("e", replicas=-1, **chosen)),
        Step("POST", f"{apps}/statefulsets", named("t", replicas=0, serviceName="x", **chosen)),
        Step("GET", f"{apps}/replicasets/r/scale"),
        Step("PATCH", f"{apps}/replicasets/r/scale", {"spec": {"replicas": -1}}, MERGE),
        Step("POST", f"{batch}/jobs", named("j", suspend=True, **ends)),
        Step("POST", f"{batch}/jobs", named("k", parallelism=-1, completionMode="Indexed", **ends)),
        Step("POST", f"{batch}/jobs", named("k", template={"spec": container(image="x:1")})),
        Step("POST", budgets, named("b", minAvailable=1, selector={"matchLabels": labels})),
        Step("POST", budgets, named("c", minAvailable=1, maxUnavailable=1)),
        Step("POST", budgets, named("c", minAvailable="x%")),
        Step("POST", "/api/v1/namespaces/NS/services", named("s", ports=[{"port": 80}])),
        Step("POST", "/api/v1/namespaces/NS/services", named("u")),
        Step("POST", claims, named("c")),
        Step(
            "POST",
            claims,
            named("c", accessModes=["ReadWriteOnce"], resources={"requests": {"storage": "1Gi"}}),
        ),
    )
