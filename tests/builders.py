"""Pods and nodes as an API server sends them, and the whole core of the scheduler to put them in.

What is built here goes through the real decoders and the real intake: a test that holds cannot
hold by a shape of object that the product never sees.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fairlead.cluster.state import Cluster
from fairlead.config.loading import load
from fairlead.config.release import RELEASE_1_36
from fairlead.cycle.decision import Decision, Detail, PostFiltered
from fairlead.framework.profile import Profile
from fairlead.model.decode import DECODERS, decode_node, decode_pod
from fairlead.model.node import Node
from fairlead.model.pod import Pod
from fairlead.model.podinfo import PodInfo, PodInfos
from fairlead.profiles import BUILT_IN
from fairlead.queue.entry import QueuedPodInfo
from fairlead.scheduler import Core

Json = dict[str, Any]
Choose = Callable[[int], int]
HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

_infos = PodInfos()


def node(
    name: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    pods: str = "110",
    allocatable: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[str] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    features: Sequence[str] = (),
    uid: str = "",
) -> Node:
    """A node; a taint is written `key=value:Effect`, `allocatable` adds and replaces."""
    wire: Json = {
        "metadata": {
            "name": name,
            "uid": uid or f"node-{name}",
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            "annotations": dict(annotations or {}),
        },
        "spec": {"taints": [taint(text) for text in taints], "unschedulable": unschedulable},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **(allocatable or {})},
            "declaredFeatures": list(features),
            "images": [{"names": [i], "sizeBytes": size} for i, size in (images or {}).items()],
        },
    }
    return decode_node(msgspec.json.encode(wire))


def taint(text: str) -> Json:
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}


def toleration(text: str) -> Json:
    """`key` tolerates all taints of the key, `key=value:Effect` only these, `` everything."""
    rest, _, effect = text.partition(":")
    key, equals, value = rest.partition("=")
    return {
        "key": key,
        "operator": "Equal" if equals else "Exists",
        "value": value,
        "effect": effect,
    }


def pod(
    name: str,
    *,
    cpu: str = "",
    memory: str = "",
    requests: Mapping[str, str] | None = None,
    on: str = "",
    ports: Sequence[int] = (),
    images: Sequence[str] = ("app",),
    tolerations: Sequence[str] = (),
    selector: Mapping[str, str] | None = None,
    affinity: Json | None = None,
    labels: Mapping[str, str] | None = None,
    gates: Sequence[str] = (),
    nominated: str = "",
    uid: str = "",
    spec: Json | None = None,
    **metadata: Any,
) -> Pod:
    """A pod with one container for each of its images; the first has the requests and ports."""
    wanted = {k: v for k, v in {"cpu": cpu, "memory": memory, **(requests or {})}.items() if v}
    containers: list[Json] = [{"name": f"c{i}", "image": text} for i, text in enumerate(images)]
    containers[0]["resources"] = {"requests": wanted}
    containers[0]["ports"] = [{"hostPort": port, "containerPort": port} for port in ports]
    wire: Json = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": uid or f"pod-{name}",
            "resourceVersion": "1",
            "labels": dict(labels or {}),
            **metadata,
        },
        "spec": {
            "containers": containers,
            "schedulerName": "default-scheduler",
            "tolerations": [toleration(text) for text in tolerations],
            "schedulingGates": [{"name": gate} for gate in gates],
        },
        "status": {"phase": "Running" if on else "Pending"},
    }
    if on:
        wire["spec"]["nodeName"] = on
    if selector is not None:
        wire["spec"]["nodeSelector"] = dict(selector)
    if affinity is not None:
        wire["spec"]["affinity"] = affinity
    if nominated:
        wire["status"]["nominatedNodeName"] = nominated
    wire["spec"] |= spec or {}
    return decode_pod(msgspec.json.encode(wire))


def info(given: Pod) -> PodInfo:
    """What the scheduler keeps of a pod."""
    return _infos.of(given)


def names_affinity(*names: str) -> Json:
    """The affinity that the DaemonSet controller gives: these nodes by name."""
    fields = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        for name in names
    ]
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": fields}
        }
    }


def before_preemption(message: str) -> str:
    """Why no node fits, without what the attempts to make room add to it."""
    return message.split(". ")[0].removesuffix(".") + "."


class StoppedClock:
    def now(self) -> float:
        return 0.0


class Told:
    """Writes down what a scheduler tells."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.gone: list[str] = []

    def wake(self) -> None:
        return

    def refused(self, line: str) -> None:
        self.lines.append(line)

    def hint_failed(self, plugin: str, event: object, pod: object, problem: Exception) -> None:
        self.lines.append(f"{plugin}: {problem}")

    def assumed_gone(self, pod: PodInfo) -> None:
        self.gone.append(pod.uid)


def first(count: int) -> int:
    return 0


class World:
    """A core with no I/O: nodes and pods go in by the intake, decisions come out."""

    def __init__(
        self,
        *nodes: Node,
        plugins: Sequence[type] | None = None,
        args: Mapping[str, Json] | None = None,
        choose: Choose = first,
        strict: bool = False,
    ) -> None:
        """`plugins` replaces the built-in ones, but for the queue's order and the binder.

        `strict` is what --strict-reference is.
        """
        self.cluster = Cluster()
        self.told = Told()
        classes = dict(BUILT_IN)
        profile: Json = {
            "pluginConfig": [{"name": n, "args": given} for n, given in (args or {}).items()]
        }
        if plugins is not None:
            names = [plugin.name for plugin in plugins]  # type: ignore[attr-defined]
            classes |= dict(zip(names, plugins, strict=True))
            enabled = [{"name": n} for n in ("PrioritySort", *names, "DefaultBinder")]
            profile["plugins"] = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": enabled}}
        config = {**HEADER, "profiles": [profile]}
        self.core = Core(
            self.cluster,
            load(msgspec.json.encode(config).decode()),
            classes,
            StoppedClock(),
            None if strict else choose,
            self.told,
            RELEASE_1_36.strictly() if strict else RELEASE_1_36,
        )
        self._numbers = itertools.count()
        for each in nodes:
            self.set_node(each)

    @property
    def profile(self) -> Profile:
        return self.core.profiles["default-scheduler"]

    def set_node(self, each: Node) -> None:
        self.core.intake.set_node(each)

    def set_pod(self, *pods: Pod) -> None:
        for each in pods:
            self.core.intake.set_pod(each)

    def set_object(self, *wires: Json) -> None:
        """Objects of other kinds, as an API server sends them."""
        for wire in wires:
            decoded: Any = DECODERS[wire["kind"]](msgspec.json.encode(wire))
            self.core.intake.set_object(wire["kind"], decoded)

    def decide(self, each: Pod, detail: Detail | None = None) -> Decision:
        """One attempt for a pod, beside the queue; a placed pod stays assumed."""
        entry = QueuedPodInfo(info(each), 0.0)
        return self.core.cycle.schedule_one(self.profile, entry, detail)

    def look(self, each: Pod) -> Detail:
        """All that is found about a pod, and no trace of it afterwards."""
        detail = Detail()
        self.decide(each, detail)
        self.cluster.forget(each.metadata.uid)
        return detail


def told(detail: Detail) -> dict[str, str]:
    """A Detail in an order that is not that of the rows, to compare one world with another."""
    found: dict[str, str] = {}
    for field in Detail.__dataclass_fields__:
        value = getattr(detail, field)
        if isinstance(value, PostFiltered):
            value = dataclasses.replace(value, tried=dict(sorted(value.tried.items())))
        found[field] = repr(sorted(value.items()) if isinstance(value, dict) else value)
    return found
