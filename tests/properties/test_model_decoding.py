"""Decoders under mutated JSON: the object, or one DecodeError, and never anything else."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.decode import DECODERS
from fairlead.model.errors import DecodeError
from fairlead.model.node import Node
from fairlead.model.pod import Pod
from fairlead.model.podinfo import PodInfos

SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "Exists"}]}
NODES = {
    "nodeSelectorTerms": [
        {
            "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
        }
    ]
}
META = {"name": "x", "namespace": "y", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}}
POD = {
    "metadata": {**META, "ownerReferences": [{"kind": "Job", "controller": True}]},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                "ports": [{"hostPort": 1, "hostIP": "::", "protocol": "TCP"}],
            }
        ],
        "initContainers": [{"name": "d", "restartPolicy": "Always"}],
        "overhead": {"cpu": "1m"},
        "resources": {"requests": {"memory": "2"}},
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": NODES,
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": NODES["nodeSelectorTerms"][0]}
                ],
            },
            "podAffinity": {},
        },
        "volumes": [{"name": "v", "image": {"reference": "r"}}],
        "priority": 1,
        "schedulingGates": [{"name": "g"}],
    },
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
        "containerStatuses": [
            {"name": "c", "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {}}
        ],
        "resources": {},
    },
}
NODE = {
    "metadata": {**META, "annotations": {"a": "b"}},
    "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "4", "pods": "110"},
        "images": [{"names": ["i"], "sizeBytes": 5}],
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
OTHER = {
    "metadata": META,
    "spec": {
        "selector": SELECTOR,
        "capacity": {"storage": "1Gi"},
        "nodeSelector": NODES,
        "drivers": [{"name": "d", "allocatable": {"count": 1}}],
        "devices": {"requests": [{"name": "r", "exactly": {"count": 1}}]},
    },
    "status": {"phase": "Bound", "disruptedPods": {"p": "t"}, "disruptionsAllowed": 1},
    "value": 5,
    "capacity": "1Gi",
    "nodeTopology": SELECTOR,
}

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(["1e999999999", "1Ei", "-1", "9" * 5000, "NaN", "1.5.5"]),
)
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=3,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a document: the container, and the key or index in it."""
    found: list[tuple[Any, Any]] = []
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        found.append((value, key))
        if isinstance(value[key], dict | list):
            found += places(value[key])
    return found


@st.composite
def mutated(draw: st.DrawFn, document: dict[str, Any]) -> bytes:
    copy = msgspec.json.decode(msgspec.json.encode(document))
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(places(copy)))
        if isinstance(holder, dict) and draw(st.booleans()) and key in holder:
            holder[draw(st.text(max_size=3))] = holder.pop(key)
        elif isinstance(holder, list) or key in holder:
            holder[key] = draw(junk)
    data = bytearray(msgspec.json.encode(copy))
    for _ in range(draw(st.integers(0, 2))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


def survives(kind: str, data: bytes, infos: PodInfos) -> None:
    error = "none"
    try:
        found = DECODERS[kind](data)
        if isinstance(found, Pod):
            infos.of(found)
        elif isinstance(found, Node):
            found.allocatable_resources()
    except DecodeError as raised:
        error = str(raised)
    assert "\n" not in error
    assert error


INFOS = PodInfos(limit=100)


@given(mutated(POD))
def test_pods(data: bytes) -> None:
    survives("Pod", data, INFOS)


@given(mutated(NODE))
def test_nodes(data: bytes) -> None:
    survives("Node", data, INFOS)


@pytest.mark.parametrize("kind", sorted(DECODERS.keys() - {"Pod", "Node"}))
@given(data=mutated(OTHER))
def test_all_other_kinds(kind: str, data: bytes) -> None:
    survives(kind, data, INFOS)


def test_the_documents_that_are_mutated_are_sound() -> None:
    infos = PodInfos()
    pod = DECODERS["Pod"](msgspec.json.encode(POD))
    assert isinstance(pod, Pod)
    assert infos.of(pod).required_node_affinity is not None
    node = DECODERS["Node"](msgspec.json.encode(NODE))
    assert isinstance(node, Node)
    assert node.allocatable_resources()[1] == 110
