"""Reach the cluster of a case by detours: it must answer as if it had always been so.

The objects come in any order and in earlier versions, nodes and pods come that leave again, so
that rows are used twice, and pods of other shapes are decided in between, so that answers are
kept, repaired and thrown away. What stays away from all this are images: the size of one is that
of the first node that told of it, in kube-scheduler too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

from fairlead.cycle.decision import Placed
from fairlead.cycle.reserve import unreserve
from fairlead.intake import WATCHED
from fairlead.model.decode import DECODERS, decode_node, decode_pod
from fairlead.model.podinfo import PodInfos
from fairlead.queue.entry import QueuedPodInfo
from fairlead.scheduler import Core

Json = dict[str, Any]

DECIDED = 0.15
"""How often a step is followed by a decision for some pod."""


class Arrival:
    """Brings objects into a core, by the shortest way or by detours."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def set(self, obj: Json) -> None:
        kind, text = obj["kind"], json.dumps(obj).encode()
        if kind == "Node":
            self.core.intake.set_node(decode_node(text))
        elif kind == "Pod":
            self.core.intake.set_pod(decode_pod(text))
        elif kind in WATCHED:
            decoded: Any = DECODERS[kind](text)
            self.core.intake.set_object(kind, decoded)

    def remove(self, obj: Json) -> None:
        kind, meta = obj["kind"], obj["metadata"]
        if kind == "Node":
            self.core.intake.remove_node(meta["name"])
        elif kind == "Pod":
            self.core.intake.remove_pod(meta["uid"])
        elif kind in WATCHED:
            self.core.intake.remove_object(kind, meta.get("namespace", ""), meta["name"])

    def directly(self, objects: Sequence[Json]) -> None:
        """As an API server lists them: what pods refer to before the pods."""
        for obj in sorted(objects, key=lambda each: ORDER.get(each["kind"], 0)):
            self.set(obj)

    def by_detours(self, objects: Sequence[Json], asked: Sequence[Json], chance: Random) -> None:
        """The same in the end, after things that are no more."""
        steps = Detours(chance).steps(objects)
        pending = [*asked, *(each for each in objects if each["kind"] == "Pod")]
        for verb, obj in steps:
            (self.set if verb == "set" else self.remove)(obj)
            if pending and chance.random() < DECIDED:
                self._decide(other(chance.choice(pending), chance))

    def _decide(self, pod: Json) -> None:
        """One attempt beside the queue, and nothing of it left."""
        core = self.core
        info = PodInfos().of(decode_pod(json.dumps(pod).encode()))
        profile = core.profiles.get(info.scheduler_name)
        if profile is None:
            return
        decision = core.cycle.schedule_one(profile, QueuedPodInfo(info, 0.0))
        if isinstance(decision, Placed):
            assert decision.state is not None
            unreserve(profile, info, decision.node_name, decision.state)
            core.cluster.forget(info.uid)


ORDER = {"Node": 1, "Pod": 2}

Step = tuple[str, Json]


