"""A client with a corner of the cluster of its own, and the objects that the tests ask for."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import Any

from fairlead.kube.client import Client
from fairlead.kube.resource import NODES, PODS, Resource

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", True, "ServiceAccount")
_numbers = itertools.count(1)


def unique(prefix: str) -> str:
    """A name that no other test has taken, in any process."""
    return f"{prefix}-{os.getpid()}-{next(_numbers)}"


@dataclass
class Api:
    """A client, and a namespace and names that no other test uses."""

    client: Client
    namespace: str

    async def pod(self, name: str | None = None, **extra: Any) -> dict[str, Any]:
        return await self.client.create(
            PODS, pod_body(name or unique("pod"), **extra), self.namespace
        )

    async def node(self) -> str:
        name = unique("node")
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        await self.client.create(NODES, body)
        capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        status = {"status": {"capacity": capacity, "allocatable": capacity}}
        await self.client.patch(NODES, name, status, subresource="status")
        return name

    async def get(self, resource: Resource, name: str) -> dict[str, Any]:
        return await self.client.get(resource, name, self.namespace)


def pod_body(name: str, **extra: Any) -> dict[str, Any]:
    """A pod that asks nobody's controller for anything, and for a scheduler that does not exist."""
    spec = {
        "schedulerName": "contract",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}],
        **extra.pop("spec", {}),
    }
    metadata = {"name": name, **extra}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
