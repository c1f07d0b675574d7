"""What pods need of a kubelet, read from their spec, and the nodes that declare it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import World, info, node, pod

RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
RESTART = "RestartAllContainersOnContainerExits"
USERS = "UserNamespacesHostNetworkSupport"
MAIN = {"name": "main", "image": "app"}

NEEDS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({}, ()),
    ({"hostNetwork": True}, ()),
    ({"hostUsers": False}, ()),
    ({"hostNetwork": True, "hostUsers": True}, ()),
    ({"hostNetwork": True, "hostUsers": False}, (USERS,)),
    ({"containers": [MAIN | {"restartPolicyRules": [RULE]}]}, (RESTART,)),
    ({"initContainers": [MAIN | {"restartPolicyRules": [RULE]}]}, (RESTART,)),
    ({"containers": [MAIN | {"restartPolicyRules": [RULE | {"action": "Restart"}]}]}, ()),
    (
        {
            "hostNetwork": True,
            "hostUsers": False,
            "containers": [MAIN, MAIN | {"restartPolicyRules": [RULE]}],
        },
        (RESTART, USERS),
    ),
]


@pytest.mark.parametrize(("spec", "features"), NEEDS)
def test_what_a_pod_needs_is_read_from_its_spec(
    spec: dict[str, Any], features: tuple[str, ...]
) -> None:
    assert info(pod("p", spec=spec)).required_features == features


def test_a_node_must_declare_all_and_may_declare_more() -> None:
    world = World(
        node("none"), node("one", features=[RESTART]), node("all", features=["A", RESTART, USERS])
    )
    found = world.look(pod("p", spec=NEEDS[-1][0])).filter or {}
    assert {name for name, refusal in found.items() if refusal is None} == {"all"}
    assert world.look(pod("plain")).winners == ["all", "none", "one"]


def test_a_kept_answer_follows_what_nodes_declare() -> None:
    world = World(node("a"), node("b", features=[USERS]))
    needy = pod("p", spec=NEEDS[4][0])
    assert world.look(needy).winners == ["b"]
    world.set_node(node("a", features=[USERS]))
    world.set_node(node("b"))
    assert world.look(needy).winners == ["a"]
