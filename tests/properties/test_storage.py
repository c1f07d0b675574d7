"""Pods with volumes, after any history of nodes, pods, volumes, claims and what drivers say.

Both forms of each plugin say the same, what is kept is what would be made anew, and a scheduler
says what a new one would to which the final objects are told.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.cycle.decision import Detail, Placed
from fairlead.cycle.reserve import unreserve
from fairlead.framework.state import CycleState
from fairlead.framework.status import Status
from fairlead.queue.entry import QueuedPodInfo
from tests.builders import Json, World, info, node, pod, told

NODES, CLAIMS, VOLUMES = 6, 6, 8
PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
CLASSES = {
    "local": "kubernetes.io/no-provisioner",
    "made": "csi.example.com",
    "tracked": "tracked.example.com",
    "now": "csi.example.com",
}

small = st.integers(0, 5)
zones = st.sampled_from(["a", "b"])
sizes = st.sampled_from(["1Gi", "5Gi", "10Gi"])
demands = st.one_of(
    st.builds(lambda z: {"key": ZONE, "operator": "In", "values": [z]}, zones),
    st.builds(lambda n: {"key": HOST, "operator": "In", "values": [f"n{n}"]}, small),
    st.just({"key": HOST, "operator": "NotIn", "values": ["n0"]}),
    st.just({"key": "disk", "operator": "Exists"}),
)
affinities = st.one_of(
    st.none(),
    st.lists(st.lists(demands, min_size=1, max_size=2), min_size=1, max_size=2).map(
        lambda terms: {
            "required": {"nodeSelectorTerms": [{"matchExpressions": each} for each in terms]}
        }
    ),
)
volume_facts = st.fixed_dictionaries(
    {
        "of_class": st.sampled_from(["local", "local", "made", "now"]),
        "size": sizes,
        "affinity": affinities,
        "claimed_by": st.one_of(st.none(), st.none(), small),
        "phase": st.sampled_from(["Available", "Available", "Released"]),
        "zone": st.one_of(st.none(), zones),
        "gce": st.booleans(),
    }
)
claim_facts = st.fixed_dictionaries(
    {
        "of_class": st.sampled_from(sorted(CLASSES)),
        "size": sizes,
        "volume": st.one_of(st.none(), st.none(), st.integers(0, VOLUMES - 1)),
        "selected": st.one_of(st.none(), st.none(), small),
        "mode": st.sampled_from(["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"]),
    }
)
pod_volumes = st.lists(
    st.one_of(
        small.map(lambda n: {"persistentVolumeClaim": {"claimName": f"c{n}"}}),
        st.sampled_from(["one", "two"]).map(lambda d: {"gcePersistentDisk": {"pdName": d}}),
        st.just({"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}),
    ),
    min_size=1,
    max_size=3,
)
changes = st.one_of(
    st.tuples(st.just("set_node"), small, st.one_of(st.none(), zones), st.booleans()),
    st.tuples(st.just("remove_node"), small),
    st.tuples(st.just("set_volume"), st.integers(0, VOLUMES - 1), volume_facts),
    st.tuples(st.just("set_volume"), st.integers(0, VOLUMES - 1), volume_facts),
    st.tuples(st.just("remove"), st.just("PersistentVolume"), st.just("v"), small),
    st.tuples(st.just("set_claim"), small, claim_facts),
    st.tuples(st.just("set_claim"), small, claim_facts),
    st.tuples(st.just("remove"), st.just("PersistentVolumeClaim"), st.just("c"), small),
    st.tuples(st.just("set_csi_node"), small, st.integers(0, 3), st.booleans()),
    st.tuples(st.just("remove"), st.just("CSINode"), st.just("n"), small),
    st.tuples(st.just("set_capacity"), small, sizes, zones),
    st.tuples(st.just("set_attachment"), small, small, small),
    st.tuples(st.just("set_pod"), small, pod_volumes, small),
    st.tuples(st.just("remove_pod"), small),
    st.tuples(st.just("decide"), pod_volumes),
    st.tuples(st.just("decide"), pod_volumes),
)


class History:
    """A core that lives through changes, and the objects as they are now."""

    def __init__(self) -> None:
        self.world = World()
        self.objects: dict[tuple[str, str], Json] = {}
        self.nodes: dict[str, Any] = {}
        self.pods: dict[str, Any] = {}
        self.version = 1
        for name, provisioner in CLASSES.items():
            mode = "Immediate" if name == "now" else "WaitForFirstConsumer"
            self._set("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode)
        self._set("CSIDriver", "tracked.example.com", spec={"storageCapacity": True})

    def _set(self, kind: str, name: str, *, meta: Json | None = None, **fields: Any) -> None:
        self.version += 1
        metadata = {"name": name, "uid": f"{kind}-{name}", "resourceVersion": str(self.version)}
        if kind in ("PersistentVolumeClaim", "CSIStorageCapacity"):
            metadata["namespace"] = "default"
        wire = {"kind": kind, "metadata": {**metadata, **(meta or {})}, **fields}
        self.objects[kind, name] = wire
        self.world.set_object(wire)

    def remove(self, kind: str, prefix: str, index: int) -> None:
        name = f"{prefix}{index}"
        if self.objects.pop((kind, name), None) is not None:
            namespace = "default" if kind == "PersistentVolumeClaim" else ""
            self.world.core.intake.remove_object(kind, namespace, name)

    def set_node(self, index: int, zone: str | None, disk: bool) -> None:
        labels = ({ZONE: zone} if zone else {}) | ({"disk": "ssd"} if disk else {})
        self.nodes[f"n{index}"] = node(f"n{index}", labels=labels)
        self.world.set_node(self.nodes[f"n{index}"])

    def remove_node(self, index: int) -> None:
        self.world.core.intake.remove_node(f"n{index}")
        self.nodes.pop(f"n{index}", None)

    def set_volume(self, index: int, facts: Json) -> None:
        name, claimed = f"v{index}", facts["claimed_by"]
        spec: Json = {
            "capacity": {"storage": facts["size"]},
            "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
            "storageClassName": facts["of_class"],
        }
        if facts["gce"]:
            spec["gcePersistentDisk"] = {"pdName": name}
        else:
            spec["csi"] = {"driver": "csi.example.com", "volumeHandle": name}
        if facts["affinity"] is not None:
            spec["nodeAffinity"] = facts["affinity"]
        if claimed is not None:
            spec["claimRef"] = {"namespace": "default", "name": f"c{claimed}"}
        labels = {ZONE: facts["zone"]} if facts["zone"] else {}
        status = {"phase": facts["phase"]}
        self._set("PersistentVolume", name, meta={"labels": labels}, spec=spec, status=status)

    def set_claim(self, index: int, facts: Json) -> None:
        spec: Json = {
            "accessModes": [facts["mode"]],
            "resources": {"requests": {"storage": facts["size"]}},
            "storageClassName": facts["of_class"],
        }
        notes = {}
        if facts["volume"] is not None:
            spec["volumeName"] = f"v{facts['volume']}"
            notes["pv.kubernetes.io/bind-completed"] = "yes"
        elif facts["selected"] is not None:
            notes["volume.kubernetes.io/selected-node"] = f"n{facts['selected']}"
        self._set("PersistentVolumeClaim", f"c{index}", meta={"annotations": notes}, spec=spec)

    def set_csi_node(self, index: int, count: int, moved: bool) -> None:
        notes = {MIGRATED: "kubernetes.io/gce-pd"} if moved else {}
        names = ("csi.example.com", "pd.csi.storage.gke.io")
        drivers = [{"name": name, "allocatable": {"count": count}} for name in names]
        self._set("CSINode", f"n{index}", meta={"annotations": notes}, spec={"drivers": drivers})

    def set_capacity(self, index: int, size: str, zone: str) -> None:
        topology = {"matchLabels": {ZONE: zone}}
        fields: Json = {"storageClassName": "tracked", "capacity": size, "nodeTopology": topology}
        self._set("CSIStorageCapacity", f"k{index}", **fields)

    def set_attachment(self, index: int, on: int, volume: int) -> None:
        source = {"persistentVolumeName": f"v{volume}"}
        spec = {"attacher": "csi.example.com", "nodeName": f"n{on}", "source": source}
        self._set("VolumeAttachment", f"a{index}", spec=spec)

    def set_pod(self, index: int, volumes: list[Json], on: int) -> None:
        name = f"p{index}"
        if name not in self.pods:
            self.pods[name] = pod(name, on=f"n{on}", spec=spec_of(volumes))
            self.world.set_pod(self.pods[name])

    def remove_pod(self, index: int) -> None:
        self.world.core.intake.remove_pod(f"pod-p{index}")
        self.pods.pop(f"p{index}", None)

    def decide(self, volumes: list[Json]) -> None:
        """One attempt, and nothing of it left."""
        entry = QueuedPodInfo(info(pod("asked", spec=spec_of(volumes))), 0.0)
        core, profile = self.world.core, self.world.profile
        decision = core.cycle.schedule_one(profile, entry)
        if isinstance(decision, Placed):
            assert decision.state is not None
            unreserve(profile, entry.pod, decision.node_name, decision.state)
            core.cluster.forget(entry.pod.uid)

    def check(self) -> None:
        shapes = self.world.core.cycle.shapes
        for key in list(shapes._shapes):
            shape = shapes.get(key)
            assert shape is not None
            assert not shapes.wrong(shape)
        assert self.world.core.cycle.engine.counts.mismatches == 0

    def check_against_a_new_core(self, asked: list[list[Json]]) -> None:
        new = World()
        for wire in self.objects.values():
            new.set_object(wire)
        for each in self.nodes.values():
            new.set_node(each)
        new.set_pod(*self.pods.values())
        for volumes in asked:
            waiting = pod("asked", spec=spec_of(volumes))
            assert answered(self.world, waiting) == answered(new, waiting)

    def check_forms(self, volumes: list[Json]) -> None:
        """Each plugin about each node, and about all of them at once."""
        core, asked = self.world.core, info(pod("asked", spec=spec_of(volumes)))
        everywhere = np.flatnonzero(core.cluster.nodes.columns.exists)
        for name in PLUGINS:
            instance = self.world.profile.plugins[name]
            state = CycleState()
            if isinstance(instance.pre_filter(asked, state), Status):
                continue
            for nodes in (core.cycle.handle.nodes(), core.cycle.handle.nodes(everywhere)):
                found = instance.filter_nodes(asked, nodes, state)
                for at, row in enumerate(everywhere.tolist()):
                    place = row if nodes.rows is None else at
                    status = instance.filter(asked, core.cluster.nodes.info(row), state)
                    code = 0 if found is None else int(found.codes[place])
                    reasons = nodes.reasons_of(int(found.reasons[place])) if found and code else ()
                    assert (code, reasons) == words(status), (name, row)


def spec_of(volumes: list[Json]) -> Json:
    return {"volumes": [{"name": f"v{i}", **each} for i, each in enumerate(volumes)]}


def words(status: Status | None) -> tuple[int, tuple[str, ...]]:
    return (0, ()) if status is None else (int(status.code), status.reasons)


def answered(world: World, waiting: Any) -> dict[str, str]:
    detail = Detail()
    entry = QueuedPodInfo(info(waiting), 0.0)
    decision = world.core.cycle.schedule_one(world.profile, entry, detail)
    if isinstance(decision, Placed):
        assert decision.state is not None
        unreserve(world.profile, entry.pod, decision.node_name, decision.state)
        world.cluster.forget(entry.pod.uid)
    return told(detail)


def histories(steps: int) -> st.SearchStrategy[list[list[tuple[Any, ...]]]]:
    step = st.lists(changes, min_size=1, max_size=4)
    return st.lists(step, min_size=steps // 2, max_size=steps)


def live(steps: list[list[tuple[Any, ...]]], asked: list[list[Json]]) -> None:
    history = History()
    for index in range(3):
        history.set_node(index, "a" if index else None, disk=bool(index % 2))
    for step in steps:
        for what, *how in step:
            getattr(history, what)(*how)
        history.check()
    for volumes in asked:
        history.check_forms(volumes)
    history.check_against_a_new_core(asked)


some_pods = st.lists(pod_volumes, min_size=1, max_size=4)


@given(histories(20), some_pods)
@settings(max_examples=80)
def test_storage_is_known_as_it_is_after_any_history(
    steps: list[list[tuple[Any, ...]]], asked: list[list[Json]]
) -> None:
    live(steps, asked)


@pytest.mark.slow
@given(histories(50), some_pods)
@settings(max_examples=2000)
def test_storage_is_known_as_it_is_after_many_long_histories(
    steps: list[list[tuple[Any, ...]]], asked: list[list[Json]]
) -> None:
    """Minutes: `make histories` runs it."""
    live(steps, asked)
