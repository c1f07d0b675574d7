"""Volumes: what refuses a node, where a volume is chosen, what is counted, and when."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cycle.decision import Detail, Placed
from tests.builders import Json, World, info, node, pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
DRIVER = "csi.example.com"
DONE = {"pv.kubernetes.io/bind-completed": "yes"}


def storage_class(name: str, provisioner: str = DRIVER, **fields: Any) -> Json:
    mode = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": provisioner}
    return {"kind": "StorageClass", "metadata": {"name": name}, **mode, **fields}


def claim(name: str, of_class: str = "local", size: str = "1Gi", **more: Any) -> Json:
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    volume: str = more.pop("volume", "")
    notes: dict[str, str] = more.pop("annotations", DONE if volume else {})
    spec = {
        "storageClassName": of_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "volumeName": volume,
        **more,
    }
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {**meta, "annotations": notes},
        "spec": spec,
    }


def volume(name: str, of_class: str = "local", size: str = "1Gi", **more: Any) -> Json:
    host: str = more.pop("host", "")
    labels: dict[str, str] = more.pop("labels", {})
    phase: str = more.pop("phase", "Available")
    spec: Json = {
        "storageClassName": of_class,
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        **more,
    }
    if host:
        demand = {"key": HOST, "operator": "In", "values": [host]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [demand]}]}}
    meta = {"name": name, "labels": labels, "resourceVersion": "1"}
    return {"kind": "PersistentVolume", "metadata": meta, "spec": spec, "status": {"phase": phase}}


def csi(handle: str) -> Json:
    return {"csi": {"driver": DRIVER, "volumeHandle": handle}}


def csi_node(name: str, count: int) -> Json:
    drivers = [{"name": DRIVER, "allocatable": {"count": count}}]
    return {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}


def with_claims(*names: str) -> Json:
    sources = [{"persistentVolumeClaim": {"claimName": name}} for name in names]
    return with_volumes(*sources)


def with_volumes(*sources: Json) -> Json:
    return {"spec": {"volumes": [{"name": f"v{i}", **each} for i, each in enumerate(sources)]}}


def world(*objects: Json, nodes: int = 2) -> World:
    made = World(*(node(f"n{i}", labels={ZONE: f"z{i}"}) for i in range(nodes)))
    made.set_object(storage_class("local", "kubernetes.io/no-provisioner"), *objects)
    return made


def refusals(of: World, **facts: Any) -> dict[str, str]:
    """By node, why it is refused; nothing for a node that is not."""
    detail: Detail = of.look(pod("asked", **facts))
    if detail.pre_filter is not None:
        return {"": detail.pre_filter.status.message}
    assert detail.filter is not None
    return {
        name: "" if refusal is None else refusal.status.message
        for name, refusal in detail.filter.items()
    }


NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
TOO_MANY = "node(s) exceed max volume count"


def test_the_smallest_volume_that_suits_is_taken_and_then_gone() -> None:
    w = world(
        volume("big", size="9Gi", host="n0"),
        volume("fit", size="2Gi", host="n0"),
        volume("small", size="1Mi", host="n1"),
        claim("one"),
        claim("two"),
        claim("three"),
    )
    assert refusals(w, **with_claims("one")) == {"n0": "", "n1": NO_VOLUME}
    assert isinstance(w.decide(pod("a", **with_claims("one"))), Placed)
    taken = w.cluster.nodes.storage.volumes.get("", "fit")
    assert taken is not None
    assert taken.spec.claim_ref is not None
    assert taken.spec.claim_ref.name == "one"
    assert refusals(w, **with_claims("two", "three")) == {"n0": NO_VOLUME, "n1": NO_VOLUME}
    assert isinstance(w.decide(pod("b", **with_claims("two"))), Placed)
    assert refusals(w, **with_claims("three")) == {"n0": NO_VOLUME, "n1": NO_VOLUME}


def test_two_claims_of_a_pod_do_not_share_a_volume() -> None:
    w = world(volume("v", host="n0"), claim("one"), claim("two"))
    assert refusals(w, **with_claims("one", "two"))["n0"] == NO_VOLUME
    w.set_object(volume("w", host="n0"))
    assert refusals(w, **with_claims("one", "two")) == {"n0": "", "n1": NO_VOLUME}


def test_a_volume_that_is_kept_for_the_claim_is_the_only_one_it_has() -> None:
    kept: Json = {"claimRef": {"namespace": "default", "name": "one"}}
    w = world(volume("kept", host="n0", **kept), volume("free", host="n1"), claim("one"))
    assert refusals(w, **with_claims("one")) == {"n0": "", "n1": NO_VOLUME}
    assert isinstance(w.decide(pod("a", **with_claims("one"))), Placed)
    taken = w.cluster.nodes.storage.volumes.get("", "kept")
    assert taken is not None
    assert taken.spec.claim_ref is not None
    assert taken.spec.claim_ref.uid == "uid-one"


@pytest.mark.parametrize(
    "odd",
    [
        {"phase": "Released"},
        {"volumeMode": "Block"},
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeAttributesClassName": "gold"},
        {"claimRef": {"namespace": "default", "name": "other"}},
        {"storageClassName": "elsewhere"},
    ],
)
def test_a_volume_that_does_not_suit_is_not_had(odd: Json) -> None:
    w = world(volume("v", **odd), claim("one"))
    assert refusals(w, **with_claims("one")) == {"n0": NO_VOLUME, "n1": NO_VOLUME}


def test_what_is_assumed_ends_with_a_newer_version_and_not_with_the_same() -> None:
    first = volume("v", host="n0")
    w = world(first, claim("one"))
    assert isinstance(w.decide(pod("a", **with_claims("one"))), Placed)
    storage = w.cluster.nodes.storage
    w.set_object(first)
    assumed = storage.volumes.get("", "v")
    assert assumed is not None
    assert assumed.spec.claim_ref is not None
    first["metadata"]["resourceVersion"] = "2"
    w.set_object(first)
    told = storage.volumes.get("", "v")
    assert told is not None
    assert told.spec.claim_ref is None
    assert refusals(w, **with_claims("one"))["n0"] == ""


def test_a_selected_node_is_the_only_one() -> None:
    selected = {"volume.kubernetes.io/selected-node": "n1"}
    w = world(storage_class("made"), claim("one", "made", annotations=selected))
    assert refusals(w, **with_claims("one")) == {"n0": NO_VOLUME, "n1": ""}


def test_where_a_class_may_be_and_how_much_is_left_decide_what_can_be_made() -> None:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z0"]}]}]
    w = world(storage_class("made", "tracked", allowedTopologies=topologies), claim("one", "made"))
    assert refusals(w, **with_claims("one")) == {"n0": "", "n1": NO_VOLUME}
    w.set_object({"kind": "CSIDriver", "metadata": {"name": "tracked"},
                  "spec": {"storageCapacity": True}})  # fmt: skip
    short = "node(s) did not have enough free storage"
    assert refusals(w, **with_claims("one"))["n0"] == short
    left: Json = {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "k", "namespace": "kube-system"},
        "storageClassName": "made",
        "capacity": "2Gi",
        "maximumVolumeSize": "1Mi",
        "nodeTopology": {"matchLabels": {ZONE: "z0"}},
    }
    w.set_object(left)
    assert refusals(w, **with_claims("one"))["n0"] == short, "the largest volume counts"
    del left["maximumVolumeSize"]
    w.set_object(left)
    assert refusals(w, **with_claims("one"))["n0"] == ""


def test_reasons_of_bound_and_unbound_claims_stand_together_in_order() -> None:
    gone = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    away = "node(s) didn't match PersistentVolume's node affinity"
    w = world(
        volume("v", host="n1", phase="Bound"),
        claim("bound", volume="v"),
        claim("one"),
        claim("lost", volume="nowhere"),
    )
    profile = w.profile.plugins["VolumeBinding"]
    assert refusals(w, **with_claims("bound", "one"))["n0"] == f"{away}, {NO_VOLUME}"
    assert profile.kept
    assert refusals(w, **with_claims("lost")) == {"": 'persistentvolume "nowhere" not found'}
    asked = info(pod("asked", **with_claims("lost", "one")))
    binding: Any = profile.plugin
    meaning = binding.reads(asked)
    found = binding._find(meaning, w.cluster.nodes.get("n0"))
    assert found.reasons == [NO_VOLUME, gone]


def test_claims_that_mean_the_same_share_what_is_kept() -> None:
    w = world(storage_class("made"), *(claim(f"c{i}", "made") for i in range(5)))
    for i in range(5):
        assert isinstance(w.decide(pod(f"p{i}", **with_claims(f"c{i}"))), Placed)
    assert len(w.core.cycle.shapes) == 1


def test_a_claim_for_one_pod_is_refused_everywhere_while_it_is_used() -> None:
    once: Json = {"accessModes": ["ReadWriteOncePod"]}
    w = world(volume("v", phase="Bound", **once), claim("one", volume="v", **once))
    assert refusals(w, **with_claims("one")) == {"n0": "", "n1": ""}
    w.set_pod(pod("holder", on="n0", **with_claims("one")))
    reason = refusals(w, **with_claims("one"))
    assert set(reason) == {"n0", "n1"}
    assert all("ReadWriteOncePod" in text for text in reason.values())
    w.core.intake.remove_pod("pod-holder")
    assert refusals(w, **with_claims("one")) == {"n0": "", "n1": ""}


@pytest.mark.parametrize(
    ("mine", "its", "refused"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d"}}, True),
        (
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            False,
        ),
        (
            {"awsElasticBlockStore": {"volumeID": "v", "readOnly": True}},
            {"awsElasticBlockStore": {"volumeID": "v", "readOnly": True}},
            True,
        ),
        ({"iscsi": {"iqn": "i", "readOnly": True}}, {"iscsi": {"iqn": "i"}}, True),
        (
            {"rbd": {"monitors": ["a", "b"], "image": "i", "pool": "p"}},
            {"rbd": {"monitors": ["b"], "image": "i", "pool": "p"}},
            True,
        ),
        (
            {"rbd": {"monitors": ["a"], "image": "i", "pool": "p"}},
            {"rbd": {"monitors": ["b"], "image": "i", "pool": "p"}},
            False,
        ),
    ],
)
def test_disks_that_two_pods_of_a_node_cannot_both_have(
    mine: Json, its: Json, refused: bool
) -> None:
    w = world()
    w.set_pod(pod("other", on="n0", **with_volumes(its)))
    assert refusals(w, **with_volumes(mine)).get("n0") == (
        "node(s) had no available disk" if refused else ""
    )


def limited() -> World:
    """Node n0 can attach one volume; `used` is that of a pod there, `mine` is free."""
    w = world(
        volume("used", phase="Bound", **csi("h1")),
        volume("mine", phase="Bound", **csi("h2")),
        claim("used", volume="used"),
        claim("mine", volume="mine"),
        csi_node("n0", 1),
    )
    w.set_pod(pod("other", on="n0", **with_claims("used")))
    return w


def test_a_node_attaches_so_many_volumes_and_a_shared_one_once() -> None:
    w = limited()
    assert refusals(w, **with_claims("mine")) == {"n0": TOO_MANY, "n1": ""}
    assert refusals(w, **with_claims("used")) == {"n0": "", "n1": ""}
    w.set_object(csi_node("n0", 2))
    assert refusals(w, **with_claims("mine"))["n0"] == ""
    w.core.intake.remove_object("CSINode", "", "n0")
    assert refusals(w, **with_claims("mine"))["n0"] == ""


def test_a_volume_counts_once_its_claim_or_itself_is_known() -> None:
    w = limited()
    assert refusals(w, **with_claims("mine"))["n0"] == TOO_MANY
    w.core.intake.remove_object("PersistentVolumeClaim", "default", "used")
    assert refusals(w, **with_claims("mine"))["n0"] == ""
    w.set_object(claim("used", volume="used"))
    assert refusals(w, **with_claims("mine"))["n0"] == TOO_MANY
    w.set_object(volume("used", phase="Bound", local={"path": "/mnt"}))
    assert refusals(w, **with_claims("mine"))["n0"] == ""
    w.set_object(volume("used", phase="Bound", **csi("h2")))
    assert refusals(w, **with_claims("mine"))["n0"] == "", "it is the same volume now"


def test_an_attached_volume_counts_though_no_pod_uses_it() -> None:
    w = limited()
    w.core.intake.remove_pod("pod-other")
    assert refusals(w, **with_claims("mine"))["n0"] == ""
    source = {"persistentVolumeName": "used"}
    spec = {"attacher": DRIVER, "nodeName": "n0", "source": source}
    w.set_object({"kind": "VolumeAttachment", "metadata": {"name": "a"}, "spec": spec})
    assert refusals(w, **with_claims("mine"))["n0"] == TOO_MANY
    w.core.intake.remove_object("VolumeAttachment", "", "a")
    assert refusals(w, **with_claims("mine"))["n0"] == ""


def test_an_unbound_claim_counts_for_the_driver_of_its_class() -> None:
    w = limited()
    w.set_object(storage_class("made"), claim("new", "made"))
    assert refusals(w, **with_claims("new")) == {"n0": TOO_MANY, "n1": ""}


def test_zones_of_labels_old_and_new() -> None:
    w = world(
        volume("v", phase="Bound", labels={OLD_ZONE: "z0__z9"}),
        volume("odd", phase="Bound", labels={ZONE: "z0__"}),
        claim("one", volume="v"),
        claim("two", volume="odd"),
    )
    w.set_node(node("bare"))
    away = "node(s) had no available volume zone"
    assert refusals(w, **with_claims("one")) == {"n0": "", "n1": away, "bare": ""}
    assert set(refusals(w, **with_claims("two")).values()) == {""}, "an empty part says nothing"


MOVED = "storage.alpha.kubernetes.io/migrated-plugins"


def test_a_moved_volume_is_reached_by_its_drivers_labels_where_the_node_has_moved() -> None:
    demand = {"key": ZONE, "operator": "In", "values": ["z1"]}
    terms = {"required": {"nodeSelectorTerms": [{"matchExpressions": [demand]}]}}
    disk: Json = {"gcePersistentDisk": {"pdName": "d"}, "nodeAffinity": terms}
    w = world(volume("v", phase="Bound", **disk), claim("one", volume="v"))
    away = "node(s) didn't match PersistentVolume's node affinity"
    assert refusals(w, **with_claims("one")) == {"n0": away, "n1": ""}
    notes = {MOVED: "kubernetes.io/gce-pd"}
    moved = {"kind": "CSINode", "metadata": {"name": "n1", "annotations": notes}, "spec": {}}
    w.set_object(moved)
    assert refusals(w, **with_claims("one")) == {"n0": away, "n1": away}
    w.set_node(node("n1", labels={ZONE: "z1", "topology.gke.io/zone": "z1"}))
    assert refusals(w, **with_claims("one")) == {"n0": away, "n1": ""}


EPHEMERAL = with_volumes({"ephemeral": {"volumeClaimTemplate": {}}})


def test_the_claim_of_an_ephemeral_volume_must_be_the_pods_own() -> None:
    w = world(storage_class("made"))
    waiting = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
    name = "asked-v0"
    detail = w.look(pod("asked", **EPHEMERAL))
    assert detail.pre_filter is not None
    assert detail.pre_filter.status.message == f'{waiting} "{name}"'
    made = claim(name, "made")
    w.set_object(made)
    assert refusals(w, **EPHEMERAL) == {
        "": f"PVC default/{name} was not created for pod default/asked (pod is not owner)"
    }
    made["metadata"]["ownerReferences"] = [{"uid": "pod-asked", "controller": True}]
    w.set_object(made)
    assert refusals(w, **EPHEMERAL) == {"n0": "", "n1": ""}
