"""③ From the watch to the table and the queue: the one place that knows both.

Reads: decoded objects as the watch tells them. Writes: the cluster, the queue, and
`pending`: the newest version of each pod of ours that has no node, for whoever failed to place it
and must look again.

A list replaces what was known: objects that were not in it are gone, though nobody said so.
"""

from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Protocol

from fairlead.cluster.objects import Object
from fairlead.cluster.state import Cluster
from fairlead.config.release import Release
from fairlead.model.errors import DecodeError
from fairlead.model.facts import PodFeatures
from fairlead.model.node import Node
from fairlead.model.pod import Pod
from fairlead.model.podinfo import PodInfo, PodInfos
from fairlead.queue.events import (
    ADD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DELETE,
    DEVICE_CLASS,
    NODE_ADD,
    NODE_DELETE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    UPDATE,
    VOLUME_ATTACHMENT,
    ClusterEvent,
)
from fairlead.queue.extraction import node_update_events, pod_update_events
from fairlead.queue.queue import SchedulingQueue

FINISHED = ("Succeeded", "Failed")

WATCHED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "Namespace": ("v1", "namespaces"),
        "Service": ("v1", "services"),
        "ReplicationController": ("v1", "replicationcontrollers"),
        "ReplicaSet": ("apps/v1", "replicasets"),
        "StatefulSet": ("apps/v1", "statefulsets"),
        "ResourceClaim": ("resource.k8s.io/v1", "resourceclaims"),
        "ResourceSlice": ("resource.k8s.io/v1", "resourceslices"),
        "DeviceClass": ("resource.k8s.io/v1", "deviceclasses"),
        "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets"),
        "PersistentVolume": ("v1", "persistentvolumes"),
        "PersistentVolumeClaim": ("v1", "persistentvolumeclaims"),
        "StorageClass": ("storage.k8s.io/v1", "storageclasses"),
        "CSINode": ("storage.k8s.io/v1", "csinodes"),
        "CSIDriver": ("storage.k8s.io/v1", "csidrivers"),
        "CSIStorageCapacity": ("storage.k8s.io/v1", "csistoragecapacities"),
        "VolumeAttachment": ("storage.k8s.io/v1", "volumeattachments"),
    }
)
"""What is watched beside nodes and pods: by kind, the API version and the resource."""

CLUSTER_WIDE = frozenset(
    [
        "Namespace",
        "PersistentVolume",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "VolumeAttachment",
        "ResourceSlice",
        "DeviceClass",
    ]
)
"""Those of them that are in no namespace."""

EVENTS: Mapping[str, str] = MappingProxyType(
    {
        "ResourceClaim": RESOURCE_CLAIM,
        "ResourceSlice": RESOURCE_SLICE,
        "DeviceClass": DEVICE_CLASS,
        "PersistentVolume": PERSISTENT_VOLUME,
        "PersistentVolumeClaim": PERSISTENT_VOLUME_CLAIM,
        "StorageClass": STORAGE_CLASS,
        "CSINode": CSI_NODE,
        "CSIDriver": CSI_DRIVER,
        "CSIStorageCapacity": CSI_STORAGE_CAPACITY,
        "VolumeAttachment": VOLUME_ATTACHMENT,
    }
)
"""The kinds whose changes may help a waiting pod, and what their events are called."""


class Told(Protocol):
    """Who hears of objects that harm nobody else, and of pods that went while they were assumed."""

    def refused(self, line: str) -> None:
        """An object cannot be read, and is left out: why, in one line."""

    def assumed_gone(self, pod: PodInfo) -> None: ...


def features_of(release: Release) -> PodFeatures:
    """The features that change what is read of a pod."""
    return PodFeatures(
        pod_level=release.enabled("PodLevelResources"),
        pod_level_resize=release.enabled("InPlacePodLevelResourcesVerticalScaling"),
        comparing_tolerations=release.enabled("TaintTolerationComparisonOperators"),
    )


