"""Compare answers with those that the code of kube-scheduler gave to the same questions.

A vector is a line with a `case` (a cluster, a pod, perhaps a configuration) and the `answer` of
kube-scheduler: what each filter said of each node, every score, the nodes it would choose among,
what preemption would do, and the text of the pod's condition; or all this of one pod after another.
What kube-scheduler leaves to chance is not compared: which of the winners it takes, which of
equally good nodes preemption clears, and the order of the reasons within one status.

A scheduler that has some of the plugins can be judged by what these give: see `narrowed`.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.config.release import RELEASE_1_36

Answer = Mapping[str, Any]

VECTORS = Path(__file__).parent / "vectors"
ANSWERER = Path(__file__).parent / "answer.py"

# Where the words of preemption begin in the text of a pod's condition.
PREEMPTION = re.compile(
    r" (no new claims to deallocate|still not schedulable|preemption:"
    r"|(?:deallocation|deletion) of ResourceClaim completed|preemption is not|not eligible)"
)
# What makes a device of an extended resource.
EXTENDED = re.compile("extendedResourceName|deviceclass.resource.kubernetes.io/")
# What DynamicResources says before it of a pod without claims.
NO_CLAIMS = "no new claims to deallocate, "
NO_STATE = ". not found"
"""The last word of DynamicResources on a pod that was refused before it had been asked."""
FAILED = re.compile(r'plugin "(\w+)" failed with')
DEFAULTS = {plugin.name for plugin in RELEASE_1_36.default_plugins}
NAMES = ("preFilterNodes", "preFilterPlugins", "winners")
VALUES = ("plugins", "evaluated", "totals", "reason")


class Vector(NamedTuple):
    case: Answer
    answer: Answer


def families() -> list[str]:
    return sorted(file.name.split(".")[0] for file in VECTORS.glob("*.jsonl.gz"))


def recorded(family: str) -> list[Vector]:
    with gzip.open(VECTORS / f"{family}.jsonl.gz", "rt") as lines:
        return [Vector(**json.loads(line)) for line in lines]


def within(vectors: Iterable[Vector], plugins: set[str]) -> list[Vector]:
    """The vectors in which no other plugin has a say in which nodes are left."""
    return [
        Vector(vector.case, narrowed(vector.answer, plugins))
        for vector in vectors
        if set(_refusing(vector)) <= plugins
    ]


def spread(vectors: list[Vector], count: int) -> list[Vector]:
    """So many of them, evenly from first to last: the same ones in each run."""
    step = max(1, len(vectors) // count)
    return vectors[::step][:count]


def ask(vectors: Iterable[Vector], *options: str) -> dict[str, Answer]:
    """The scheduler's answers by the id of the case; it is asked in a process of its own."""
    lines = "".join(json.dumps(vector.case) + "\n" for vector in vectors)
    command = [sys.executable, str(ANSWERER), *options]
    done = subprocess.run(command, input=lines, text=True, capture_output=True)
    assert done.returncode == 0, f"{ANSWERER.name} ended with {done.returncode}:\n{done.stderr}"
    return {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}


def judge(vectors: list[Vector], answers: Mapping[str, Answer], plugins: set[str]) -> list[str]:
    """One line for each case that was answered differently: its first difference."""
    lines: list[str] = []
    for case, want in vectors:
        got = answers.get(case["id"])
        if got is None:
            found = ["no answer"]
        else:
            found = list(differences(want, narrowed(got, plugins), tries_all(case)))
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            lines.append(f"{case['id']}: {found[0]}{more}")
    return lines


def narrowed(answer: Answer, plugins: set[str]) -> Answer:
    """The answer as far as these plugins give it.

    Scores of others leave the totals, so the winners are chosen anew; the lists of plugins lose
    them; and without DefaultPreemption nothing is said about preemption.
    """
    less = dict(answer)
    if "plugins" in less:
        less["plugins"] = {
            profile: {
                point: kept
                for point, listed in points.items()
                if (kept := [entry for entry in listed if entry["name"] in plugins])
            }
            for profile, points in less["plugins"].items()
        }
    if less.get("scores"):
        less |= _scores_of(less["scores"], plugins)
    if "DefaultPreemption" not in plugins:
        less.pop("postFilter", None)
        less.pop("postFilterOutcomes", None)
        if "message" in less:
            less["message"] = PREEMPTION.split(less["message"])[0]
    elif "DynamicResources" not in plugins and "message" in less:
        less["message"] = less["message"].replace(NO_CLAIMS, "")
    if "DynamicResources" not in plugins and less.get("message", "").endswith(NO_STATE):
        less["message"] = less["message"].removesuffix(NO_STATE[1:])
    if not plugins.issuperset(DEFAULTS):
        less.pop("sequence", None)  # scores of others decide where each pod is put
    return less


def _scores_of(scores: Mapping[str, Mapping[str, int]], plugins: set[str]) -> dict[str, Any]:
    """Scores, totals and winners by these plugins; every node wins where none of them scores."""
    rows = {
        node: {name: score for name, score in row.items() if name in plugins}
        for node, row in scores.items()
    }
    if not any(rows.values()):
        return {"scores": {}, "totals": {}, "winners": list(scores)}
    totals = {node: sum(row.values()) for node, row in rows.items()}
    best = max(totals.values())
    return {
        "scores": {node: row for node, row in rows.items() if row},
        "totals": totals,
        "winners": [node for node, total in totals.items() if total == best],
    }


