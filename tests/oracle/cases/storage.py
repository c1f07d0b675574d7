"""Volumes, claims and classes of storage in a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .basics import DISK, GI, ZONE, Json, spell
from .objects import expression, thing
from .world import World

DRIVER, OTHER_DRIVER = "csi.example.com", "other.example.com"
LATE, NOW = "WaitForFirstConsumer", "Immediate"
STORAGE_CLASSES = {
    "now": (DRIVER, NOW),
    "late": (DRIVER, LATE),
    "local": ("kubernetes.io/no-provisioner", LATE),
    "tracked": ("tracked.example.com", LATE),
    "other": (OTHER_DRIVER, LATE),
}
BIND_COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


class Storage:
    """The volumes of a cluster and of its pending pod."""

    def __init__(self, w: World, namespace: str = "default") -> None:
        self.w, self.d, self.namespace = w, w.d, namespace
        self.zones = sorted({zone for node in w.nodes if (zone := w.label(node, ZONE))})
        self.sources: list[Json] = []
        self.count = 0
        for name, (provisioner, mode) in STORAGE_CLASSES.items():
            w.add(
                thing(
                    "storage.k8s.io/v1",
                    "StorageClass",
                    name,
                    provisioner=provisioner,
                    volumeBindingMode=mode,
                )
            )
        w.add(
            thing(
                "storage.k8s.io/v1",
                "CSIDriver",
                "tracked.example.com",
                spec={"storageCapacity": True},
            )
        )

    def next(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def use(self, claim: str) -> None:
        """Let the pending pod use a claim."""
        self.sources.append({"persistentVolumeClaim": {"claimName": claim}})

    def volumes(self) -> list[Json]:
        return [{"name": f"v{i}"} | source for i, source in enumerate(self.sources)]

    def volume(
        self,
        name: str,
        size: int,
        storage_class: str = "",
        *,
        claim: str | None = None,
        nodes: Json | None = None,
        source: Json | None = None,
        labels: Json | None = None,
        modes: Sequence[str] = ("ReadWriteOnce",),
        **fields: Any,
    ) -> None:
        spec: Json = {
            "capacity": {"storage": spell(self.d, DISK, size)},
            "accessModes": list(modes),
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Delete",
            "volumeMode": fields.pop("volumeMode", "Filesystem"),
        }
        spec |= source or {"csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"}}
        if nodes:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [nodes]}}
        if claim:
            spec["claimRef"] = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": self.namespace,
                "name": claim,
                "uid": f"persistentvolumeclaim-{self.namespace}-{claim}",
            }
        phase = fields.pop("phase", "Bound" if claim else "Available")
        self.w.add(
            thing(
                "v1",
                "PersistentVolume",
                name,
                metadata={"labels": labels} | fields,
                spec=spec,
                status={"phase": phase},
            )
        )

    def claim(
        self,
        name: str,
        size: int,
        storage_class: str | None,
        *,
        volume: str | None = None,
        annotations: Json | None = None,
        modes: Sequence[str] = ("ReadWriteOnce",),
        phase: str | None = None,
        metadata: Json | None = None,
        **spec: Any,
    ) -> None:
        body: Json = {
            "accessModes": list(modes),
            "resources": {"requests": {"storage": spell(self.d, DISK, size)}},
            "volumeMode": "Filesystem",
        } | spec
        if storage_class is not None:
            body["storageClassName"] = storage_class
        if volume:
            body["volumeName"] = volume
            annotations = BIND_COMPLETED if annotations is None else annotations
        self.w.add(
            thing(
                "v1",
                "PersistentVolumeClaim",
                name,
                self.namespace,
                metadata={"annotations": annotations} | (metadata or {}),
                spec=body,
                status={"phase": phase or ("Bound" if volume else "Pending")},
            )
        )

    def bound(self, **fields: Any) -> str:
        """Add a volume that is bound to a claim, and return the name of the claim."""
        name = self.next("pv")
        claim_fields = {
            key: fields.pop(key) for key in ("annotations", "phase", "metadata") if key in fields
        }
        self.volume(name, 10 * GI, "now", claim=f"{name}-claim", **fields)
        self.claim(
            f"{name}-claim",
            10 * GI,
            "now",
            volume=name,
            modes=fields.get("modes", ("ReadWriteOnce",)),
            **claim_fields,
        )
        return f"{name}-claim"

    def in_zones(self) -> Json:
        return {"matchExpressions": [expression(ZONE, "In", *self.d.some(self.zones, 1, 2))]}
