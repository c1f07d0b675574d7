"""Which events wake pods that wait for volumes: for each one that does and one that does not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.model.decode import DECODERS
from fairlead.queue.events import Registration
from tests.builders import Json, info, node, pod
from tests.unit.plugins.test_volumes import (
    DRIVER,
    EPHEMERAL,
    OLD_ZONE,
    ZONE,
    claim,
    csi_node,
    storage_class,
    volume,
    with_claims,
    with_volumes,
    world,
)

MINE = with_claims("mine")
DISK = with_volumes({"gcePersistentDisk": {"pdName": "d"}})
INLINE = with_volumes({"csi": {"driver": DRIVER}})
TRACKED: Json = {
    "kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": True}
}  # fmt: skip
UNTRACKED: Json = {**TRACKED, "spec": {}}
NOW = storage_class("c", volumeBindingMode="Immediate")
THERE = storage_class("c", allowedTopologies=[{"matchLabelExpressions": []}])
MOVED: Json = {
    "kind": "CSINode",
    "metadata": {"name": "n", "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "x"}},
    "spec": {},
}
PLAIN: Json = {"kind": "CSINode", "metadata": {"name": "n"}, "spec": {}}


def left(amount: str, **more: Any) -> Json:
    meta = {"name": "k", "namespace": "default"}
    return {"kind": "CSIStorageCapacity", "metadata": meta, "capacity": amount, **more}


def attachment(attacher: str) -> Json:
    spec = {"attacher": attacher, "nodeName": "n"}
    return {"kind": "VolumeAttachment", "metadata": {"name": "a"}, "spec": spec}


ON: Json = {"on": "n"}
GOOGLE = "pd.csi.storage.gke.io"
# The plugin, the event, what waits, the object before and after, whether it is woken.
CASES: list[tuple[str, str, Json, Any, Any, bool]] = [
    ("VolumeRestrictions", "PersistentVolumeClaim", MINE, None, claim("mine"), True),
    ("VolumeRestrictions", "PersistentVolumeClaim", MINE, None, claim("other"), False),
    ("VolumeRestrictions", "PersistentVolumeClaim", EPHEMERAL, None, claim("me-v0"), False),
    ("VolumeRestrictions", "Pod", MINE, pod("old", **ON, **MINE), None, True),
    ("VolumeRestrictions", "Pod", DISK, pod("old", **ON, **DISK), None, True),
    ("VolumeRestrictions", "Pod", DISK, pod("old", **ON, **MINE), None, False),
    ("NodeVolumeLimits", "PersistentVolumeClaim", EPHEMERAL, None, claim("me-v0"), True),
    ("NodeVolumeLimits", "PersistentVolumeClaim", MINE, None, claim("other"), False),
    ("NodeVolumeLimits", "Pod", MINE, pod("old", **ON, **with_claims("x")), None, True),
    ("NodeVolumeLimits", "Pod", MINE, pod("old", **with_claims("x")), None, False),
    ("NodeVolumeLimits", "Pod", MINE, pod("old", **ON), None, False),
    ("NodeVolumeLimits", "storage.k8s.io/CSINode", MINE, csi_node("n", 1), csi_node("n", 2), True),
    ("NodeVolumeLimits", "storage.k8s.io/CSINode", MINE, csi_node("n", 2), csi_node("n", 1), False),
    ("NodeVolumeLimits", "storage.k8s.io/VolumeAttachment", MINE, attachment("x"), None, True),
    ("NodeVolumeLimits", "storage.k8s.io/VolumeAttachment", DISK, attachment(GOOGLE), None, True),
    ("NodeVolumeLimits", "storage.k8s.io/VolumeAttachment", DISK, attachment("x"), None, False),
    ("VolumeBinding", "storage.k8s.io/StorageClass", MINE, None, NOW, True),
    ("VolumeBinding", "storage.k8s.io/StorageClass", MINE, storage_class("c"), THERE, True),
    ("VolumeBinding", "storage.k8s.io/StorageClass", MINE, NOW, storage_class("c"), False),
    ("VolumeBinding", "PersistentVolumeClaim", EPHEMERAL, None, claim("me-v0"), True),
    ("VolumeBinding", "PersistentVolumeClaim", MINE, None, claim("other"), False),
    ("VolumeBinding", "storage.k8s.io/CSINode", MINE, None, PLAIN, True),
    ("VolumeBinding", "storage.k8s.io/CSINode", MINE, PLAIN, MOVED, True),
    ("VolumeBinding", "storage.k8s.io/CSINode", MINE, PLAIN, csi_node("n", 1), False),
    ("VolumeBinding", "storage.k8s.io/CSIDriver", INLINE, TRACKED, UNTRACKED, True),
    ("VolumeBinding", "storage.k8s.io/CSIDriver", INLINE, UNTRACKED, TRACKED, False),
    ("VolumeBinding", "storage.k8s.io/CSIDriver", MINE, TRACKED, UNTRACKED, False),
    ("VolumeBinding", "storage.k8s.io/CSIStorageCapacity", MINE, None, left("1"), True),
    ("VolumeBinding", "storage.k8s.io/CSIStorageCapacity", MINE, left("1"), left("2"), True),
    (
        "VolumeBinding",
        "storage.k8s.io/CSIStorageCapacity",
        MINE,
        left("1", maximumVolumeSize="1"),
        left("9", maximumVolumeSize="1"),
        False,
    ),
    ("VolumeZone", "storage.k8s.io/StorageClass", MINE, None, storage_class("c"), True),
    ("VolumeZone", "storage.k8s.io/StorageClass", MINE, None, NOW, False),
    ("VolumeZone", "PersistentVolumeClaim", MINE, None, claim("mine"), True),
    ("VolumeZone", "PersistentVolumeClaim", EPHEMERAL, None, claim("me-v0"), False),
    ("VolumeZone", "PersistentVolume", MINE, None, volume("v"), True),
    ("VolumeZone", "PersistentVolume", MINE, volume("v"), volume("v", labels={ZONE: "a"}), True),
    ("VolumeZone", "PersistentVolume", MINE, volume("v"), volume("v", size="9Gi"), False),
    (
        "VolumeZone",
        "PersistentVolume",
        MINE,
        volume("v", labels={OLD_ZONE: "a__b"}),
        volume("v", labels={OLD_ZONE: "b__a"}),
        False,
    ),
]


def decoded(given: Any) -> Any:
    if isinstance(given, dict):
        return DECODERS[given["kind"]](msgspec.json.encode(given))
    return given if given is None else info(given)


@pytest.mark.parametrize(("plugin", "resource", "waiting", "old", "new", "woken"), CASES)
def test_hints(plugin: str, resource: str, waiting: Json, old: Any, new: Any, woken: bool) -> None:
    action = 1 if old is None else 2 if new is None else 8188
    registered: list[Registration] = world().profile.plugins[plugin].plugin.events_to_register()
    (hint,) = [
        hint
        for event, hint in registered
        if event.resource == resource and event.action & action and hint is not None
    ]
    assert bool(hint(info(pod("me", **waiting)), decoded(old), decoded(new))) is woken


def test_what_wakes_whoever_waits() -> None:
    always = {
        (name, event.resource)
        for name in ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
        for event, hint in world().profile.plugins[name].plugin.events_to_register()
        if hint is None
    }
    assert always == {
        ("VolumeRestrictions", "Node"),
        ("NodeVolumeLimits", "storage.k8s.io/CSINode"),
        ("VolumeBinding", "PersistentVolume"),
        ("VolumeBinding", "Node"),
        ("VolumeZone", "Node"),
    }


def test_a_claim_that_comes_wakes_a_pod_in_the_queue() -> None:
    w = world(volume("v", host="n0"))
    w.set_pod(pod("me", **MINE))
    queue = w.core.queue
    entry = queue.pop()
    assert entry is not None
    decision = w.core.cycle.schedule_one(w.profile, entry)
    entry.rejected_by(getattr(decision, "unschedulable_plugins"))  # noqa: B009
    queue.add_unschedulable_if_not_present(entry)
    w.set_node(node("n0", cpu="9"))
    assert queue.pop() is None
    w.set_object(claim("mine"))
    assert queue.pop() is not None
