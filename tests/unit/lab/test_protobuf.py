"""Bodies in protobuf, encoded here by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.lab.cluster import Cluster
from fairlead.lab.http import Reply, Request
from fairlead.lab.protobuf import MAGIC, PROTOBUF, from_protobuf
from tests.unit.lab.objects import pod


def varint(number: int) -> bytes:
    out = bytearray()
    number &= 2**64 - 1
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def message(*parts: tuple[int, int | str | bytes]) -> bytes:
    out = b""
    for number, value in parts:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def enveloped(version: str, kind: str, raw: bytes) -> bytes:
    return MAGIC + message((1, message((1, version), (2, kind))), (2, raw), (3, ""), (4, ""))


def test_a_pod_is_read_with_all_its_kinds_of_field() -> None:
    limits = message((1, message((1, "cpu"), (2, message((1, "500m"))))))
    port = message((1, ""), (2, 0), (3, 80))
    container = message((1, "main"), (2, "image:1"), (6, port), (8, limits))
    volume = message((1, "data"), (2, message((2, message((1, "Memory"))))))
    toleration = message((1, "k"), (2, "Exists"), (5, -1))
    spec = message(
        (1, volume), (2, container), (3, "Never"), (4, 0), (10, ""), (11, 0), (22, toleration)
    )
    label = message((1, "app"), (2, "web"))
    created = message((1, 1_767_225_600), (2, 5))
    metadata = message((1, "a"), (7, 0), (8, created), (11, label))
    body = enveloped("v1", "Pod", message((1, metadata), (2, spec), (3, b"")))
    assert from_protobuf(body, "Pod") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "a",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "web"},
        },
        "spec": {
            "volumes": [{"name": "data", "emptyDir": {"medium": "Memory"}}],
            "containers": [
                {
                    "name": "main",
                    "image": "image:1",
                    "ports": [{"containerPort": 80}],
                    "resources": {"limits": {"cpu": "500m"}},
                }
            ],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": -1}],
        },
        "status": {},
    }


def test_microseconds_and_numbers_or_words() -> None:
    renewed = message((1, 1_767_225_600), (2, 123_456_789))
    lease = message((1, message((1, "l"))), (2, message((1, "me"), (4, renewed))))
    found = from_protobuf(enveloped("coordination.k8s.io/v1", "Lease", lease), "Lease")
    assert found["spec"]["renewTime"] == "2026-01-01T00:00:00.123456Z"
    budget = message((2, message((1, message((1, 1), (2, 0), (3, "50%"))))))
    found = from_protobuf(enveloped("policy/v1", "PodDisruptionBudget", budget), "x")
    assert found["spec"]["minAvailable"] == "50%"


def send(cluster: Cluster, method: str, path: str, body: bytes) -> tuple[int, Any]:
    reply = cluster.api.answer(Request(method, path, {}, body, PROTOBUF))
    assert isinstance(reply, Reply)
    return reply.code, msgspec.json.decode(reply.body)


def test_a_binding_and_a_deletion_come_in_protobuf() -> None:
    cluster = Cluster(nodes=1)
    cluster.create(pod("a"))
    path = "/api/v1/namespaces/default/pods/a"
    target = message((1, "Node"), (3, "node-1"))
    binding = enveloped("v1", "Binding", message((1, message((1, "a"))), (2, target)))
    assert send(cluster, "POST", f"{path}/binding", binding)[0] == 201
    found = cluster.get("pods", "a")
    assert found is not None
    assert found["spec"]["nodeName"] == "node-1"
    options = enveloped("policy/v1", "DeleteOptions", message((1, 7)))
    code, going = send(cluster, "DELETE", path, options)
    assert (code, going["metadata"]["deletionGracePeriodSeconds"]) == (200, 7)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        MAGIC + b"\xff",
        MAGIC + b"\x0a\x05ab",
        MAGIC + b"\x0b",
        enveloped("v1", "Widget", b""),
        enveloped("v1", "Pod", b"\x0a\x02\x0a\x05"),
        enveloped("v1", "Pod", message((1, 5))),
        enveloped("v1", "Pod", message((1, message((1, b"\xff"))))),
    ],
)
def test_what_is_no_message_is_a_bad_request(body: bytes) -> None:
    code, status = send(Cluster(), "POST", "/api/v1/namespaces/default/pods", body)
    assert (code, status["reason"]) == (400, "BadRequest")


@settings(max_examples=300)
@given(st.binary(max_size=60), st.sampled_from(["Pod", "Event", "Node", "PersistentVolume"]))
def test_no_bytes_break_the_decoder(raw: bytes, kind: str) -> None:
    code, _ = send(Cluster(), "POST", "/api/v1/namespaces/default/pods", enveloped("v1", kind, raw))
    assert code in (201, 400, 403, 404, 422)
