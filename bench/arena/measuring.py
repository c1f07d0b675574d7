"""One scheduler, one workload, one fresh control plane: what it took.

The start lasts until the first bind (backlog) or until the measured pods are created (online). CPU
is counted from there until the scheduler is quiet, so that what it puts off counts too.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import statistics
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.arena.api import Api
from bench.arena.processes import Meter
from bench.arena.workloads import Workload, node, node_name, pod
from tests.control_plane.plane import ControlPlane

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
PREFIX = "measured"


@dataclass(frozen=True)
class Scheduler:
    """A name and a command line, in which {config} and {kubeconfig} stand for files."""

    name: str
    command: str


class SchedulerEndedError(Exception):
    """The scheduler ended, or bound nothing at all; the message has the end of its log."""


@dataclass
class Observer:
    """When each measured pod was created and bound, as a watch of one's own tells it."""

    expected: int
    created: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    all_created: asyncio.Event = field(default_factory=asyncio.Event)
    all_bound: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, api: Api, version: str) -> None:
        while True:
            async for event in api.watch(PODS, version):
                if event["type"] == "ERROR":
                    raise RuntimeError(f"watch: {event['object']}")
                version = event["object"]["metadata"]["resourceVersion"]
                self._see(event["object"])

    def _see(self, seen: Any) -> None:
        name = seen["metadata"]["name"]
        if not name.startswith(PREFIX):
            return
        now = time.monotonic()
        self.created.setdefault(name, now)
        if len(self.created) == self.expected:
            self.all_created.set()
        target = seen["spec"].get("nodeName")
        if target and name not in self.bound:
            self.bound[name] = now
            self.where[name] = target
            if len(self.bound) == self.expected:
                self.all_bound.set()

    def start_over(self) -> None:
        for seen in (self.created, self.bound, self.where):
            seen.clear()


class Measurement:
    """The course of one measurement; `run` once, then `result`."""

    def __init__(
        self, plane: ControlPlane, scheduler: Scheduler, workload: Workload, patience: float
    ) -> None:
        self._plane = plane
        self._scheduler = scheduler
        self._workload = workload
        self._patience = patience
        self._observer = Observer(workload.pods)
        self._log = plane.directory / f"{scheduler.name}.log"
        self._scheduled: set[str] = set()
        self._alive = False

    async def run(self) -> dict[str, Any]:
        async with Api(self._plane) as api, asyncio.TaskGroup() as tasks:
            await self._set_the_stage(api)
            version = (await api.get(f"{PODS}?limit=1"))["metadata"]["resourceVersion"]
            background = [tasks.create_task(self._observer.run(api, version))]
            if self._workload.mode == "backlog":
                await api.create_all(PODS, self._measured())
                await self._observer.all_created.wait()
            process = self._start()
            try:
                plane = [self._plane.pid(name) for name in ("etcd", "kube-apiserver")]
                self._meter = Meter(process.pid, plane)
                background.append(tasks.create_task(self._meter.run()))
                if self._workload.mode == "online":
                    await self._warm_up(api, process)
                    background.append(tasks.create_task(api.create_all(PODS, self._measured())))
                await self._wait()
                await self._meter.until_quiet()
                self._alive = process.poll() is None
            finally:
                _end(process)
                for task in background:
                    task.cancel()
            self._scheduled = await self._scheduled_events(api)
        return self._result()

    async def _set_the_stage(self, api: Api) -> None:
        w = self._workload
        await api.create_all("/api/v1/nodes", (node(i) for i in range(w.nodes)))
        placed = [pod("basic", "placed", i, w.nodes) for i in range(w.placed)]
        for number, manifest in enumerate(placed):
            manifest["spec"]["nodeName"] = node_name(number % w.nodes)
        await api.create_all(PODS, placed)

    def _measured(self) -> list[dict[str, Any]]:
        w = self._workload
        return [pod(w.kind, PREFIX, number, w.nodes) for number in range(w.pods)]

    def _start(self) -> subprocess.Popen[bytes]:
        kubeconfig = self._plane.scheduler_kubeconfig
        config = self._plane.directory / "scheduler.yaml"
        settings = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
        }
        config.write_text(json.dumps(settings))
        command = self._scheduler.command.format(config=config, kubeconfig=kubeconfig)
        self._started = self._begin = time.monotonic()
        with self._log.open("wb") as log:
            return subprocess.Popen(
                shlex.split(command), stdout=log, stderr=log, start_new_session=True
            )

    async def _warm_up(self, api: Api, process: subprocess.Popen[bytes]) -> None:
        """Until the scheduler schedules at all; only then do the pods that count come."""
        await api.create(PODS, pod("basic", f"{PREFIX}-warm", 0, self._workload.nodes))
        deadline = time.monotonic() + self._patience
        while not self._observer.bound:
            await asyncio.sleep(0.05)
            if process.poll() is not None or time.monotonic() > deadline:
                tail = self._log.read_text(errors="replace")[-1000:]
                raise SchedulerEndedError(f"{self._scheduler.name} bound nothing:\n{tail}")
        self._first = time.monotonic() - self._started
        self._observer.start_over()
        await asyncio.sleep(1)
        self._begin = time.monotonic()

    async def _wait(self) -> None:
        try:
            await asyncio.wait_for(self._observer.all_bound.wait(), self._patience)
        except TimeoutError:
            return  # the result says how many were bound

    async def _scheduled_events(self, api: Api) -> set[str]:
        events = (await api.get(EVENTS))["items"]
        return {e["regarding"]["name"] for e in events if e.get("reason") == "Scheduled"}

    def _result(self) -> dict[str, Any]:
        seen, online = self._observer, self._workload.mode == "online"
        times = sorted(seen.bound.values()) or [self._started]
        begin = self._begin if online else times[0]
        first = self._first if online else times[0] - self._started
        per_thousand = [cpu / max(1, len(seen.bound)) * 1000 for cpu in self._meter.since(begin)]
        per_node = Counter(seen.where.values())
        counts = [per_node[node_name(number)] for number in range(self._workload.nodes)]
        waits = sorted(at - seen.created[name] for name, at in seen.bound.items()) or [0.0]
        span = times[-1] - begin
        return {
            "name": self._scheduler.name,
            "workload": str(self._workload),
            "whole": len(seen.bound) == self._workload.pods and self._alive,
            "bound": len(seen.bound),
            "scheduled_events": len(self._scheduled & seen.bound.keys()),
            "pods_per_s": round(len(seen.bound) / span, 1) if span else 0,
            "cpu_s_per_1000": round(per_thousand[0], 3),
            "plane_cpu_s_per_1000": round(per_thousand[1], 3),
            "start_cpu_s": round(self._meter.at(begin)[0], 2),
            "first_bind_s": round(first, 2),
            "peak_mib": round(self._meter.peak_mib),
            "wait_p50_ms": round(1000 * waits[len(waits) // 2], 1) if online else None,
            "wait_p99_ms": round(1000 * waits[len(waits) * 99 // 100], 1) if online else None,
            "most_per_node": max(counts),
            "stdev_per_node": round(statistics.pstdev(counts), 2),
        }


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def measure(
    directory: Path, scheduler: Scheduler, workload: Workload, patience: float
) -> dict[str, Any]:
    """A control plane of its own for each measurement, so that none inherits another's state."""
    with ControlPlane(directory) as plane:
        return asyncio.run(Measurement(plane, scheduler, workload, patience).run())