class Intake:
    """Takes in nodes, pods of all schedulers and what else counts; queues those that are ours."""

    def __init__(
        self,
        cluster: Cluster,
        queue: SchedulingQueue,
        profiles: Container[str],
        told: Told,
        release: Release,
    ) -> None:
        self.cluster = cluster
        self.queue = queue
        self.profiles = profiles
        self.pending: dict[str, PodInfo] = {}
        self._infos = PodInfos(features=features_of(release))
        self._told = told
        self._listed_pods: set[str] | None = None
        self._listed_nodes: set[str] | None = None
        self._listed_objects: dict[str, set[tuple[str, str]]] = {}

    def set_node(self, node: Node) -> None:
        name = node.metadata.name
        if self._listed_nodes is not None:
            self._listed_nodes.add(name)
        try:
            old = self.cluster.set_node(node)
        except DecodeError as problem:
            self._told.refused(f"node {name}: {problem}")
            return
        if old is None:
            self.queue.move_all(NODE_ADD, None, node)
            return
        for event in node_update_events(old, node):
            self.queue.move_all(event, old, node)

    def remove_node(self, name: str) -> None:
        info = self.cluster.nodes.get(name)
        if info is not None:
            self.queue.move_all(NODE_DELETE, info.node, None)
            self.cluster.remove_node(name)

    def set_pod(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if pod.status.phase in FINISHED:
            self.remove_pod(uid)
            return
        if self._listed_pods is not None:
            self._listed_pods.add(uid)
        try:
            info = self._infos.of(pod)
        except DecodeError as problem:
            self._told.refused(str(problem))
            return
        if info.node_name:
            self._assigned(info)
        elif info.scheduler_name in self.profiles:
            self._unassigned(info)

    def remove_pod(self, uid: str) -> None:
        """The pod is gone, or has ended: its place is free at once."""
        waiting = self.pending.pop(uid, None)
        placed = self.cluster.placed(uid)
        if waiting is not None:
            self.queue.delete(waiting)
        if placed is not None:
            gone = placed.pod
            if placed.assumed:
                self._told.assumed_gone(gone)
                gone = gone.on(placed.node_name)  # whoever hears of it must know that it had one
            self.cluster.remove_pod(uid)
            self.queue.move_all(ASSIGNED_POD_DELETE, gone, None)
        elif waiting is not None and waiting.nominated_node_name:
            self.queue.nomination_released(waiting)

    def begin_pods(self) -> None:
        """A list of all pods begins."""
        self._listed_pods = set()

    def end_pods(self) -> None:
        """The list is whole: pods that were not in it are gone."""
        listed, self._listed_pods = self._listed_pods, None
        if listed is not None:
            known = {*self.pending, *(placed.pod.uid for placed in self.cluster.pods())}
            for uid in known - listed:
                self.remove_pod(uid)

    def begin_nodes(self) -> None:
        self._listed_nodes = set()

    def end_nodes(self) -> None:
        listed, self._listed_nodes = self._listed_nodes, None
        if listed is not None:
            for name in self.cluster.nodes.rows.keys() - listed:
                self.remove_node(name)

    def set_object(self, kind: str, obj: Object) -> None:
        """An object of a kind in WATCHED, new or changed."""
        meta = obj.metadata
        if (listed := self._listed_objects.get(kind)) is not None:
            listed.add((meta.namespace, meta.name))
        try:
            old = self.cluster.objects.set(kind, obj)
        except DecodeError as problem:
            self._told.refused(f"{kind} {meta.namespace}/{meta.name}: {problem}")
            return
        resource = EVENTS.get(kind)
        if resource is None:
            return
        if old is None:
            self.queue.move_all(ClusterEvent(resource, ADD), None, obj)
        elif old.metadata.resource_version != meta.resource_version:
            self.queue.move_all(ClusterEvent(resource, UPDATE), old, obj)

    def remove_object(self, kind: str, namespace: str, name: str) -> None:
        old = self.cluster.objects.remove(kind, namespace, name)
        if old is not None and kind in EVENTS:
            self.queue.move_all(ClusterEvent(EVENTS[kind], DELETE), old, None)

    def begin_objects(self, kind: str) -> None:
        self._listed_objects[kind] = set()

    def end_objects(self, kind: str) -> None:
        listed = self._listed_objects.pop(kind, None)
        if listed is not None:
            for namespace, name in self.cluster.objects.keys(kind) - listed:
                self.remove_object(kind, namespace, name)

    def _assigned(self, info: PodInfo) -> None:
        """A pod with a node: ours, confirmed, or anybody's. It counts."""
        waiting = self.pending.pop(info.uid, None)
        if waiting is not None:
            self.queue.delete(waiting)
        known = self.cluster.placed(info.uid)
        old = None if known is None or known.assumed else known.pod
        self.cluster.set_pod(info)
        if old is None:
            self.queue.move_all(ASSIGNED_POD_ADD, None, info)
            return
        for event in pod_update_events(old, info):
            self.queue.move_all(event, old, info)

    def _unassigned(self, info: PodInfo) -> None:
        """A pod of ours without a node, as far as the API server has told."""
        old = self.pending.get(info.uid)
        self.pending[info.uid] = info
        if self.cluster.is_assumed(info.uid):
            if info.deleting and (old is None or not old.deleting):
                self._told.assumed_gone(info)
            return
        if old is None:
            self.queue.add(info)
        else:
            self.queue.update(old, info)
