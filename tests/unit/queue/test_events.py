"""Cluster events: labels, bits, and which registrations an incoming event matches."""

import pytest

from fairlead.queue.events import (
    ADD,
    ALL,
    ASSIGNED_POD,
    CSI_NODE,
    DELETE,
    FORCE_ACTIVATED,
    NODE,
    POD,
    UNSCHEDULABLE_POD,
    UNSCHEDULABLE_TIMEOUT,
    UPDATE,
    WILDCARD,
    ActionType,
    ClusterEvent,
    matches,
)


def test_the_bits_are_kube_schedulers() -> None:
    names = [
        "ADD",
        "DELETE",
        "UPDATE_NODE_ALLOCATABLE",
        "UPDATE_NODE_LABEL",
        "UPDATE_NODE_TAINT",
        "UPDATE_NODE_CONDITION",
        "UPDATE_NODE_ANNOTATION",
        "UPDATE_NODE_DECLARED_FEATURE",
        "UPDATE_POD_LABEL",
        "UPDATE_POD_SCALE_DOWN",
        "UPDATE_POD_TOLERATION",
        "UPDATE_POD_SCHEDULING_GATES_ELIMINATED",
        "UPDATE_POD_GENERATED_RESOURCE_CLAIM",
    ]
    assert [ActionType[name] for name in names] == [1 << bit for bit in range(13)]
    updates = sum(ActionType[name] for name in names if name.startswith("UPDATE_"))
    assert updates == UPDATE == 8188
    assert ADD | DELETE | UPDATE == ALL == 8191


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (ClusterEvent(NODE, ADD), "NodeAdd"),
        (ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT), "NodeUpdateNodeTaint"),
        (ClusterEvent(ASSIGNED_POD, DELETE), "AssignedPodDelete"),
        (ClusterEvent(UNSCHEDULABLE_POD, UPDATE), "UnschedulablePodUpdate"),
        (ClusterEvent(ASSIGNED_POD, ActionType.UPDATE_POD_LABEL), "AssignedPodUpdatePodLabel"),
        (ClusterEvent(CSI_NODE, ADD), "storage.k8s.io/CSINodeAdd"),
        (UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
        (FORCE_ACTIVATED, "ForceActivate"),
    ],
)
def test_labels_are_kube_schedulers(event: ClusterEvent, label: str) -> None:
    assert event.label == label


LABEL = ActionType.UPDATE_NODE_LABEL
TAINT = ActionType.UPDATE_NODE_TAINT


@pytest.mark.parametrize(
    ("registered", "incoming", "expected"),
    [
        ((NODE, ADD), (NODE, ADD), True),
        ((NODE, ADD), (NODE, DELETE), False),
        ((NODE, ADD), (POD, ADD), False),
        # Pod stands for assigned and for unscheduled pods, which stand only for themselves.
        ((POD, ADD), (ASSIGNED_POD, ADD), True),
        ((POD, ADD), (UNSCHEDULABLE_POD, ADD), True),
        ((ASSIGNED_POD, ADD), (POD, ADD), False),
        # A generic update is no specific one; a specific one is an update.
        ((NODE, UPDATE), (NODE, LABEL), True),
        ((NODE, LABEL), (NODE, UPDATE), False),
        ((NODE, UPDATE), (NODE, UPDATE), True),
        ((NODE, ADD | LABEL), (NODE, LABEL), True),
        # The bits are compared as numbers too: 16 is more than 9, though both are one bit of 25.
        ((NODE, ADD | LABEL), (NODE, ADD | TAINT), False),
        ((NODE, ADD | TAINT), (NODE, ADD | LABEL), True),
        # Wildcards.
        ((WILDCARD, ALL), (NODE, ADD), True),
        ((WILDCARD, ALL), (WILDCARD, ALL), True),
        ((WILDCARD, ADD), (NODE, ADD), True),
        ((WILDCARD, ADD), (NODE, DELETE), False),
        ((WILDCARD, ADD), (WILDCARD, ALL), False),
        ((NODE, ALL), (WILDCARD, ALL), False),
    ],
)
def test_matching_compares_resource_bits_and_numbers(
    registered: tuple[str, ActionType], incoming: tuple[str, ActionType], expected: bool
) -> None:
    assert matches(ClusterEvent(*registered), ClusterEvent(*incoming)) is expected


def test_a_custom_label_changes_nothing_but_the_label() -> None:
    assert matches(ClusterEvent(WILDCARD, ALL), UNSCHEDULABLE_TIMEOUT)
    assert not matches(ClusterEvent(NODE, ALL), UNSCHEDULABLE_TIMEOUT)
