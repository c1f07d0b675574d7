"""The nodes and workloads of the demo, as anybody would write them for kubectl."""

from typing import Any

Object = dict[str, Any]

NODES: tuple[tuple[str, str, int], ...] = (
    ("node-1", "zone-a", 0),
    ("node-2", "zone-b", 3),
    ("node-3", "zone-c", 1),
    ("node-4", "zone-a", 0),
)
"""Name, zone, and how many lights blink on it."""

LIGHTS = "example.com/lights"
TOO_BIG = "too-big"


def node(name: str, zone: str, lights: int) -> Object:
    """A ready machine of 4 CPUs; the last one is kept for batch work by a taint."""
    capacity = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    if lights:
        labels[LIGHTS] = str(lights)
    taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints} if name == "node-4" else {},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod_spec(scheduler: str, cpu: str, memory: str, **more: object) -> Object:
    requests = {"cpu": cpu, "memory": memory}
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
    return {
        "schedulerName": scheduler,
        "containers": [{**container, "resources": {"requests": requests}}],
        **more,
    }


def workloads(usual: str, own: str) -> tuple[list[Object], int]:
    """What the demo submits, and how many pods of it find a node.

    `usual` schedules all but one pod, which is for the profile with the user's plugin, `own`.
    """
    tolerated = [{"key": "dedicated", "operator": "Equal", "value": "batch"}]
    batch = pod_spec(usual, "500m", "1Gi", restartPolicy="Never", tolerations=tolerated)
    batch["nodeSelector"] = {"kubernetes.io/hostname": "node-4"}
    objects: list[Object] = [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": pod_spec(usual, "1", "2Gi"),
                },
            },
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "batch", "namespace": "default"},
            "spec": {"completions": 2, "parallelism": 2, "template": {"spec": batch}},
        },
        pod("lamp", pod_spec(own, "100m", "64Mi")),
        pod(TOO_BIG, pod_spec(usual, "64", "1Gi")),
    ]
    return objects, 3 + 2 + 1


def pod(name: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
