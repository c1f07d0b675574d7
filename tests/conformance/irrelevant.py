"""Nodes that no pod of a case may use, and what they add to its answer.

The clusters of the cases are small, so that kept answers are seldom worth keeping in them. With
hundreds of nodes more they are, and the answer must stay what it was: every one of the new nodes
is refused for its taint, counts in the words "0/N nodes are available", and has the images of one
of the old nodes, so that each image is as widely spread as before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

TAINT = {"key": "example.com/irrelevant", "effect": "NoSchedule"}
TAINTED = "node(s) had untolerated taint(s)"
HELPLESS = "Preemption is not helpful for scheduling"
SAMPLED = 99
"""With so many nodes, more of them would change which of them kube-scheduler looks at."""
PREFIX = "zz-irrelevant-"
LEFT_OUT = re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[[^]]*\](?! simul)")


def crowded(case: Json, least: int) -> tuple[Json, int]:
    """The case with so many nodes more, and their number: none where they would be relevant."""
    nodes = [obj for obj in case.get("objects", ()) if obj["kind"] == "Node"]
    pods = [case["pod"]] if "pod" in case else case.get("pods", [])
    if len(nodes) >= SAMPLED or not nodes or not pods or any(_tolerates_all(pod) for pod in pods):
        return case, 0
    if '"plugins"' in json.dumps(case.get("config")):
        return case, 0  # who knows whether taints matter, and after which filter
    count = -(-least // len(nodes)) * len(nodes)
    more = [_irrelevant(number, nodes[number % len(nodes)]) for number in range(count)]
    return {**case, "objects": [*case["objects"], *more]}, count


def expected(answer: Json, count: int) -> Json | None:
    """What the answer becomes by so many irrelevant nodes; None where that is left to chance."""
    if not count:
        return answer
    if answer.get("preFilter", {}).get("code") == "Unschedulable" and "postFilter" in answer:
        return None  # preemption tries a part of all nodes, the irrelevant ones among them
    more = dict(answer)
    if "message" in more:
        more["message"] = _recounted(more["message"], count, answer.get("preFilterPlugins") or ())
    if "filter" in more and "preFilterNodes" not in answer:
        refused = {
            "code": "UnschedulableAndUnresolvable",
            "plugin": "TaintToleration",
            "reasons": [TAINTED],
        }
        more["filter"] = {
            **more["filter"],
            **{f"{PREFIX}{number:04d}": refused for number in range(count)},
        }
    if "sequence" in more:
        more["sequence"] = [
            {**step, "message": _recounted(step["message"], count)} if "message" in step else step
            for step in more["sequence"]
        ]
    return more


def _irrelevant(number: int, like: Json) -> Json:
    name = f"{PREFIX}{number:04d}"
    images = like.get("status", {}).get("images")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name},
        "spec": {"taints": [TAINT]},
        "status": {"allocatable": {"pods": "110"}, **({"images": images} if images else {})},
    }


def _tolerates_all(pod: Json) -> bool:
    tolerations = pod["spec"].get("tolerations") or ()
    return any(not each.get("key") for each in tolerations)


def _recounted(message: str, count: int, narrowing: Sequence[str] = ()) -> str:
    """The words for that many nodes more: refused for a taint, or left out by PreFilter."""
    left_out = LEFT_OUT.search(message)
    reason = left_out[0] if left_out else TAINTED
    if narrowing:
        reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowing))}]"
    parts = message.split(" preemption: ")
    parts[0] = _more(parts[0], count, reason)
    parts[1:] = [_more(part, count, HELPLESS) for part in parts[1:]]
    return " preemption: ".join(parts)


def _more(text: str, count: int, reason: str) -> str:
    """`0/3 nodes are available: 1 a, 2 b.` with the count added to all nodes and to one reason."""
    found = re.fullmatch(r"0/(\d+) nodes are available:(?: (.*?)\.)?( .*)?", text, re.DOTALL)
    if found is None:
        return text
    total, reasons, rest = int(found[1]) + count, found[2] or "", found[3] or ""
    entries = re.split(r", (?=\d+ )", reasons)
    if re.match(r"\d+ ", entries[0]):
        counted = {what: int(times) for times, what in (e.split(" ", 1) for e in entries)}
        counted[reason] = counted.get(reason, 0) + count
        reasons = ", ".join(sorted(f"{times} {what}" for what, times in counted.items()))
    return f"0/{total} nodes are available: {reasons}.{rest}"
