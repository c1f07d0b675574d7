"""A scheduler at work on the embedded cluster, in one process, for tests to watch."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from fairlead.config.loading import load
from fairlead.kube.access import ClusterAccess
from fairlead.lab.cluster import Cluster
from fairlead.lab.kubelet import Timing
from fairlead.lab.resources import BY_PATH
from fairlead.lab.store import Event
from fairlead.model.quantity import parse_quantity
from fairlead.profiles import BUILT_IN
from fairlead.run import Listeners, Process

Object = dict[str, Any]
PATIENCE = 20.0
NODES = BY_PATH["", "v1", "nodes"]
PODS = BY_PATH["", "v1", "pods"]
ASLEEP = Timing(start_seconds=3600, stop_seconds=3600)
"""Nothing but the scheduler changes a pod in a test's time."""

HEADER = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
"""
PLAIN = HEADER + "profiles: [{schedulerName: default-scheduler}]\n"


def with_plugins(**points: str) -> str:
    """A configuration whose only profile has these plugins besides the default ones."""
    enabled = ", ".join(f"{p}: {{enabled: [{{name: {n}}}]}}" for p, n in points.items())
    profile = f"{{schedulerName: default-scheduler, plugins: {{{enabled}}}}}"
    return f"{HEADER}profiles: [{profile}]\n"


def node(name: str, cpu: str = "4", labels: Mapping[str, str] | None = None) -> Object:
    capacity = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, cpu: str = "100m", *, metadata: Object | None = None, **spec: Any) -> Object:
    requests = {"cpu": cpu, "memory": "64Mi"}
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **(metadata or {})},
        "spec": {"containers": [container], **spec},
    }


@dataclass
class Ledger:
    """The history of the pods: how often each was bound, and whether a node ever had too much."""

    cluster: Cluster
    bound: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    overfull: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.cluster.store.subscribe(PODS, self._pod)

    def _pod(self, event: Event) -> None:
        after: Object = event.entry.object
        before: Object = event.previous.object if event.previous is not None else {"spec": {}}
        where = after["spec"].get("nodeName")
        if event.type == "DELETED" or not where or where == before["spec"].get("nodeName"):
            return
        self.bound.setdefault(after["metadata"]["uid"], []).append(where)
        if self._used(where) > parse_quantity(self._allocatable(where)).milli_value():
            self.overfull.append(f"{where} when {after['metadata']['name']} came")

    def _allocatable(self, name: str) -> str:
        found = self.cluster.get("nodes", name)
        return "0" if found is None else found["status"]["allocatable"]["cpu"]

    def _used(self, name: str) -> int:
        return sum(
            parse_quantity(each["resources"]["requests"]["cpu"]).milli_value()
            for one in self.cluster.items("pods")
            if one["spec"].get("nodeName") == name and one["status"]["phase"] != "Succeeded"
            for each in one["spec"]["containers"]
        )


@dataclass
class Stage:
    """What a test sees: the cluster, the process, and what the process told of."""

    cluster: Cluster
    process: Process
    ledger: Ledger
    bound: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    failed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    working: asyncio.Task[None] | None = None

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for the condition; a process that ended meanwhile fails the test with its error."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                if self.working is not None and self.working.done():
                    self.working.result()
                    raise AssertionError("the process has ended")
                await asyncio.sleep(0.005)

    async def placed(self, *names: str) -> list[str]:
        """The nodes of these pods, once all have one."""
        await self.until(lambda: all(self.node_of(name) for name in names))
        return [self.node_of(name) for name in names]

    async def refused(self, name: str) -> str:
        """Why the pod was not placed, once that is known and told."""
        await self.until(lambda: self.events(name, "FailedScheduling") and self.condition(name))
        return next(message for which, message in self.failed if which == name)

    async def settled(self) -> None:
        """Everything that the watch had told by now has been dealt with."""
        newest = max(
            (int(each["metadata"]["resourceVersion"]) for each in self.cluster.items("pods")),
            default=0,
        )
        name = f"settled-{newest}"
        self.cluster.create(pod(name, cpu="1m", tolerations=[{"operator": "Exists"}]))
        await self.until(lambda: any(which == name for which, _ in (*self.bound, *self.failed)))
        self.cluster.delete("pods", name, grace=0)

    def node_of(self, name: str) -> str:
        found = self.cluster.get("pods", name)
        return "" if found is None else found["spec"].get("nodeName", "")

    def condition(self, name: str) -> Object | None:
        found = self.cluster.get("pods", name)
        conditions = [] if found is None else found["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == "PodScheduled"), None)

    def events(self, name: str, reason: str) -> list[Object]:
        return [
            each
            for each in self.cluster.items("events")
            if each["involvedObject"]["name"] == name and each["reason"] == reason
        ]

    def copy(self, resource: str, name: str) -> Object:
        """An object to change and to hand to `update`: what the store holds is its own."""
        found = self.cluster.get(resource, name)
        assert found is not None, f"{resource} {name} is gone"
        return deepcopy(found)

    def uid(self, name: str) -> str:
        return self.copy("pods", name)["metadata"]["uid"]

    def _hear(self, told: list[tuple[str, str]]) -> Callable[[Any, str], None]:
        return lambda pod, text: told.append((pod.name, text))

    def listen(self) -> None:
        self.process.listeners.bound = self._hear(self.bound)
        self.process.listeners.failed = self._hear(self.failed)


@contextlib.asynccontextmanager
async def at_work(
    cluster: Cluster,
    configuration: str = PLAIN,
    plugins: tuple[type, ...] = (),
    *,
    access: ClusterAccess | None = None,
) -> AsyncIterator[Stage]:
    """A scheduler on this cluster, from when it knows all to when it has ended in order.

    At the end every pod was bound at most once, and no node had more than it can bear.
    """
    classes = {**BUILT_IN, **{getattr(plugin, "name"): plugin for plugin in plugins}}  # noqa: B009
    access = access or ClusterAccess(server=cluster.server)
    process = Process(load(configuration), classes, access, listeners=Listeners(), seed=1)
    stage = Stage(cluster, process, Ledger(cluster))
    stage.listen()
    ready = asyncio.Event()
    process.listeners.ready = ready.set
    stage.working = asyncio.create_task(process.run())
    try:
        await stage.until(ready.is_set)
        yield stage
    finally:
        process.stop()
        async with asyncio.timeout(PATIENCE):
            await stage.working
    assert {uid: nodes for uid, nodes in stage.ledger.bound.items() if len(nodes) > 1} == {}
    assert stage.ledger.overfull == []
