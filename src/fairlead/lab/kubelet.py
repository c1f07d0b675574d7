"""Nodes that run pods: a bound pod starts after a while, may end by itself, and goes when told.

One kubelet plays all nodes. Nothing really runs: only the status says so. Pods of Jobs end after
`Timing.job_seconds`; any pod whose restart policy lets it end does so after the seconds that its
annotation `lab.fairlead.dev/run-seconds` names, with the code in `lab.fairlead.dev/exit-code`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

import msgspec

from fairlead.lab.binding import with_condition
from fairlead.lab.deletion import DeleteOptions, Preconditions
from fairlead.lab.objects import Object, controller_of, key_of, nested, timestamp
from fairlead.lab.registry import Registry
from fairlead.lab.resources import BY_PATH
from fairlead.lab.status import ApiError
from fairlead.lab.store import Event, Key

PODS = BY_PATH["", "v1", "pods"]
NODES = BY_PATH["", "v1", "nodes"]
RUN_SECONDS = "lab.fairlead.dev/run-seconds"
EXIT_CODE = "lab.fairlead.dev/exit-code"
ENDED = ("Succeeded", "Failed")


class Timing(msgspec.Struct, frozen=True):
    """How long things take on the nodes, in seconds.

    `stop_seconds` is how long a container needs to end when it is asked to; its grace period cuts
    that short.
    """

    start_seconds: float = 0.5
    stop_seconds: float = 0.0
    job_seconds: float = 10.0


class Kubelet:
    """The kubelet of every node in the store."""

    def __init__(self, registry: Registry, timing: Timing | None = None) -> None:
        """A kubelet that does nothing until `start`."""
        self._registry = registry
        self._timing = timing or Timing()
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._leave: list[Callable[[], None]] = []
        self._addresses = 0

    def start(self) -> None:
        """Take over all pods that are bound, and those that will be; needs a running loop."""
        store = self._registry.store
        self._leave = [
            store.subscribe(PODS, lambda event: self._pod_changed(event.entry.object, event)),
            store.subscribe(NODES, self._node_changed),
        ]
        for entry in store.entries(PODS):
            self._pod_changed(entry.object, None)

    def stop(self) -> None:
        """Leave all pods as they are."""
        for leave in self._leave:
            leave()
        for timer in self._timers.values():
            timer.cancel()
        self._leave, self._timers = [], {}

    def _node_changed(self, event: Event) -> None:
        if event.type != "ADDED":
            return
        name: str = event.entry.object["metadata"]["name"]
        for entry in self._registry.store.entries(PODS):
            if entry.object["spec"].get("nodeName") == name:
                self._pod_changed(entry.object, None)

    def _pod_changed(self, pod: Object, event: Event | None) -> None:
        uid: str = pod["metadata"]["uid"]
        if event is not None and event.type == "DELETED":
            for what in ("start", "end", "remove"):
                timer = self._timers.pop((uid, what), None)
                if timer is not None:
                    timer.cancel()
            return
        node: str = pod["spec"].get("nodeName") or ""
        if not node:
            return
        phase = nested(pod, "status", "phase")
        if "deletionTimestamp" in pod["metadata"]:
            self._later(pod, "remove", self._stopping(pod), self._remove)
        elif self._registry.store.get(NODES, "", node) is None or phase in ENDED:
            return
        elif phase == "Pending":
            self._later(pod, "start", self._timing.start_seconds, self._start)
        elif (seconds := self._lifetime(pod)) is not None:
            self._later(pod, "end", seconds, self._end)

    def _later(
        self, pod: Object, what: str, seconds: float, action: Callable[[Key, str], None]
    ) -> None:
        uid: str = pod["metadata"]["uid"]
        if (uid, what) in self._timers:
            return
        key = key_of(pod)

        def act() -> None:
            self._timers.pop((uid, what), None)
            action(key, uid)

        self._timers[uid, what] = asyncio.get_running_loop().call_later(seconds, act)

    def _stopping(self, pod: Object) -> float:
        """The seconds until a terminating pod is gone; a node that is not there ends nothing."""
        grace: int = pod["metadata"].get("deletionGracePeriodSeconds", 0)
        if self._registry.store.get(NODES, "", pod["spec"]["nodeName"]) is None:
            return grace
        return min(grace, self._timing.stop_seconds)

    def _lifetime(self, pod: Object) -> float | None:
        """The seconds that a pod runs; None when it runs until it is deleted."""
        if pod["spec"].get("restartPolicy") == "Always":
            return None
        given: str | None = nested(pod, "metadata", "annotations", RUN_SECONDS)
        if given is not None:
            seconds = _number(given)
            return max(seconds, 0.0) if math.isfinite(seconds) else None
        owner = controller_of(pod)
        return self._timing.job_seconds if owner and owner.get("kind") == "Job" else None

    def _held(self, key: Key, uid: str) -> Object | None:
        entry = self._registry.store.get(PODS, *key)
        if entry is None or entry.object["metadata"]["uid"] != uid:
            return None
        return entry.object

    def _start(self, key: Key, uid: str) -> None:
        pod = self._held(key, uid)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        self._addresses += 1
        self._write(key, running(pod, self._registry.now(), self._addresses, self._host(pod)))

    def _host(self, pod: Object) -> str:
        entry = self._registry.store.get(NODES, "", pod["spec"]["nodeName"])
        if entry is None:
            return "10.99.0.1"
        addresses: list[Object] = nested(entry.object, "status", "addresses", default=[])
        found = (each["address"] for each in addresses if each["type"] == "InternalIP")
        return next(found, "10.99.0.1")

    def _end(self, key: Key, uid: str) -> None:
        pod = self._held(key, uid)
        if pod is None or nested(pod, "status", "phase") != "Running":
            return
        code = int(_number(nested(pod, "metadata", "annotations", EXIT_CODE, default="0")))
        self._write(key, ended(pod, self._registry.now(), code))

    def _remove(self, key: Key, uid: str) -> None:
        if self._held(key, uid) is None:
            return
        options = DeleteOptions(grace_period_seconds=0, preconditions=Preconditions(uid=uid))
        try:
            self._registry.delete(PODS, *key, options)
        except ApiError:
            return

    def _write(self, key: Key, pod: Object) -> None:
        entry = self._registry.store.get(PODS, *key)
        assert entry is not None
        self._registry.replace(PODS, entry, pod)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def running(pod: Object, now: float, number: int, host: str) -> Object:
    """The pod as its kubelet reports it once all containers run."""
    status: Object = pod["status"]
    conditions: list[Object] = status.get("conditions") or []
    for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"):
        conditions = with_condition(conditions, kind, "True", now)
    since = timestamp(now)
    address = f"10.{88 + (number >> 16 & 15)}.{number >> 8 & 255}.{number & 255}"
    states: list[Object] = [
        {
            "name": each["name"],
            "image": each.get("image", ""),
            "imageID": "",
            "containerID": f"none://{pod['metadata']['uid']}/{each['name']}",
            "lastState": {},
            "ready": True,
            "restartCount": 0,
            "started": True,
            "state": {"running": {"startedAt": since}},
        }
        for each in pod["spec"].get("containers", ())
    ]
    new = status | {
        "phase": "Running",
        "conditions": conditions,
        "startTime": since,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": host if pod["spec"].get("hostNetwork") else address,
        "containerStatuses": states,
    }
    new["podIPs"] = [{"ip": new["podIP"]}]
    return pod | {"status": new}


def ended(pod: Object, now: float, code: int) -> Object:
    """The pod as its kubelet reports it once all containers have ended with `code`."""
    status: Object = pod["status"]
    conditions: list[Object] = status.get("conditions") or []
    reason = "PodFailed" if code else "PodCompleted"
    for kind in ("Ready", "ContainersReady"):
        conditions = with_condition(conditions, kind, "False", now, reason=reason)
    finished = timestamp(now)
    states: list[Object] = []
    for each in status.get("containerStatuses", ()):
        terminated: Object = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": nested(each, "state", "running", "startedAt", default=finished),
            "finishedAt": finished,
            "containerID": each["containerID"],
        }
        ended_state = {"ready": False, "started": False, "state": {"terminated": terminated}}
        states.append(each | ended_state)
    new = status | {
        "phase": "Failed" if code else "Succeeded",
        "conditions": conditions,
        "containerStatuses": states,
    }
    return pod | {"status": new}
