"""Devices on the embedded cluster: what is claimed is allocated, reserved, given up and made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead.lab.cluster import Cluster
from tests.builders import before_preemption
from tests.lab.stage import ASLEEP, PLAIN, at_work, node, pod

DRIVER = "gpu.example.com"
API = "resource.k8s.io/v1"


def gpus(name: str, count: int) -> dict[str, Any]:
    devices = [
        {"name": f"gpu-{at}", "attributes": {"model": {"string": "a100" if at else "t4"}}}
        for at in range(count)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-gpus"},
        "spec": {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices},
    }


def claim(name: str, expression: str = "true", count: int = 1) -> dict[str, Any]:
    exactly = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": count,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }


def user(name: str, claim_name: str) -> dict[str, Any]:
    return pod(name, resourceClaims=[{"name": "gpu", "resourceClaimName": claim_name}])


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(timing=ASLEEP) as running:
        for name in ("a", "b"):
            running.create(node(name))
        selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
        running.create(
            {
                "apiVersion": API,
                "kind": "DeviceClass",
                "metadata": {"name": "gpu"},
                "spec": {"selectors": [selector], "extendedResourceName": "example.com/gpu"},
            }
        )
        running.create(gpus("a", 1))
        running.create(gpus("b", 2))
        yield running


def claims(cluster: Cluster) -> dict[str, Any]:
    return {
        each["metadata"]["name"]: each for each in cluster.items("resourceclaims.resource.k8s.io")
    }


async def test_a_claim_is_allocated_and_reserved_before_its_pod_is_bound(cluster: Cluster) -> None:
    wanted = f'device.attributes["{DRIVER}"].model == "a100"'
    cluster.create(claim("c", wanted))
    async with at_work(cluster, PLAIN) as stage:
        cluster.create(user("p", "c"))
        assert await stage.placed("p") == ["b"]
        status = claims(cluster)["c"]["status"]
        (result,) = status["allocation"]["devices"]["results"]
        assert (result["pool"], result["device"]) == ("b", "gpu-1")
        assert [each["name"] for each in status["reservedFor"]] == ["p"]
        cluster.create(claim("d", wanted))
        cluster.create(user("q", "d"))
        why = await stage.refused("q")
        assert before_preemption(why) == "0/2 nodes are available: 2 cannot allocate all claims."


async def test_a_pod_waits_for_its_claim_and_then_for_a_device(cluster: Cluster) -> None:
    async with at_work(cluster, PLAIN) as stage:
        cluster.create(user("p", "c"))
        await stage.settled()
        assert stage.node_of("p") == ""
        cluster.create(claim("c", count=3))
        await stage.refused("p")
        cluster.create(node("c"))
        cluster.create(gpus("c", 3))
        assert await stage.placed("p") == ["c"]


async def test_extended_resources_are_had_as_devices(cluster: Cluster) -> None:
    wanting = pod("p")
    resources = wanting["spec"]["containers"][0]["resources"]
    resources["requests"]["example.com/gpu"] = "2"
    resources["limits"] = {"example.com/gpu": "2"}
    async with at_work(cluster, PLAIN) as stage:
        cluster.create(wanting)
        assert await stage.placed("p") == ["b"]
        (made,) = claims(cluster).values()
        assert made["metadata"]["name"].startswith("p-extended-resources-")
        assert len(made["status"]["allocation"]["devices"]["results"]) == 2
