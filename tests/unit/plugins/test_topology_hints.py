"""Which events wake a pod that the spread or its neighbours have kept out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.cluster.state import Cluster
from fairlead.config.args import InterPodAffinityArgs, PodTopologySpreadArgs
from fairlead.framework.handle import Handle
from fairlead.model.decode import decode_node, decode_pod
from fairlead.model.node import Node
from fairlead.model.podinfo import PodInfo, PodInfos
from fairlead.plugins.inter_pod_affinity.plugin import InterPodAffinity
from fairlead.plugins.pod_topology_spread.plugin import PodTopologySpread
from fairlead.queue.events import NODE, POD, Hint

APP = {"labelSelector": {"matchLabels": {"app": "a"}}}


def pod(name: str = "p", node: str = "", namespace: str = "ns", **given: Any) -> PodInfo:
    labels = given.pop("labels", {"app": "a"})
    meta = {"name": name, "namespace": namespace, "uid": name, "labels": labels}
    spec = {"nodeName": node, **given}
    return PodInfos().of(decode_pod(json.dumps({"metadata": meta, "spec": spec}).encode()))


def node(taints: list[Any] | None = None, **labels: str) -> Node:
    obj = {"metadata": {"name": "n", "labels": labels}, "spec": {"taints": taints or []}}
    return decode_node(json.dumps(obj).encode())


def hint(plugin: Any, resource: str) -> Hint:
    return next(h for event, h in plugin.events_to_register() if event.resource == resource)


def handle() -> Handle:
    cluster = Cluster()
    return Handle(cluster.nodes, cluster.objects)


def spreading(**given: Any) -> PodInfo:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **APP}
    return pod("me", topologySpreadConstraints=[{**constraint, **given}])


def after(resource: str) -> Hint:
    return hint(PodTopologySpread(PodTopologySpreadArgs(), handle()), resource)


@pytest.mark.parametrize(
    ("old", "new", "wakes"),
    [
        (None, pod(node="n"), True),
        (None, pod(node="n", labels={"app": "b"}), False),
        (None, pod(node="n", namespace="other"), False),
        (None, pod(), False),
        (pod(node="n"), None, True),
        (pod(node="n"), pod(node="n", labels={"app": "b"}), True),
        (pod(node="n", labels={"app": "c"}), pod(node="n", labels={"app": "b"}), False),
        (pod(node="n"), pod(node="n"), False),
    ],
)
def test_spread_wakes_for_pods_that_count(
    old: PodInfo | None, new: PodInfo | None, *, wakes: bool
) -> None:
    assert after(POD)(spreading(), old, new) is wakes


@pytest.mark.parametrize("policy", ["Honor", "Ignore"])
def test_spread_wakes_for_a_toleration_where_taints_count(policy: str) -> None:
    me = spreading(nodeTaintsPolicy=policy)
    tolerant = pod("me", tolerations=[{"operator": "Exists"}])
    assert after(POD)(me, pod("me"), tolerant) is (policy == "Honor")


@pytest.mark.parametrize(
    ("old", "new", "wakes"),
    [
        (None, node(zone="1"), True),
        (None, node(rack="1"), False),
        (node(zone="1"), None, True),
        (node(), None, False),
        (node(), node(zone="1"), True),
        (node(zone="1"), node(), True),
        (node(zone="1"), node(zone="2"), True),
        (node(zone="1"), node(zone="1", rack="1"), False),
        (node(zone="1"), node([{"key": "k", "effect": "NoSchedule"}], zone="1"), True),
        (node(), node([{"key": "k", "effect": "NoSchedule"}]), False),
    ],
)
def test_spread_wakes_for_nodes_that_have_the_key(
    old: Node | None, new: Node | None, *, wakes: bool
) -> None:
    assert after(NODE)(spreading(), old, new) is wakes


def test_spread_that_cannot_be_read_is_an_error() -> None:
    broken = spreading(labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]})
    with pytest.raises(ValueError, match="not a valid label selector operator"):
        after(NODE)(broken, None, node(zone="1"))


def wanting(kind: str, namespace: str = "ns") -> PodInfo:
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", **APP}]}
    return pod("me", labels={"app": "me"}, namespace=namespace, affinity={kind: terms})


def neighbours(resource: str) -> Hint:
    return hint(InterPodAffinity(InterPodAffinityArgs(), handle()), resource)


B = pod(node="n", labels={"app": "b"})
A = pod(node="n")
HATER = pod(
    node="n",
    labels={},
    affinity={
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "me"}}}
            ]
        }
    },
)


@pytest.mark.parametrize(
    ("old", "new", "near", "far"),
    [
        (None, A, True, False),
        (None, B, False, False),
        (None, pod(), False, False),
        (None, pod(node="n", namespace="other"), False, False),
        (B, A, True, False),
        (A, B, False, True),
        (A, None, False, True),
        (B, None, False, False),
        (HATER, None, True, True),
        (None, HATER, False, False),
        (pod("me"), pod("me"), True, True),
    ],
)
def test_neighbours_that_come_or_go(
    old: PodInfo | None, new: PodInfo | None, *, near: bool, far: bool
) -> None:
    assert neighbours(POD)(wanting("podAffinity"), old, new) is near
    assert neighbours(POD)(wanting("podAntiAffinity"), old, new) is far


@pytest.mark.parametrize(
    ("old", "new", "near", "far"),
    [
        (None, node(zone="1"), True, True),
        (None, node(), False, True),
        (node(), node(zone="1"), True, False),
        (node(zone="1"), node(), False, True),
        (node(zone="1"), node(zone="2"), True, True),
        (node(zone="1"), node(zone="1", rack="1"), False, False),
    ],
)
def test_nodes_that_change_domains(old: Node | None, new: Node, *, near: bool, far: bool) -> None:
    assert neighbours(NODE)(wanting("podAffinity"), old, new) is near
    assert neighbours(NODE)(wanting("podAntiAffinity"), old, new) is far
