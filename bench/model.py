"""What it costs to read a pod: µs to decode its line of a watch, and to find its facts.

    .venv/bin/python bench/model.py [PODS]

The pods are as a real API server sends them: managed fields, default tolerations, and a volume
with the token under another name in each pod. `web` are pods of one ReplicaSet, `db` have the
labels of a StatefulSet, and `agent` the node affinity of a DaemonSet, which no two pods share.
"""

import gc
import random
import sys
from time import perf_counter
from typing import Any

import msgspec

from fairlead.model.decode import decode_pod_event
from fairlead.model.podinfo import PodInfos

ROUNDS = 5
NOT_READY = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
MANAGED = {
    "manager": "kube-controller-manager",
    "operation": "Update",
    "apiVersion": "v1",
    "time": "2026-03-01T00:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {
        "f:metadata": {
            "f:generateName": {},
            "f:labels": {".": {}, "f:app": {}, "f:pod-template-hash": {}},
            "f:ownerReferences": {".": {}, 'k:{"uid":"5f6a"}': {}},
        },
        "f:spec": {
            "f:containers": {
                'k:{"name":"main"}': {
                    ".": {},
                    "f:image": {},
                    "f:imagePullPolicy": {},
                    "f:name": {},
                    "f:resources": {".": {}, "f:requests": {".": {}, "f:cpu": {}, "f:memory": {}}},
                    "f:terminationMessagePath": {},
                    "f:terminationMessagePolicy": {},
                }
            },
            "f:dnsPolicy": {},
            "f:enableServiceLinks": {},
            "f:restartPolicy": {},
            "f:schedulerName": {},
            "f:securityContext": {},
            "f:terminationGracePeriodSeconds": {},
        },
    },
}


def token_volume(name: str) -> dict[str, Any]:
    path = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    items = [{"key": "ca.crt", "path": "ca.crt"}]
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": items}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": path}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 420}}


def pod(number: int, labels: dict[str, str], owner: str, **spec: Any) -> bytes:
    token = f"kube-api-access-{random.getrandbits(25):05x}"
    app = labels["app"]
    mount = {"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io"}
    container = {
        "name": "main",
        "image": f"registry.example/{app}:1.0",
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": [mount],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    owned = {"apiVersion": "apps/v1", "kind": owner, "name": app, "uid": f"5f6a-{app}"}
    thing = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"{app}-{number}",
            "generateName": f"{app}-",
            "namespace": "default",
            "uid": f"0e0e0e0e-0000-4000-8000-{number:012d}",
            "resourceVersion": str(100_000 + number),
            "generation": 1,
            "creationTimestamp": "2026-03-01T00:00:00Z",
            "labels": labels,
            "ownerReferences": [{**owned, "controller": True, "blockOwnerDeletion": True}],
            "managedFields": [MANAGED],
        },
        "spec": {
            "volumes": [token_volume(token)],
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {"key": f"node.kubernetes.io/{key}", **NOT_READY}
                for key in ("not-ready", "unreachable")
            ],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
            **spec,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }
    return msgspec.json.encode({"type": "ADDED", "object": thing})


def web(number: int) -> bytes:
    return pod(number, {"app": "web", "pod-template-hash": "6c7d8f9b4d"}, "ReplicaSet")


def db(number: int) -> bytes:
    unique = {
        "apps.kubernetes.io/pod-index": str(number),
        "statefulset.kubernetes.io/pod-name": f"db-{number}",
    }
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-db-{number}"}}
    return pod(number, {"app": "db", **unique}, "StatefulSet", volumes=[claim])


def agent(number: int) -> bytes:
    field = {"key": "metadata.name", "operator": "In", "values": [f"node-{number}"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod(number, {"app": "agent"}, "DaemonSet", affinity=affinity)


def main(count: int) -> None:
    print(
        f"{'pods':8}{'bytes':>7}{'decode':>9}{'facts':>9}{'whole':>9}   µs a pod, best of {ROUNDS}"
    )
    for kind in (web, db, agent):
        lines = [kind(number) for number in range(count)]
        decoding, reading = [], []
        for _ in range(ROUNDS):
            infos = PodInfos(limit=count // 4)  # unique facts never fit, as in a large cluster
            infos.of(decode_pod_event(lines[0])[1])
            gc.collect()
            start = perf_counter()
            pods = [decode_pod_event(line)[1] for line in lines]
            middle = perf_counter()
            kept = [infos.of(found) for found in pods]
            end = perf_counter()
            assert len(kept) == count
            decoding.append((middle - start) / count * 1e6)
            reading.append((end - middle) / count * 1e6)
        decode, facts = min(decoding), min(reading)
        size = len(lines[0])
        print(f"{kind.__name__:8}{size:7}{decode:9.1f}{facts:9.1f}{decode + facts:9.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
