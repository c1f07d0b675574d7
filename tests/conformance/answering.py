"""Answer cases of the oracle: one JSON object a line in, one answer a line out.

A caller of the scheduler, not a second evaluator: the objects go through the intake of
`fairlead run`, the pod through its queue and its cycle, and what is printed is the Detail of the
decision. The format is that of tests/oracle.

--no-strict-reference   with the deliberate differences; without it, as kube-scheduler to the letter
--history SEED          the objects come by detours: earlier versions, things that leave again,
                        other pods decided in between; the answers must be the same
--irrelevant N          at least N nodes more, of which the pods tolerate none; see `irrelevant`
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from fairlead.cluster.state import Cluster
from fairlead.config.errors import ConfigError
from fairlead.config.feature_gates import with_feature_gates
from fairlead.config.loading import load
from fairlead.config.plugins import check_profiles
from fairlead.config.release import RELEASE_1_36, Release
from fairlead.config.types import KubeSchedulerConfiguration
from fairlead.cycle.decision import Detail, Placed, PostFiltered
from fairlead.framework.stages import Victims
from fairlead.framework.status import PluginError, Refusal, Status
from fairlead.intake import CLUSTER_WIDE, WATCHED
from fairlead.profiles import BUILT_IN, known_points
from fairlead.queue.entry import QueuedPodInfo
from fairlead.scheduler import Core
from tests.conformance.history import Arrival
from tests.conformance.irrelevant import SAMPLED, crowded

Json = dict[str, Any]
DEFAULT = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Options(NamedTuple):
    """How the cases are put; not what they are."""

    strict_reference: bool = True
    history: str | None = None
    irrelevant: int = 0
    feature_gates: Sequence[str] = ()


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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--strict-reference", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--history", metavar="SEED")
    parser.add_argument("--feature-gates", action="append", default=[], metavar="A=true,B=false")
    parser.add_argument("--irrelevant", type=int, default=0, metavar="N")
    options = Options(**vars(parser.parse_args()))
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(answer(json.loads(line), options)), flush=True)


def answer(case: Json, options: Options) -> Json:
    said: Json = {"id": case["id"], "family": case.get("family", "")}
    given = case.get("config")
    text = DEFAULT if given is None else given if isinstance(given, str) else json.dumps(given)
    try:
        release = RELEASE_1_36.strictly() if options.strict_reference else RELEASE_1_36
        release = with_feature_gates(release, options.feature_gates)
        configuration = load(text, release)
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
        if "pod" in case or "pods" in case:
            said |= Stage(configuration, case, options, release).answer()
    except (ConfigError, PluginError) as problem:
        return {"id": case["id"], "family": case.get("family", ""), "error": str(problem)}
    return said


class Stage:
    """One case, set up: a scheduler that knows the objects and has the pods in its queue."""

    def __init__(
        self,
        configuration: KubeSchedulerConfiguration,
        case: Json,
        options: Options,
        release: Release,
    ) -> None:
        if options.irrelevant:
            case, _ = crowded(case, options.irrelevant)
        self.in_sequence = "pods" in case
        self.detail = Detail()
        self.core = Core(
            Cluster(),
            configuration,
            BUILT_IN,
            StoppedClock(),
            self._first_by_name,
            Strict(),
            release,
        )
        objects = [completed(obj) for obj in case.get("objects", [])]
        # As an API server lists them: an image has the size that its first node reported.
        objects.sort(key=lambda o: (o["metadata"].get("namespace", ""), o["metadata"]["name"]))
        self.pods = [completed(pod) for pod in case.get("pods") or [case["pod"]]]
        arrival = Arrival(self.core)
        nodes = sum(obj["kind"] == "Node" for obj in objects)
        if options.history is None or nodes >= SAMPLED:  # there, the order of arrival counts
            arrival.directly(objects)
        else:
            chance = Random(f"{options.history}/{case['id']}")
            arrival.by_detours(objects, self.pods, chance)
        for pod in self.pods:
            arrival.set(pod)

    def answer(self) -> Json:
        if self.in_sequence:
            for profile in self.core.profiles.values():
                profile.post_filter.clear()  # a sequence is asked without preemption
            return {"sequence": [self._step(pod) for pod in self.pods]}
        pod = self.pods[0]
        if pod["metadata"].get("deletionTimestamp"):
            return {"skipped": True}
        return self._asked(pod["metadata"]["uid"])

    def _asked(self, uid: str) -> Json:
        entry = self.core.queue.get(uid)
        if entry is not None and entry.gated:
            return {"preEnqueue": gated(entry)}
        while (entry := self.core.queue.pop()) is not None:
            if entry.pod.uid == uid:
                break
        assert entry is not None, f"pod {uid} is not queued"
        return self._decided(entry)

    def _decided(self, entry: QueuedPodInfo) -> Json:
        self.detail = detail = Detail()
        profile = self.core.profiles[entry.pod.scheduler_name]
        decision = self.core.cycle.schedule_one(profile, entry, detail)
        said = told(detail)
        if detail.post_filter is not None:
            said["postFilter"] = told_of_room(detail.post_filter)
        if isinstance(decision, Placed):
            self.core.queue.nominator.delete(entry.pod)
            said["placed"] = decision.node_name
        else:
            said["reason"], said["message"] = decision.reason, decision.message
        return said

    def _step(self, pod: Json) -> Json:
        """What a step of a sequence tells: less than the answer to a single pod."""
        place = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        entry = self.core.queue.get(pod["metadata"]["uid"])
        assert entry is not None, f"pod {place} is not queued"
        if entry.gated:
            return {"pod": place, "preEnqueue": gated(entry)}
        said = self._decided(entry)
        names = ("evaluated", "totals", "winners", "placed", "reason", "message")
        return {"pod": place, **{name: said[name] for name in names if said.get(name)}}

    def _first_by_name(self, ties: int) -> int:
        """Of the best nodes the first by name, as the oracle places the pods of a sequence."""
        winners = self.detail.winners
        if not winners:
            return 0
        rows = self.core.cluster.nodes.rows
        return sorted(rows[name] for name in winners).index(rows[winners[0]])


def gated(entry: QueuedPodInfo) -> Json:
    return {
        "code": "UnschedulableAndUnresolvable",
        "plugin": entry.gating_plugin,
        "reasons": [entry.gating_message],
    }


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
    if detail.evaluated:
        said["evaluated"] = detail.evaluated
    if detail.winners is not None:
        said["winners"] = detail.winners
    return said


def told_of_room(found: PostFiltered) -> Json:
    said: Json = {"code": found.code.title}
    if found.words:
        said["message"] = found.words
    if found.nominated_node_name:
        said["nominated"] = found.nominated_node_name
    if found.eviction is not None:
        victims = [pod.key for pod in found.eviction.victims if not pod.deleting]
        said["victims"] = sorted(victims)
    said["candidates"] = {node: candidate(outcome) for node, outcome in found.tried.items()}
    return said


def candidate(outcome: Victims | Refusal) -> Json:
    if isinstance(outcome, Refusal):
        return status(outcome)
    violations = {"pdbViolations": outcome.violations} if outcome.violations else {}
    return {"victims": sorted(pod.key for pod in outcome.pods), **violations}


def status(refusal: Refusal | None) -> Json:
    if refusal is None:
        return {"code": "Success"}
    found: Status = refusal.status
    named = {"plugin": refusal.plugin} if refusal.plugin else {}
    return {"code": found.code.title, **named, "reasons": sorted(found.reasons)}


def completed(obj: Mapping[str, Any]) -> Json:
    """What an API server always sets, and the oracle's cases may leave out."""
    metadata = dict(obj["metadata"])
    if obj["kind"] in {"Pod", *WATCHED} - CLUSTER_WIDE:
        metadata.setdefault("namespace", "default")
    place = f"{metadata.get('namespace', '')}/{metadata['name']}"
    metadata.setdefault("uid", f"{obj['kind']}:{place}")
    metadata.setdefault("resourceVersion", "1")
    return {**obj, "metadata": metadata}
