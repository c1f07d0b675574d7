"""What a fresh cluster holds: namespaces, system priority classes, nodes."""

from __future__ import annotations

from fairlead.lab.admission import PRIORITY_CLASSES, SYSTEM_CRITICAL
from fairlead.lab.objects import Object, timestamp
from fairlead.lab.registry import NAMESPACES, Registry
from fairlead.lab.resources import BY_PATH

SERVICES = BY_PATH["", "v1", "services"]
ALWAYS_THERE = ("kube-system", "kube-public", "kube-node-lease", "default")
ZONES = ("zone-a", "zone-b", "zone-c")
NODE_READY = (
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


NODE_INFO = {
    "kernelVersion": "embedded",
    "osImage": "fairlead",
    "containerRuntimeVersion": "none://1",
    "kubeletVersion": "v1.36.3",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


def furnish(registry: Registry) -> None:
    """Make what every cluster has."""
    for name in ALWAYS_THERE:
        registry.create(NAMESPACES, "", {"metadata": {"name": name}})
    for name, value in SYSTEM_CRITICAL.items():
        registry.create(PRIORITY_CLASSES, "", {"metadata": {"name": name}, "value": value})
    ports: list[Object] = [{"name": "https", "port": 443, "targetPort": 6443}]
    labels = {"component": "apiserver", "provider": "kubernetes"}
    service: Object = {"metadata": {"name": "kubernetes", "labels": labels}}
    registry.create(SERVICES, "default", service | {"spec": {"ports": ports}})


def node(
    name: str,
    number: int = 1,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: str = "110",
    now: float = 0.0,
) -> Object:
    """A ready node, in one of three zones by its number."""
    capacity = {"cpu": cpu, "memory": memory, "pods": pods, "ephemeral-storage": "100Gi"}
    since = timestamp(now)
    conditions: list[Object] = [
        {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": since,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in NODE_READY
    ]
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": ZONES[(number - 1) % len(ZONES)],
    }
    addresses: list[Object] = [
        {"type": "InternalIP", "address": f"10.99.{number >> 8 & 255}.{number & 255}"},
        {"type": "Hostname", "address": name},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": capacity,
            "allocatable": dict(capacity),
            "conditions": conditions,
            "addresses": addresses,
            "nodeInfo": dict(NODE_INFO),
        },
    }
