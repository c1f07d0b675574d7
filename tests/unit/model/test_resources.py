"""Amounts, names of resources, tolerations and nodes."""

import pytest

from fairlead.model.decode import decode_node
from fairlead.model.errors import DecodeError
from fairlead.model.node import Taint
from fairlead.model.quantities import quantities
from fairlead.model.resources import Resources, is_extended, is_scalar, resources_of
from fairlead.model.toleration import Toleration, tolerated


def test_amounts_are_in_the_units_of_scheduling() -> None:
    amounts = resources_of(
        quantities(
            {
                "cpu": "0.1m",
                "memory": "1500m",
                "ephemeral-storage": "1Ki",
                "pods": "10",
                "storage": "1Gi",
                "example.com/gpu": "0",
                "hugepages-2Mi": "4Mi",
            }
        )
    )
    assert amounts == Resources(1, 2, 1024, (("example.com/gpu", 0), ("hugepages-2Mi", 4194304)))
    assert amounts.get("cpu") == 1
    assert amounts.get("memory") == 2
    assert amounts.get("ephemeral-storage") == 1024
    assert amounts.get("hugepages-2Mi") == 4194304
    assert amounts.get("pods") == 0
    assert hash(amounts) == hash(Resources(1, 2, 1024, amounts.scalars))


def test_a_floor_holds_for_every_amount() -> None:
    negative = quantities({"cpu": "-1", "example.com/gpu": "-2"})
    assert resources_of(negative) == Resources(-1000, 0, 0, (("example.com/gpu", -2),))
    assert resources_of(negative, least=0) == Resources(0, 0, 0, (("example.com/gpu", 0),))


@pytest.mark.parametrize(
    ("name", "scalar", "extended"),
    [
        ("example.com/gpu", True, True),
        ("hugepages-1Gi", True, False),
        ("attachable-volumes-csi", True, False),
        ("kubernetes.io/batch", True, False),
        ("node.kubernetes.io/x", True, False),
        ("requests.example.com/gpu", False, False),
        ("storage", False, False),
        ("gpu", False, False),
        ("Example.com/gpu", False, False),
        ("example.com/", False, False),
        ("example.com/a/b", False, False),
        ("/gpu", False, False),
        ("example.com/" + "g" * 63, True, True),
        ("example.com/" + "g" * 64, False, False),
    ],
)
def test_names_that_are_counted(name: str, scalar: bool, extended: bool) -> None:
    assert is_scalar(name) is scalar
    assert is_extended(name) is extended


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (Toleration("k", "Equal", "v", "NoSchedule"), True),
        (Toleration("k", "", "v", ""), True),
        (Toleration("k", "Equal", "w", "NoSchedule"), False),
        (Toleration("k", "Exists"), True),
        (Toleration("", "Exists"), True),
        (Toleration("", "", "v"), True),
        (Toleration("", "", ""), False),
        (Toleration("j", "Exists"), False),
        (Toleration("k", "Exists", "", "NoExecute"), False),
        (Toleration("k", "Gt", "1"), False),
        (Toleration("k", "Lt", "1"), False),
    ],
)
def test_tolerations(toleration: Toleration, tolerates: bool) -> None:
    taint = Taint("k", "v", "NoSchedule")
    assert toleration.tolerates(taint) is tolerates
    assert tolerated(taint, [Toleration("x"), toleration]) is tolerates
    assert not tolerated(taint, [])


def test_a_node_offers_what_is_allocatable_to_pods() -> None:
    node = decode_node(
        b'{"metadata":{"name":"n","labels":{"a":"b"}},"spec":{"unschedulable":true,"taints":'
        b'[{"key":"k","effect":"NoSchedule"}]},"status":{"capacity":{"cpu":"9"},"allocatable":'
        b'{"cpu":"3920m","memory":"1Ki","pods":"110","example.com/gpu":"2"},'
        b'"images":[{"names":["a","b"],"sizeBytes":7}],"declaredFeatures":["F"]}}'
    )
    expected = (Resources(3920, 1024, 0, (("example.com/gpu", 2),)), 110)
    assert node.allocatable_resources() == expected
    assert node.allocatable_resources() is node.allocatable_resources()
    assert node.spec.unschedulable
    assert node.spec.taints == (Taint("k", "", "NoSchedule"),)
    assert node.status.images[0].names == ("a", "b")
    assert node.status.images[0].size_bytes == 7
    assert node.status.declared_features == ("F",)


def test_a_node_with_a_quantity_that_cannot_be_read_says_which() -> None:
    node = decode_node(b'{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"lots"}}}')
    with pytest.raises(DecodeError, match=r"'cpu'.*'lots'"):
        node.allocatable_resources()
