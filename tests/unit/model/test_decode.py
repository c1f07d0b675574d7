"""Decoders: what each kind gives, and one clear error for whatever is hostile."""

from typing import Any, TypeVar

import msgspec
import pytest

from fairlead.model.decode import DECODERS, decode_node, decode_pod, decode_pod_event
from fairlead.model.errors import DecodeError
from fairlead.model.resource import DeviceClass, ResourceClaim, ResourceSlice
from fairlead.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from fairlead.model.workload import Service

T = TypeVar("T")


def decoded(kind: type[T], document: str) -> T:
    found = DECODERS[kind.__name__](document.encode())
    assert isinstance(found, kind)
    return found


def test_every_kind_reads_its_metadata() -> None:
    assert len(DECODERS) == 19
    for kind, decode in DECODERS.items():
        found: Any = decode(b'{"metadata":{"name":"x"},"unknown":[1,{}]}')
        assert found.metadata.name == "x", kind


def test_storage() -> None:
    volume = decoded(
        PersistentVolume,
        '{"spec":{"capacity":{"storage":"1Gi"},"claimRef":{"name":"c"},"csi":{"driver":"d"},'
        '"nodeAffinity":{"required":{"nodeSelectorTerms":[{}]}}},"status":{"phase":"Bound"}}',
    )
    assert volume.spec.capacity == {"storage": "1Gi"}
    assert volume.spec.claim_ref is not None
    assert volume.spec.claim_ref.name == "c"
    assert volume.status.phase == "Bound"
    claim = decoded(PersistentVolumeClaim, '{"spec":{"storageClassName":""}}')
    assert claim.spec.storage_class_name == ""
    assert decoded(PersistentVolumeClaim, "{}").spec.storage_class_name is None
    sort = decoded(StorageClass, '{"provisioner":"p","volumeBindingMode":"Immediate"}')
    assert (sort.provisioner, sort.volume_binding_mode) == ("p", "Immediate")
    drivers = '{"spec":{"drivers":[{"name":"d","allocatable":{"count":4}},{"name":"e"}]}}'
    limits = [driver.allocatable for driver in decoded(CSINode, drivers).spec.drivers]
    assert limits[0] is not None
    assert limits[0].count == 4
    assert limits[1] is None
    assert decoded(CSIDriver, '{"spec":{"storageCapacity":true}}').spec.storage_capacity
    capacity = decoded(CSIStorageCapacity, '{"capacity":"1Gi","nodeTopology":{}}')
    assert capacity.capacity == "1Gi"
    assert capacity.node_topology is not None


def test_devices() -> None:
    piece = decoded(
        ResourceSlice,
        '{"spec":{"driver":"d","pool":{"name":"p","generation":2},"devices":[{"name":"g",'
        '"attributes":{"a":{"int":3},"b":{"bool":true}},"capacity":{"m":{"value":"1Gi"}}}]}}',
    )
    device = piece.spec.devices[0]
    assert device.attributes["a"].integer == 3
    assert device.attributes["b"].boolean is True
    assert device.capacity["m"].value == "1Gi"
    claim = decoded(
        ResourceClaim,
        '{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}},'
        '"status":{"allocation":{"devices":{"results":[{"shareID":"s"}]}}}}',
    )
    exactly = claim.spec.devices.requests[0].exactly
    assert exactly is not None
    assert exactly.device_class_name == "c"
    assert claim.status.allocation is not None
    assert claim.status.allocation.devices.results[0].share_id == "s"
    name = decoded(DeviceClass, '{"spec":{"extendedResourceName":"e/x"}}')
    assert name.spec.extended_resource_name == "e/x"


def test_null_is_absent() -> None:
    pod = decode_pod(b'{"metadata":{"name":"a","labels":null},"spec":{"nodeName":null}}')
    assert (pod.metadata.name, pod.spec.node_name) == ("a", "")
    assert decoded(Service, '{"spec":{"selector":null}}').spec.selector == {}


HOSTILE = {
    "empty": b"",
    "not JSON": b"{",
    "another type": b"[]",
    "a word": b"null",
    "not a number": b'{"spec":{"priority":NaN}}',
    "infinity": b'{"spec":{"priority":1e999}}',
    "a huge integer": b'{"spec":{"priority":99999999999999999999999999}}',
    "too large an integer": b'{"spec":{"priority":2147483648}}',
    "a fraction": b'{"spec":{"priority":1.5}}',
    "text for a number": b'{"spec":{"priority":"1"}}',
    "not UTF-8": b'{"metadata":{"name":"\xff"}}',
    "half a surrogate": b'{"metadata":{"name":"\\ud800"}}',
    "deep arrays": b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"spec":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
    "deep nulls": b'{"spec":{"nodeName":null,"x":' + b"[" * 900 + b"]" * 900 + b"}}",
    "trailing": b"{} {}",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_are_one_clear_error(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^pod.*: ") as caught:
        decode_pod(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_the_error_names_the_object() -> None:
    bad = b'{"metadata":{"name":"a","namespace":"b"},"spec":{"nodeName":5}}'
    with pytest.raises(DecodeError, match=r"^pod b/a: Expected `str`, got `int` - at"):
        decode_pod(bad)
    with pytest.raises(DecodeError, match=r"^pod b/a: "):
        decode_pod_event(b'{"type":"ADDED","object":' + bad + b"}")
    with pytest.raises(DecodeError, match=r"^node n: "):
        decode_node(b'{"metadata":{"name":"n"},"spec":{"taints":{}}}')
    with pytest.raises(DecodeError, match=r"^service s: "):
        DECODERS["Service"](b'{"metadata":{"name":"s"},"spec":{"selector":{"a":1}}}')


def test_of_keys_that_occur_twice_the_last_counts() -> None:
    assert decode_pod(b'{"spec":{"nodeName":"a","nodeName":"b"}}').spec.node_name == "b"


def test_bytes_may_come_as_raw() -> None:
    assert decode_node(msgspec.Raw(b'{"metadata":{"name":"n"}}')).metadata.name == "n"