class Detours:
    """Draws the ways by which objects come to be what they are."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.numbers = 0

    def steps(self, objects: Sequence[Json]) -> list[Step]:
        """One way for each object and for some that are not there in the end, shuffled together."""
        ways = [self._way(obj) for obj in objects if not images(obj)]
        ways.append([step for obj in objects if images(obj) for step in self._way(obj)])
        ways += [self._passing(obj) for obj in objects if self.chance.random() < 0.4]
        self.chance.shuffle(ways)
        steps: list[Step] = []
        while ways := [way for way in ways if way]:
            way = self.chance.choice(ways[:12])
            steps.append(way.pop(0))
        return steps

    def _way(self, obj: Json) -> list[Step]:
        way: list[Step] = [("set", obj)]
        for _ in range(self.chance.choice((0, 0, 1, 2))):
            way.insert(0, ("set", self._otherwise(obj)))
        if self.chance.random() < 0.3 and not images(obj):
            way[:0] = [("set", self._otherwise(obj)), ("remove", obj)]
        return way

    def _passing(self, obj: Json) -> list[Step]:
        """Something like this, for a while: a node's row will be another's."""
        self.numbers += 1
        double = self._otherwise(obj)
        meta = double["metadata"]
        meta["name"] = f"passing-{self.numbers}"
        meta["uid"] = f"uid-passing-{self.numbers}"
        if double["kind"] == "DeviceClass":  # what it stands for would be nobody's when it goes
            double["spec"].pop("extendedResourceName", None)
        if double["kind"] == "Node":
            double["status"].pop("images", None)
        return [("set", double), ("remove", double)]

    def _otherwise(self, obj: Json) -> Json:
        """An earlier version: the same thing with something else about it."""
        earlier = deepcopy(obj)
        if not obj.get("spec", {}).get("schedulingGates"):
            # A queued pod follows a version only if it is new. For one that is gated this makes a
            # difference that lasts, in kube-scheduler too: by an update it may be nominated.
            earlier["metadata"]["resourceVersion"] = "0"
        change = EARLIER.get(obj["kind"])
        if change is not None:
            change(earlier, self.chance)
        return earlier


def images(obj: Json) -> bool:
    return obj["kind"] == "Node" and bool(obj.get("status", {}).get("images"))


def other(pod: Json, chance: Random) -> Json:
    """A pending pod of another name and perhaps of another shape."""
    twin = deepcopy(pod)
    twin["metadata"]["name"] += "-twin"
    twin["metadata"]["uid"] += "-twin"
    twin["metadata"].pop("deletionTimestamp", None)
    twin["spec"].pop("nodeName", None)
    twin["status"] = {}
    if chance.random() < 0.5:
        _earlier_pod(twin, chance)
    return twin


def _earlier_node(node: Json, chance: Random) -> None:
    spec, status = node.setdefault("spec", {}), node.setdefault("status", {})
    labels = node["metadata"].setdefault("labels", {})
    for key in [*labels]:
        if chance.random() < 0.3:
            labels[key] = chance.choice(("zone-x", "x", "zone-a", "ssd"))
        elif chance.random() < 0.1:
            del labels[key]
    if chance.random() < 0.3:
        spec["taints"] = [{"key": "earlier", "effect": chance.choice(("NoSchedule", "NoExecute"))}]
    if chance.random() < 0.2:
        spec["unschedulable"] = not spec.get("unschedulable", False)
    if chance.random() < 0.4 and status.get("allocatable"):
        status["allocatable"] = {**status["allocatable"], "cpu": chance.choice(("1", "64"))}
    if chance.random() < 0.3:
        status["declaredFeatures"] = ["Earlier"]


def _earlier_pod(pod: Json, chance: Random) -> None:
    labels = pod["metadata"].setdefault("labels", {}) or {}
    for key in [*labels]:
        if chance.random() < 0.4:
            labels[key] = chance.choice(("earlier", "web", "db"))
    containers = pod["spec"].get("containers") or [{}]
    if chance.random() < 0.4:
        containers[0]["resources"] = {"requests": {"cpu": chance.choice(("10m", "3"))}}
    if chance.random() < 0.3:
        containers[0].pop("ports", None)
    if chance.random() < 0.2:
        pod["spec"].pop("affinity", None)


def _earlier_labels(obj: Json, chance: Random) -> None:
    if chance.random() < 0.5:
        obj["metadata"]["labels"] = {"earlier": "yes"}


def _earlier_selector(obj: Json, chance: Random) -> None:
    spec = obj.get("spec") or {}
    if "matchLabels" in (spec.get("selector") or {}):
        spec["selector"]["matchLabels"] = {"app": chance.choice(("earlier", "db"))}
    elif obj["kind"] in {"Service", "ReplicationController"}:
        spec["selector"] = {"app": chance.choice(("earlier", "db"))}


def _earlier_slice(obj: Json, chance: Random) -> None:
    spec = obj["spec"]
    if chance.random() < 0.4 and spec.get("devices"):
        spec["devices"] = spec["devices"][1:]
    if chance.random() < 0.3:
        spec["pool"]["generation"] += chance.choice((-1, 1))
    for device in spec.get("devices") or ():
        if chance.random() < 0.3:
            device.pop("attributes", None)


def _earlier_resource_claim(obj: Json, chance: Random) -> None:
    if chance.random() < 0.4:
        obj["status"] = {}
    for result in obj.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
        if chance.random() < 0.3:
            result["device"] += "-earlier"


def _earlier_device_class(obj: Json, chance: Random) -> None:
    if chance.random() < 0.5:
        obj["spec"]["extendedResourceName"] = "example.com/earlier"


def _earlier_volume(volume: Json, chance: Random) -> None:
    spec, status = volume["spec"], volume.setdefault("status", {})
    if chance.random() < 0.4:
        spec["claimRef"] = None
        status["phase"] = "Available"
    if chance.random() < 0.3:
        spec["capacity"] = {"storage": chance.choice(("1Gi", "1Ti"))}
    if chance.random() < 0.3:
        spec["nodeAffinity"] = None
    if chance.random() < 0.2:
        status["phase"] = "Released"
    _earlier_labels(volume, chance)


def _earlier_claim(claim: Json, chance: Random) -> None:
    if chance.random() < 0.5:
        claim["spec"].pop("volumeName", None)
        claim["metadata"]["annotations"] = {}
    if chance.random() < 0.3:
        claim["spec"]["accessModes"] = ["ReadWriteMany"]


def _earlier_class(of_class: Json, chance: Random) -> None:
    if chance.random() < 0.5:
        of_class["provisioner"] = chance.choice(("earlier", "csi.example.com"))
    if chance.random() < 0.3:
        of_class["volumeBindingMode"] = chance.choice(("Immediate", "WaitForFirstConsumer"))
    if chance.random() < 0.3:
        of_class.pop("allowedTopologies", None)


def _earlier_csi_node(node: Json, chance: Random) -> None:
    node["metadata"].pop("annotations", None)
    for driver in node["spec"].get("drivers") or ():
        driver["allocatable"] = chance.choice(({"count": 1}, {"count": 9}, None))


def _earlier_capacity(capacity: Json, chance: Random) -> None:
    capacity["capacity"] = chance.choice(("1", "1Ti"))
    if chance.random() < 0.3:
        capacity["nodeTopology"] = {}
    if chance.random() < 0.3:
        capacity["storageClassName"] = "earlier"


def _earlier_driver(driver: Json, chance: Random) -> None:
    driver["spec"] = {"storageCapacity": chance.random() < 0.5}


EARLIER: dict[str, Callable[[Json, Random], None]] = {
    "Node": _earlier_node,
    "Pod": _earlier_pod,
    "Namespace": _earlier_labels,
    "Service": _earlier_selector,
    "ReplicationController": _earlier_selector,
    "ReplicaSet": _earlier_selector,
    "StatefulSet": _earlier_selector,
    "PodDisruptionBudget": _earlier_selector,
    "ResourceSlice": _earlier_slice,
    "ResourceClaim": _earlier_resource_claim,
    "DeviceClass": _earlier_device_class,
    "PersistentVolume": _earlier_volume,
    "PersistentVolumeClaim": _earlier_claim,
    "StorageClass": _earlier_class,
    "CSINode": _earlier_csi_node,
    "CSIStorageCapacity": _earlier_capacity,
    "CSIDriver": _earlier_driver,
}
