"""The same steps as kube-scheduler's own queue, with the same state after each.

`recorded.jsonl.gz` holds random histories and what `PriorityQueue` of kube-scheduler 1.36.3 said
after each step: who was popped, where each pod is, its counts and timestamp, the nominations, and
what entered each queue. `recorder/main.go` made it.
"""

import gzip
import json
from pathlib import Path
from typing import Any

from fairlead.queue.entry import QueuedPodInfo
from fairlead.queue.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    DELETE,
    NODE,
    NODE_ADD,
    NODE_DELETE,
    POD,
    UPDATE,
    ActionType,
    ClusterEvent,
)
from fairlead.queue.nominator import Nominator
from tests.unit.queue.fakes import FakePod, Stage, stage

RECORDED = Path(__file__).with_name("recorded.jsonl.gz")
NANOSECONDS = 1_000_000_000
EVENTS = {
    "NodeAdd": NODE_ADD,
    "NodeDelete": NODE_DELETE,
    "NodeLabel": ClusterEvent(NODE, ActionType.UPDATE_NODE_LABEL),
    "AssignedPodAdd": ASSIGNED_POD_ADD,
    "AssignedPodDelete": ASSIGNED_POD_DELETE,
}


def unsure(pod: FakePod, _old: object, _new: object) -> bool:
    if pod.priority == 1:
        return False
    raise ValueError("unsure")


NODES = ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
GATES = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
REGISTRATIONS: Any = {
    "SchedulingGates": [(ClusterEvent(POD, GATES), None)],
    "Quota": [
        (ClusterEvent(POD, ActionType.UPDATE_POD_LABEL), None),
        (ClusterEvent(POD, DELETE), None),
    ],
    "Fit": [(NODES, lambda pod, old, new: pod.priority > 0)],
    "Affinity": [(NODES, None), (ClusterEvent(POD, UPDATE), None)],
    "Claims": [(ClusterEvent(POD, DELETE), unsure)],
}


def hold(entry: QueuedPodInfo) -> tuple[str, str] | None:
    if entry.pod.scheduling_gates:
        return ("SchedulingGates", "gates")
    return ("Quota", "quota") if entry.pod.labels["l"] == "none" else None


def pod_of(wire: dict[str, Any]) -> FakePod:
    return FakePod(
        wire["UID"],
        wire["Priority"],
        nominated_node_name=wire["Nominated"],
        resource_version=str(wire["RV"]),
        labels={"l": wire["Label"]},
        scheduling_gates=("g",) if wire["Gates"] else (),
    )


class Replay:
    """One recorded history on our queue."""

    def __init__(self) -> None:
        self.alive: set[str] = set()
        self.flying: dict[str, QueuedPodInfo] = {}
        self.at: Stage = stage(
            REGISTRATIONS,
            pre_enqueue=hold,
            nominator=Nominator(lambda pod: pod.uid in self.alive),
        )

    def step(self, step: dict[str, Any]) -> str:
        """Take one step; give the pod that it popped."""
        queue, popped = self.at.queue, ""
        old, new = (pod_of(step[key]) if step.get(key) else FakePod("") for key in ("Old", "New"))
        match step["Op"]:
            case "add":
                self.alive.add(new.uid)
                queue.add(new)
            case "update":
                queue.update(old, new)
            case "delete":
                self.alive.discard(old.uid)
                queue.delete(old)
            case "pop":
                entry = queue.pop()
                assert entry is not None
                popped = entry.pod.uid
                self.flying[popped] = entry
            case "fail":
                entry = self.flying.pop(step["UID"])
                entry.replace_pod(new)
                self.at.fail(entry, *step["Plugins"], pending=tuple(step["Pending"]))
            case "done":
                del self.flying[step["UID"]]
                queue.done(step["UID"])
            case "move":
                queue.move_all(EVENTS[step["Event"]])
            case "activate":
                queue.activate([new])
            case "nominate":
                queue.nominator.add(new, step["Node"])
            case "flush":
                queue.flush_backoff()
            case _:
                assert step["Op"] == "leftover"
                queue.flush_unschedulable()
        self.at.clock.step(step["Nanos"] / NANOSECONDS)
        return popped

    def state(self, popped: str) -> dict[str, Any]:
        queue = self.at.queue
        nominated = {node: [pod.uid for pod in queue.nominated_pods(node)] for node in ("n1", "n2")}
        return {
            "popped": popped,
            "where": {entry.pod.uid: self.place(entry) for entry in queue},
            "detail": {entry.pod.uid: detail(entry) for entry in queue},
            "nominated": {node: uids for node, uids in nominated.items() if uids},
            "incoming": {" ".join(key): count for key, count in queue.incoming().items()},
        }

    def place(self, entry: QueuedPodInfo) -> str:
        if entry.group is not None:
            return f"gated:{entry.gating_plugin}" if entry.gated else "unschedulable"
        active = self.at.queue._places.active  # pyright: ignore[reportPrivateUsage]
        return "active" if entry.heap is active else "backoff"


def detail(entry: QueuedPodInfo) -> str:
    """What a pod remembers, as Go prints it."""
    counts = (entry.attempts, entry.unschedulable_count, entry.consecutive_errors_count)
    plugins = " ".join(sorted(entry.unschedulable_plugins | entry.pending_plugins))
    return f"{' '.join(map(str, counts))} {round(entry.timestamp * NANOSECONDS)} [{plugins}]"


def test_each_step_leads_where_kube_schedulers_queue_went() -> None:
    replay, taken = Replay(), 0
    with gzip.open(RECORDED, "rt") as lines:
        for number, line in enumerate(lines, 1):
            recorded = json.loads(line)
            if recorded["step"]["Op"] == "start":
                replay = Replay()
                continue
            popped = replay.step(recorded["step"])
            assert replay.state(popped) == recorded["after"], f"line {number}"
            taken += 1
    assert taken > 3000
