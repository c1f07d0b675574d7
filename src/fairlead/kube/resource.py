"""A resource is where objects of one kind live in the API; the constants are those that we use."""

import re
from urllib.parse import quote

from msgspec import Struct

_is_plain = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*").fullmatch


def _quoted(name: str) -> str:
    """One segment of a path; nearly all names need no quoting, and asking is ten times cheaper."""
    if _is_plain(name):
        return name
    if name in (".", ".."):
        raise ValueError(f"{name!r} is no name")
    return quote(name, safe="")


class Resource(Struct, frozen=True, gc=False):
    """Group, version and plural of one kind, from which every URL of it follows."""

    group: str
    version: str
    plural: str
    namespaced: bool
    kind: str

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The URL path of the collection, of one object, or of a subresource of it.

        Without a namespace a namespaced resource's path is the collection over all namespaces,
        where no object can be named: asking for one there is a mistake of the caller.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespaced and namespace:
            root = f"{root}/namespaces/{_quoted(namespace)}"
        elif self.namespaced and name:
            raise ValueError(f"{self.kind} {name!r} needs a namespace")
        path = f"{root}/{self.plural}"
        if name:
            path = f"{path}/{_quoted(name)}"
        if subresource:
            path = f"{path}/{subresource}"
        return path

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


PODS = Resource("", "v1", "pods", True, "Pod")
NODES = Resource("", "v1", "nodes", False, "Node")
NAMESPACES = Resource("", "v1", "namespaces", False, "Namespace")
SERVICES = Resource("", "v1", "services", True, "Service")
CONFIG_MAPS = Resource("", "v1", "configmaps", True, "ConfigMap")
REPLICATION_CONTROLLERS = Resource(
    "", "v1", "replicationcontrollers", True, "ReplicationController"
)
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", False, "PersistentVolume")
PERSISTENT_VOLUME_CLAIMS = Resource(
    "", "v1", "persistentvolumeclaims", True, "PersistentVolumeClaim"
)
DEPLOYMENTS = Resource("apps", "v1", "deployments", True, "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", True, "ReplicaSet")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", True, "StatefulSet")
JOBS = Resource("batch", "v1", "jobs", True, "Job")
EVENTS = Resource("events.k8s.io", "v1", "events", True, "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", True, "Lease")
POD_DISRUPTION_BUDGETS = Resource(
    "policy", "v1", "poddisruptionbudgets", True, "PodDisruptionBudget"
)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", False, "PriorityClass")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", False, "StorageClass")
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", False, "CSINode")
CSI_DRIVERS = Resource("storage.k8s.io", "v1", "csidrivers", False, "CSIDriver")
CSI_STORAGE_CAPACITIES = Resource(
    "storage.k8s.io", "v1", "csistoragecapacities", True, "CSIStorageCapacity"
)
VOLUME_ATTACHMENTS = Resource(
    "storage.k8s.io", "v1", "volumeattachments", False, "VolumeAttachment"
)
RESOURCE_CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", True, "ResourceClaim")
RESOURCE_SLICES = Resource("resource.k8s.io", "v1", "resourceslices", False, "ResourceSlice")
DEVICE_CLASSES = Resource("resource.k8s.io", "v1", "deviceclasses", False, "DeviceClass")
