"""The resources that the embedded cluster serves: names, scope, subresources and write rules.

One table is behind routing, discovery, storage and tables, so that they cannot disagree. Two
resources with the same `storage` are two views of one set of objects (the two `events`).
"""

from __future__ import annotations

import msgspec

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
STATUS = ("status",)
SCALED = ("scale", "status")


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One served resource of one group and version."""

    group: str = ""
    version: str = "v1"
    plural: str
    kind: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    storage: str = ""
    counts_generations: bool = False
    returns_deleted: bool = False
    needs_version_to_update: bool = False
    created_by_update: bool = False
    orphans_by_default: bool = False

    @property
    def singular(self) -> str:
        """The name in the singular, as kubectl accepts it."""
        return self.kind.lower()

    @property
    def api_version(self) -> str:
        """`v1`, or group and version."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The name as it stands in messages: `pods`, `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """The kind as it stands in messages of validation: `Pod`, `Job.batch`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def stored_as(self) -> str:
        """The storage that holds the objects."""
        return self.storage or self.qualified


RESOURCES = (
    Resource(plural="configmaps", kind="ConfigMap", short=("cm",)),
    Resource(plural="events", kind="Event", short=("ev",), created_by_update=True),
    Resource(
        plural="namespaces",
        kind="Namespace",
        namespaced=False,
        short=("ns",),
        subresources=("finalize", "status"),
        returns_deleted=True,
    ),
    Resource(plural="nodes", kind="Node", namespaced=False, short=("no",), subresources=STATUS),
    Resource(
        plural="persistentvolumeclaims",
        kind="PersistentVolumeClaim",
        short=("pvc",),
        subresources=STATUS,
        returns_deleted=True,
    ),
    Resource(
        plural="persistentvolumes",
        kind="PersistentVolume",
        namespaced=False,
        short=("pv",),
        subresources=STATUS,
        returns_deleted=True,
    ),
    Resource(
        plural="pods",
        kind="Pod",
        short=("po",),
        categories=("all",),
        subresources=("binding", "eviction", "status"),
        counts_generations=True,
        returns_deleted=True,
    ),
    Resource(
        plural="replicationcontrollers",
        kind="ReplicationController",
        short=("rc",),
        categories=("all",),
        subresources=SCALED,
        counts_generations=True,
        orphans_by_default=True,
    ),
    Resource(plural="serviceaccounts", kind="ServiceAccount", short=("sa",), returns_deleted=True),
    Resource(
        plural="services",
        kind="Service",
        short=("svc",),
        categories=("all",),
        subresources=STATUS,
        returns_deleted=True,
        created_by_update=True,
    ),
    Resource(
        group="apps",
        plural="deployments",
        kind="Deployment",
        short=("deploy",),
        categories=("all",),
        subresources=SCALED,
        counts_generations=True,
    ),
    Resource(
        group="apps",
        plural="replicasets",
        kind="ReplicaSet",
        short=("rs",),
        categories=("all",),
        subresources=SCALED,
        counts_generations=True,
    ),
    Resource(
        group="apps",
        plural="statefulsets",
        kind="StatefulSet",
        short=("sts",),
        categories=("all",),
        subresources=SCALED,
        counts_generations=True,
    ),
    Resource(
        group="batch",
        plural="jobs",
        kind="Job",
        categories=("all",),
        subresources=STATUS,
        counts_generations=True,
        orphans_by_default=True,
    ),
    Resource(
        group="coordination.k8s.io",
        plural="leases",
        kind="Lease",
        needs_version_to_update=True,
        created_by_update=True,
    ),
    Resource(
        group="events.k8s.io",
        plural="events",
        kind="Event",
        short=("ev",),
        storage="events",
        created_by_update=True,
    ),
    Resource(group="node.k8s.io", plural="runtimeclasses", kind="RuntimeClass", namespaced=False),
    Resource(
        group="policy",
        plural="poddisruptionbudgets",
        kind="PodDisruptionBudget",
        short=("pdb",),
        subresources=STATUS,
        counts_generations=True,
        needs_version_to_update=True,
    ),
    Resource(
        group="resource.k8s.io",
        plural="deviceclasses",
        kind="DeviceClass",
        namespaced=False,
        counts_generations=True,
        returns_deleted=True,
    ),
    Resource(
        group="resource.k8s.io",
        plural="resourceclaims",
        kind="ResourceClaim",
        subresources=STATUS,
        returns_deleted=True,
    ),
    Resource(
        group="resource.k8s.io",
        plural="resourceclaimtemplates",
        kind="ResourceClaimTemplate",
        returns_deleted=True,
    ),
    Resource(
        group="resource.k8s.io",
        plural="resourceslices",
        kind="ResourceSlice",
        namespaced=False,
        counts_generations=True,
        returns_deleted=True,
    ),
    Resource(
        group="scheduling.k8s.io",
        plural="priorityclasses",
        kind="PriorityClass",
        namespaced=False,
        short=("pc",),
        counts_generations=True,
    ),
    Resource(
        group="storage.k8s.io",
        plural="csidrivers",
        kind="CSIDriver",
        namespaced=False,
        returns_deleted=True,
        needs_version_to_update=True,
    ),
    Resource(
        group="storage.k8s.io",
        plural="csinodes",
        kind="CSINode",
        namespaced=False,
        returns_deleted=True,
        needs_version_to_update=True,
    ),
    Resource(
        group="storage.k8s.io",
        plural="csistoragecapacities",
        kind="CSIStorageCapacity",
        needs_version_to_update=True,
    ),
    Resource(
        group="storage.k8s.io",
        plural="storageclasses",
        kind="StorageClass",
        namespaced=False,
        short=("sc",),
        returns_deleted=True,
    ),
    Resource(
        group="storage.k8s.io",
        plural="volumeattachments",
        kind="VolumeAttachment",
        namespaced=False,
        subresources=STATUS,
        returns_deleted=True,
        needs_version_to_update=True,
    ),
)

BY_PATH = {(each.group, each.version, each.plural): each for each in RESOURCES}
BY_KIND = {(each.api_version, each.kind): each for each in RESOURCES}
CORE_EVENTS = BY_PATH["", "v1", "events"]
NEW_EVENTS = BY_PATH["events.k8s.io", "v1", "events"]


def resource_named(name: str) -> Resource:
    """The resource that a plural (`pods`) or a qualified name (`jobs.batch`) means."""
    for each in RESOURCES:
        if name in (each.qualified, each.plural):
            return each
    raise KeyError(name)
