"""Which events an update is, on real pods and nodes as they come over the wire."""

from typing import Any

import msgspec
import pytest

from fairlead.model.node import Node
from fairlead.model.pod import Pod
from fairlead.model.podinfo import PodInfo, PodInfos
from fairlead.queue.extraction import node_update_events, pod_update_events

PODS = PodInfos()


def container(**requests: str) -> dict[str, Any]:
    return {"name": "main", "resources": {"requests": requests}}


def pod(*, spec: Any = None, status: Any = None, **metadata: Any) -> PodInfo:
    wire = {
        "metadata": {"name": "a", "namespace": "default", "uid": "u", **metadata},
        "spec": {"containers": [container(cpu="1", memory="1Gi")], **(spec or {})},
        "status": status or {},
    }
    return PODS.of(msgspec.json.decode(msgspec.json.encode(wire), type=Pod))


def node(*, spec: Any = None, status: Any = None, **metadata: Any) -> Node:
    wire = {"metadata": {"name": "n", **metadata}, "spec": spec or {}, "status": status or {}}
    return msgspec.json.decode(msgspec.json.encode(wire), type=Node)


def of_pod(old: PodInfo, new: PodInfo) -> list[str]:
    return [event.label for event in pod_update_events(old, new)]


def of_node(old: Node, new: Node) -> list[str]:
    return [event.label for event in node_update_events(old, new)]


TOLERATION = {"key": "k", "operator": "Exists"}
GATE = {"name": "g"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (pod(), pod(labels={"a": "b"}), "UpdatePodLabel"),
        (pod(), pod(spec={"tolerations": [TOLERATION]}), "UpdatePodToleration"),
        (
            pod(spec={"schedulingGates": [GATE]}),
            pod(),
            "UpdatePodSchedulingGatesEliminated",
        ),
        (
            pod(spec={"schedulingGates": [GATE, {"name": "h"}]}),
            pod(spec={"schedulingGates": [GATE]}),
            "Update",
        ),
        (
            pod(),
            pod(status={"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "a-c"}]}),
            "UpdatePodGeneratedResourceClaim",
        ),
        (
            pod(),
            pod(status={"extendedResourceClaimStatus": {"resourceClaimName": "a-x"}}),
            "UpdatePodGeneratedResourceClaim",
        ),
        (pod(), pod(status={"nominatedNodeName": "n1"}), "Update"),
        (pod(), pod(), "Update"),
    ],
)
def test_what_changed_in_a_pod_is_the_event(old: PodInfo, new: PodInfo, expected: str) -> None:
    assert of_pod(old, new) == ["UnschedulablePod" + expected]


@pytest.mark.parametrize(
    ("before", "after", "down"),
    [
        ({"cpu": "1"}, {"cpu": "999m"}, True),
        ({"cpu": "1"}, {"cpu": "1001m"}, False),
        ({"cpu": "1"}, {"cpu": "1000m"}, False),
        ({"cpu": "1"}, {}, True),
        ({"memory": "2Gi"}, {"memory": "1Gi"}, True),
        ({"ephemeral-storage": "2Gi"}, {"ephemeral-storage": "1Gi"}, True),
        ({"example.com/gpu": "2"}, {"example.com/gpu": "1"}, True),
        ({"example.com/gpu": "1"}, {"example.com/gpu": "2"}, False),
        ({"example.com/gpu": "1"}, {}, True),
        ({"cpu": "2", "memory": "1Gi"}, {"cpu": "1", "memory": "2Gi"}, True),
        ({}, {"cpu": "1"}, False),
    ],
)
def test_any_request_that_shrinks_or_goes_scales_the_pod_down(
    before: dict[str, str], after: dict[str, str], down: bool
) -> None:
    old = pod(spec={"containers": [container(**before)]})
    new = pod(spec={"containers": [container(**after)]})
    expected = "UpdatePodScaleDown" if down else "Update"
    assert of_pod(old, new) == ["UnschedulablePod" + expected]


def test_several_changes_are_several_events_in_a_fixed_order() -> None:
    old = pod(spec={"schedulingGates": [GATE], "containers": [container(cpu="2")]})
    new = pod(
        labels={"a": "b"},
        spec={"tolerations": [TOLERATION], "containers": [container(cpu="1")], "nodeName": "n1"},
    )
    assert of_pod(old, new) == [
        "AssignedPodUpdatePodLabel",
        "AssignedPodUpdatePodScaleDown",
        "AssignedPodUpdatePodSchedulingGatesEliminated",
        "AssignedPodUpdatePodToleration",
    ]


def ready(status: str, heartbeat: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat}]}


TAINT = {"key": "k", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (node(), node(), []),
        (node(spec={"unschedulable": True}), node(), ["NodeUpdateNodeTaint"]),
        (node(), node(spec={"unschedulable": True}), []),
        (node(), node(spec={"taints": [TAINT]}), ["NodeUpdateNodeTaint"]),
        (node(), node(labels={"a": "b"}), ["NodeUpdateNodeLabel"]),
        (node(), node(annotations={"a": "b"}), ["NodeUpdateNodeAnnotation"]),
        (
            node(status={"allocatable": {"cpu": "1"}}),
            node(status={"allocatable": {"cpu": "1000m"}}),
            [],
        ),
        (
            node(status={"allocatable": {"cpu": "1", "pods": "10"}}),
            node(status={"allocatable": {"cpu": "1", "pods": "11"}}),
            ["NodeUpdateNodeAllocatable"],
        ),
        (node(status=ready("True", "1")), node(status=ready("True", "2")), []),
        (node(status=ready("False")), node(status=ready("True")), ["NodeUpdateNodeCondition"]),
        (
            node(),
            node(status={"declaredFeatures": ["A"]}),
            ["NodeUpdateNodeDeclaredFeature"],
        ),
    ],
)
def test_what_changed_in_a_node_is_the_event_and_a_heartbeat_is_none(
    old: Node, new: Node, expected: list[str]
) -> None:
    assert of_node(old, new) == expected


def test_the_events_of_a_node_come_in_a_fixed_order() -> None:
    old = node(spec={"unschedulable": True})
    new = node(
        labels={"a": "b"},
        annotations={"a": "b"},
        spec={"taints": [TAINT]},
        status={"allocatable": {"cpu": "1"}, "declaredFeatures": ["A"], **ready("True")},
    )
    assert of_node(old, new) == [
        "NodeUpdateNodeTaint",
        "NodeUpdateNodeAllocatable",
        "NodeUpdateNodeLabel",
        "NodeUpdateNodeTaint",
        "NodeUpdateNodeCondition",
        "NodeUpdateNodeAnnotation",
        "NodeUpdateNodeDeclaredFeature",
    ]
