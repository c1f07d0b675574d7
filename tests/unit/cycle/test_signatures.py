"""Pods as a real API server makes them: what is kept follows their templates, not the pods.

Each pod has something of its own: a name, a volume with its token and the mounts of it, the uid of
an owner, labels of a StatefulSet or an indexed Job, the node of a DaemonSet. None of it may give
a kept answer of its own to a pod that is like others.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from fairlead.cycle.decision import Placed
from fairlead.model.decode import decode_pod
from fairlead.model.pod import Pod
from tests.builders import World, names_affinity, node

NODES = 20
LETTERS = "bcdfghjklmnpqrstvwxz2456789"
DAEMON_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ]
]
DEFAULT_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute",
     "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]  # fmt: skip

# Kind and name of the owner, and what its template says.
TEMPLATES: list[tuple[str, str, dict[str, Any]]] = [
    ("ReplicaSet", "web-7d9f", {"cpu": "100m"}),
    ("ReplicaSet", "api-5c6b", {"cpu": "250m", "memory": "256Mi"}),
    ("ReplicaSet", "train-66f8", {"cpu": "1", "memory": "2Gi", "example.com/gpu": "1"}),
    ("StatefulSet", "db", {"cpu": "500m", "memory": "1Gi"}),
    ("StatefulSet", "cache", {"memory": "512Mi"}),
    ("Job", "resize", {"cpu": "50m", "memory": "64Mi"}),
    ("Job", "report", {"cpu": "20m"}),
]


def suffix(chance: random.Random) -> str:
    return "".join(chance.choices(LETTERS, k=5))


def own_labels(kind: str, owner: str, name: str, index: int) -> dict[str, str]:
    match kind:
        case "ReplicaSet":
            return {"app": owner.split("-")[0], "pod-template-hash": owner.split("-")[1]}
        case "StatefulSet":
            return {
                "app": owner,
                "controller-revision-hash": f"{owner}-6b7",
                "statefulset.kubernetes.io/pod-name": name,
                "apps.kubernetes.io/pod-index": str(index),
            }
        case "Job":
            return {
                "batch.kubernetes.io/job-name": owner,
                "batch.kubernetes.io/controller-uid": f"uid-{owner}",
                "batch.kubernetes.io/job-completion-index": str(index),
            }
        case _:
            return {"app": owner, "controller-revision-hash": "77c", "pod-template-generation": "1"}


def spec_of(
    chance: random.Random, kind: str, owner: str, requests: dict[str, str], index: int
) -> dict[str, Any]:
    token = f"kube-api-access-{suffix(chance)}"
    sources = [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]
    mount = {"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io"}
    container = {
        "name": "main",
        "image": f"registry.example/{owner}:1.0",
        "resources": {"requests": requests},
        "env": [{"name": "INDEX", "value": str(index)}],
        "volumeMounts": [mount],
        "imagePullPolicy": "IfNotPresent",
    }
    spec: dict[str, Any] = {
        "volumes": [{"name": token, "projected": {"defaultMode": 420, "sources": sources}}],
        "containers": [container],
        "restartPolicy": "Never" if kind == "Job" else "Always",
        "serviceAccountName": "default",
        "schedulerName": "default-scheduler",
        "tolerations": DEFAULT_TOLERATIONS,
        "priority": 0,
    }
    if kind in ("StatefulSet", "Job"):
        spec |= {"hostname": f"{owner}-{index}", "subdomain": owner}
    if kind == "DaemonSet":
        spec["affinity"] = names_affinity(f"n{index % NODES}")
        spec["tolerations"] = DAEMON_TOLERATIONS
    return spec


def real_pod(
    chance: random.Random, kind: str, owner: str, requests: dict[str, str], index: int
) -> Pod:
    """The pod number `index` of an owner, as the API server and admission complete it."""
    name = f"{owner}-{index}" if kind == "StatefulSet" else f"{owner}-{index}-{suffix(chance)}"
    reference = {"kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"{chance.getrandbits(64):016x}",
        "resourceVersion": str(chance.randrange(10**6)),
        "creationTimestamp": f"2026-01-01T00:{chance.randrange(60):02}:00Z",
        "labels": own_labels(kind, owner, name, index),
        "ownerReferences": [{"apiVersion": "apps/v1", **reference}],
    }
    wire = {
        "metadata": metadata,
        "spec": spec_of(chance, kind, owner, requests, index),
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }
    return decode_pod(msgspec.json.encode(wire))


def world() -> World:
    return World(
        *(
            node(
                f"n{i}", cpu="64", memory="512Gi", pods="500", allocatable={"example.com/gpu": "64"}
            )
            for i in range(NODES)
        )
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_pods_of_a_few_templates_make_as_many_shapes(seed: int) -> None:
    chance = random.Random(seed)
    pods = [
        real_pod(chance, *TEMPLATES[i % len(TEMPLATES)], i // len(TEMPLATES)) for i in range(1000)
    ]
    chance.shuffle(pods)
    here = world()
    for each in pods:
        assert isinstance(here.decide(each), Placed)
    shapes = here.core.cycle.shapes
    assert len(shapes) == len(TEMPLATES)
    assert shapes.answers < len(here.profile.signing) * len(TEMPLATES)
    assert here.core.cycle.engine.counts.hits == 1000 - len(TEMPLATES)
    assert here.core.cycle.engine.counts.mismatches == 0


def test_pods_of_a_daemon_set_keep_nothing() -> None:
    chance = random.Random(3)
    here = world()
    for index in range(200):
        each = real_pod(chance, "DaemonSet", "agent", {"cpu": "10m"}, index)
        decision = here.decide(each)
        assert isinstance(decision, Placed)
        assert decision.node_name == f"n{index % NODES}"
    shapes = here.core.cycle.shapes
    assert (len(shapes), shapes.answers, shapes.held) == (0, 0, 0)