def tries_all(case: Answer) -> bool:
    """Whether preemption tries every node, so that no candidate may be missing."""
    return "minCandidateNodes" not in json.dumps(case.get("config"))


def differences(want: Answer, got: Answer, all_tried: bool = True) -> Iterator[str]:
    """What the second answer says differently, a line each; nothing if they agree."""
    if "error" in want or "error" in got:
        yield from _differ("error", want.get("error"), got.get("error"))
        return
    yield from _differ("skipped", bool(want.get("skipped")), bool(got.get("skipped")))
    for stage in ("preEnqueue", "preFilter"):
        yield from _differ(stage, _status(want, stage), _status(got, stage))
    for name in NAMES:
        yield from _differ(name, sorted(want.get(name) or ()), sorted(got.get(name) or ()))
    yield from _differ("filter", _filter(want), _filter(got))
    yield from _differ_by_node("scores", want.get("scores") or {}, got.get("scores") or {})
    for name in VALUES:
        yield from _differ(name, want.get(name) or None, got.get(name) or None)
    if len(want.get("postFilterOutcomes") or ()) <= 1:
        yield from _differ("message", want.get("message") or None, got.get("message") or None)
    if "postFilter" in want:
        yield from _preemption(want, got.get("postFilter") or {}, all_tried)
    yield from _sequence(want.get("sequence") or [], got.get("sequence") or [])


def _preemption(want: Answer, got: Answer, all_tried: bool) -> Iterator[str]:
    """The outcome is one of those that were seen; what happens on a node is always the same."""
    said = want["postFilter"]
    outcomes = [_outcome(each) for each in want.get("postFilterOutcomes") or (said,)]
    if _outcome(got) not in outcomes:
        yield f"preemption: want one of {outcomes!r}, got {_outcome(got)!r}"
    if len(outcomes) == 1:
        yield from _differ("postFilter code", said.get("code"), got.get("code"))
    theirs, ours = said.get("candidates") or {}, got.get("candidates") or {}
    for node in sorted(theirs.keys() | ours.keys() if all_tried else theirs.keys() & ours.keys()):
        if theirs.get(node) != ours.get(node):  # on which node it is tried counts, too
            yield f"candidate {node}: want {theirs.get(node)!r}, got {ours.get(node)!r}"


def _outcome(of: Answer) -> tuple[str, list[str]]:
    return of.get("nominated", ""), sorted(of.get("victims") or ())


def _sequence(want: Sequence[Answer], got: Sequence[Answer]) -> Iterator[str]:
    """Step by step up to the first that differs: those after it build on it."""
    yield from _differ("steps", len(want), len(got))
    for number, (theirs, ours) in enumerate(zip(want, got, strict=False)):
        found = list(_differ(f"step {number}", dict(theirs), dict(ours)))
        if found:
            yield from found
            return


def fields(want: Answer, got: Answer) -> list[str]:
    """The parts of the answer in which the two differ, as an answer names them."""
    named = {re.split(r"[ :]", line)[0] for line in differences(want, got)}
    inner = {"preemption": "postFilter", "candidate": "postFilter", "step": "sequence"}
    return sorted({inner.get(name, name) for name in named})


def _differ(what: str, want: object, got: object) -> Iterator[str]:
    if isinstance(want, dict) and isinstance(got, dict):
        yield from _differ_by_node(what, want, got)
    elif want != got:
        yield f"{what}: want {want!r}, got {got!r}"


def _differ_by_node(
    what: str, want: Mapping[str, object], got: Mapping[str, object]
) -> Iterator[str]:
    for key in sorted(want.keys() | got.keys()):
        yield from _differ(f"{what} {key}", want.get(key), got.get(key))


def _filter(answer: Answer) -> dict[str, object]:
    verdicts = answer.get("filter") or {}
    return {node: _status(verdicts, node) for node in verdicts}


def _status(of: Mapping[str, Any], name: str) -> object:
    if name not in of:
        return None
    status = of[name] or {}
    code = status.get("code", "Success")
    plugin = status.get("plugin", "") if code != "Success" else ""
    return code, plugin, sorted(status.get("reasons") or ())


def _refusing(vector: Vector) -> Iterator[str]:
    """The plugins that decide which nodes are left, or that there is no decision."""
    answer = vector.answer
    if any("nominatedNodeName" in obj.get("status", {}) for obj in vector.case.get("objects", ())):
        yield "DefaultPreemption"  # room is kept for other pods
    if EXTENDED.search(json.dumps(vector.case)):
        yield "DynamicResources"  # it grants what NodeResourcesFit would miss
    statuses = [answer.get("preEnqueue"), answer.get("preFilter")]
    statuses += (answer.get("filter") or {}).values()
    tried = answer.get("postFilter") or {}
    statuses += (tried.get("candidates") or {}).values()
    if tried.get("message") == "not found":
        yield "DynamicResources"  # it has the last word where PreFilter ended before its turn
    yield from (status["plugin"] for status in statuses if status and status.get("plugin"))
    yield from answer.get("preFilterPlugins") or ()
    yield from FAILED.findall(answer.get("message") or "")
