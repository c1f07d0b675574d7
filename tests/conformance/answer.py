"""Answer cases of the oracle: one JSON object a line in, one answer a line out.

A caller of the scheduler, not a second evaluator: the objects go through the intake of
`fairlead run`, the pod through its queue and its cycle, and what is printed is the Detail of the
decision. The format is that of tests/oracle.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from fairlead.cluster.state import Cluster
from fairlead.config.errors import ConfigError
from fairlead.config.loading import load
from fairlead.config.plugins import check_profiles
from fairlead.config.types import KubeSchedulerConfiguration
from fairlead.cycle.decision import Detail, Placed, Refusal
from fairlead.framework.status import PluginError, Status
from fairlead.intake import WATCHED
from fairlead.model.decode import DECODERS, decode_node, decode_pod
from fairlead.profiles import BUILT_IN, known_points
from fairlead.scheduler import Core

Json = dict[str, Any]
DEFAULT = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class StoppedClock:
    """Nothing in a decision depends on the time."""

    def now(self) -> float:
        return 0.0


class Strict:
    """What a case cannot make happen ends the program."""

    def wake(self) -> None:
        return

    def refused(self, line: str) -> None:
        raise AssertionError(line)

    def hint_failed(self, plugin: str, event: object, pod: object, problem: Exception) -> None:
        raise AssertionError(f"{plugin}: {problem}")

    def assumed_gone(self, pod: object) -> None:
        raise AssertionError("nothing is assumed before the pod of the case")


def main() -> None:
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(answer(json.loads(line))), flush=True)


def answer(case: Json) -> Json:
    said: Json = {"id": case["id"], "family": case.get("family", "")}
    given = case.get("config")
    text = DEFAULT if given is None else given if isinstance(given, str) else json.dumps(given)
    try:
        configuration = load(text)
        layouts = check_profiles(configuration, known_points(BUILT_IN))
        if case.get("listPlugins"):
            said["plugins"] = {
                layout.scheduler_name: {
                    point: [
                        {"name": p.name, **({"weight": p.weight} if p.weight else {})}
                        for p in plugins
                    ]
                    for point, plugins in layout.points.items()
                    if plugins
                }
                for layout in layouts
            }
        if "pod" in case:
            said |= decide(configuration, case)
    except (ConfigError, PluginError) as problem:
        return {"id": case["id"], "family": case.get("family", ""), "error": str(problem)}
    return said


def decide(configuration: KubeSchedulerConfiguration, case: Json) -> Json:
    core = Core(Cluster(), configuration, BUILT_IN, StoppedClock(), lambda ties: 0, Strict())
    objects = [completed(obj) for obj in case.get("objects", [])]
    # As an API server lists them: an image has the size that its first node reported.
    objects.sort(key=lambda obj: (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))
    for obj in objects:
        if obj["kind"] in WATCHED:
            decoded: Any = DECODERS[obj["kind"]](json.dumps(obj).encode())
            core.intake.set_object(obj["kind"], decoded)
    for obj in objects:
        if obj["kind"] == "Node":
            core.intake.set_node(decode_node(json.dumps(obj).encode()))
    for obj in objects:
        if obj["kind"] == "Pod":
            core.intake.set_pod(decode_pod(json.dumps(obj).encode()))
    pod = completed(case["pod"])
    core.intake.set_pod(decode_pod(json.dumps(pod).encode()))
    uid = pod["metadata"]["uid"]
    if pod["metadata"].get("deletionTimestamp"):
        return {"skipped": True}
    return asked(core, uid)


def asked(core: Core, uid: str) -> Json:
    entry = core.queue.get(uid)
    if entry is not None and entry.gated:
        reasons = [entry.gating_message]
        code = "UnschedulableAndUnresolvable"
        return {"preEnqueue": {"code": code, "plugin": entry.gating_plugin, "reasons": reasons}}
    while (entry := core.queue.pop()) is not None:
        if entry.pod.uid == uid:
            break
    assert entry is not None, f"pod {uid} is not queued"
    detail = Detail()
    decision = core.cycle.schedule_one(core.profiles[entry.pod.scheduler_name], entry, detail)
    said = told(detail)
    if not isinstance(decision, Placed):
        said["reason"], said["message"] = decision.reason, decision.message
    return said


def told(detail: Detail) -> Json:
    said: Json = {}
    if detail.pre_filter is not None:
        said["preFilter"] = status(detail.pre_filter)
        return said
    if detail.pre_filtered:
        said["preFilter"] = {"code": "Success"}
    if detail.pre_filter_nodes is not None:
        said["preFilterNodes"] = sorted(detail.pre_filter_nodes)
        said["preFilterPlugins"] = list(detail.pre_filter_plugins)
    if detail.filter is not None:
        said["filter"] = {node: status(refusal) for node, refusal in detail.filter.items()}
    if detail.scores is not None:
        said["scores"], said["totals"] = detail.scores, detail.totals
    if detail.winners is not None:
        said["winners"] = detail.winners
    return said


def status(refusal: Refusal | None) -> Json:
    if refusal is None:
        return {"code": "Success"}
    found: Status = refusal.status
    named = {"plugin": refusal.plugin} if refusal.plugin else {}
    return {"code": found.code.title, **named, "reasons": sorted(found.reasons)}


def completed(obj: Mapping[str, Any]) -> Json:
    """What an API server always sets, and the oracle's cases may leave out."""
    metadata = dict(obj["metadata"])
    if obj["kind"] in {"Pod", *WATCHED} - {"Namespace"}:
        metadata.setdefault("namespace", "default")
    place = f"{metadata.get('namespace', '')}/{metadata['name']}"
    metadata.setdefault("uid", f"{obj['kind']}:{place}")
    metadata.setdefault("resourceVersion", "1")
    return {**obj, "metadata": metadata}


if __name__ == "__main__":
    main()
