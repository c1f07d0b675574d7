"""Volumes are got for a pod before it is bound: written, awaited, and given back where it fails.

What binds claims in a cluster is the PersistentVolume controller, which the embedded cluster has
not: `Binder` does here what it would do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead.lab.cluster import Cluster
from fairlead.lab.resources import BY_PATH
from fairlead.lab.store import Event
from tests.lab.stage import ASLEEP, HEADER, Stage, at_work, node, pod

Object = dict[str, Any]
CLAIMS = BY_PATH["", "v1", "persistentvolumeclaims"]
VOLUMES = BY_PATH["", "v1", "persistentvolumes"]
SELECTED = "volume.kubernetes.io/selected-node"
DONE = "pv.kubernetes.io/bind-completed"
HURRIED = HEADER + (
    "profiles: [{schedulerName: default-scheduler, pluginConfig: [{name: VolumeBinding,"
    " args: {bindTimeoutSeconds: 1}}]}]\n"
)


def thing(api_version: str, kind: str, name: str, **fields: Any) -> Object:
    namespace = {"namespace": "default"} if kind == "PersistentVolumeClaim" else {}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **namespace},
        **fields,
    }


def storage_class(name: str, provisioner: str = "kubernetes.io/no-provisioner") -> Object:
    mode = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    return thing("storage.k8s.io/v1", "StorageClass", name, **mode)


def claim(name: str, of_class: str) -> Object:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": of_class,
    }
    return thing("v1", "PersistentVolumeClaim", name, spec=spec)


def volume(name: str, of_class: str, on: str, claimed_by: Object | None = None) -> Object:
    demand = {"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "2Gi"},
        "storageClassName": of_class,
        "local": {"path": f"/mnt/{name}"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [demand]}]}},
    }
    if claimed_by is not None:
        meta = claimed_by["metadata"]
        spec["claimRef"] = {key: meta[key] for key in ("name", "namespace", "uid")}
    return thing("v1", "PersistentVolume", name, spec=spec)


def using(name: str) -> Object:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}


class Binder:
    """Binds claims to the volumes that name them, and makes volumes where a node is selected.

    Where it `refuses`, it takes the selection back instead, as a provisioner does that has failed.
    """

    def __init__(self, cluster: Cluster, *, refuses: bool = False) -> None:
        self.cluster = cluster
        self.refuses = refuses
        self.told: list[Object] = []
        loop = asyncio.get_running_loop()

        def soon(event: Event) -> None:
            loop.call_soon(self._volumes)
            loop.call_soon(self._claims)

        cluster.store.subscribe(VOLUMES, soon)
        cluster.store.subscribe(CLAIMS, soon)
        self._volumes()
        self._claims()

    def _volumes(self) -> None:
        for each in self.cluster.items("persistentvolumes"):
            wanted = each["spec"].get("claimRef")
            if wanted is None:
                if each["status"].get("phase") != "Available":
                    self.cluster.update({**each, "status": {"phase": "Available"}}, "status")
                continue
            found = self.cluster.get("persistentvolumeclaims", wanted["name"])
            if found is not None and not found["spec"].get("volumeName"):
                notes = {**found["metadata"].get("annotations", {}), DONE: "yes"}
                spec = {**found["spec"], "volumeName": each["metadata"]["name"]}
                self.cluster.update(
                    {**found, "metadata": {**found["metadata"], "annotations": notes}, "spec": spec}
                )

    def _claims(self) -> None:
        for each in self.cluster.items("persistentvolumeclaims"):
            notes = dict(each["metadata"].get("annotations", {}))
            if each["spec"].get("volumeName") or SELECTED not in notes:
                continue
            if self.refuses:
                self.told.append(each)
                del notes[SELECTED]
                meta = {**each["metadata"], "annotations": {**notes, "tried": str(len(self.told))}}
                self.cluster.update({**each, "metadata": meta})
                continue
            name = f"made-{each['metadata']['name']}"
            if self.cluster.get("persistentvolumes", name) is None:
                made = volume(name, each["spec"]["storageClassName"], notes[SELECTED], each)
                self.cluster.create(made)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(timing=ASLEEP) as running:
        running.create(node("a"))
        running.create(node("b"))
        running.create(storage_class("local"))
        running.create(storage_class("made", "csi.example.com"))
        yield running


@pytest.fixture
async def stage(cluster: Cluster) -> AsyncIterator[Stage]:
    async with at_work(cluster) as working:
        yield working


async def test_a_pod_gets_the_volume_that_is_there(stage: Stage) -> None:
    Binder(stage.cluster)
    stage.cluster.create(volume("disk", "local", "b"))
    stage.cluster.create(claim("data", "local"))
    stage.cluster.create(pod("db", **using("data")))
    assert await stage.placed("db") == ["b"]
    disk = stage.copy("persistentvolumes", "disk")
    data = stage.copy("persistentvolumeclaims", "data")
    assert disk["spec"]["claimRef"]["uid"] == data["metadata"]["uid"]
    assert disk["spec"]["local"] == {"path": "/mnt/disk"}, "what we do not read is kept"
    assert disk["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
    assert data["spec"]["volumeName"] == "disk"
    # The node was promised while the volume was got.
    assert stage.copy("pods", "db")["status"].get("nominatedNodeName", "b") == "b"


async def test_a_volume_is_made_for_the_node_that_was_chosen(stage: Stage) -> None:
    Binder(stage.cluster)
    stage.cluster.create(claim("data", "made"))
    stage.cluster.create(pod("db", **using("data")))
    (where,) = await stage.placed("db")
    data = stage.copy("persistentvolumeclaims", "data")
    assert data["metadata"]["annotations"][SELECTED] == where
    assert data["spec"]["volumeName"] == "made-data"


async def test_two_pods_never_get_one_volume(stage: Stage) -> None:
    Binder(stage.cluster)
    stage.cluster.create(volume("disk", "local", "b"))
    for name in ("one", "two"):
        stage.cluster.create(claim(name, "local"))
        stage.cluster.create(pod(name, **using(name)))
    await stage.until(lambda: stage.failed and any(stage.node_of(n) for n in ("one", "two")))
    assert {why for _, why in stage.failed} == {
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
        " no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not"
        " helpful for scheduling."
    }
    stage.cluster.create(volume("disk-2", "local", "a"))
    assert sorted(await stage.placed("one", "two")) == ["a", "b"]


async def test_a_claim_that_comes_wakes_its_pod(stage: Stage) -> None:
    Binder(stage.cluster)
    stage.cluster.create(pod("db", **using("data")))
    why = await stage.refused("db")
    assert why == '0/2 nodes are available: persistentvolumeclaim "data" not found. not found'
    stage.cluster.create(claim("data", "made"))
    assert await stage.placed("db")


async def test_where_nobody_binds_the_pod_is_tried_again(
    cluster: Cluster,
) -> None:
    cluster.create(claim("data", "made"))
    async with at_work(cluster, HURRIED) as stage:
        cluster.create(pod("db", **using("data")))
        why = await stage.refused("db")
        assert why == (
            'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
        )
        condition = stage.condition("db")
        assert condition is not None
        assert condition["reason"] == "SchedulerError"
        assert not stage.process.core.cluster.assumed
        Binder(cluster)
        assert await stage.placed("db")


async def test_a_provisioner_that_fails_says_so_by_its_annotation(cluster: Cluster) -> None:
    binder = Binder(cluster, refuses=True)
    cluster.create(claim("data", "made"))
    async with at_work(cluster) as stage:
        cluster.create(pod("db", **using("data")))
        assert await stage.refused("db") == (
            'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC'
            ' "data"'
        )
        binder.refuses = False
        assert await stage.placed("db")


async def test_a_pod_that_goes_meanwhile_ends_the_wait(stage: Stage) -> None:
    stage.cluster.create(claim("data", "made"))
    stage.cluster.create(pod("db", **using("data")))
    await stage.until(
        lambda: (
            SELECTED
            in stage.copy("persistentvolumeclaims", "data")["metadata"].get("annotations", {})
        )
    )
    stage.cluster.delete("pods", "db", grace=0)
    await stage.until(lambda: any(name == "db" for name, _ in stage.failed))
    assert ("db", (
        'running PreBind plugin "VolumeBinding": binding volumes: pod does not exist any more:'
        ' pod "db" not found'
    )) in stage.failed  # fmt: skip
    await stage.until(lambda: not stage.process.core.cluster.assumed)
