"""Ask the oracle, twice: what differs between two answers is chance, and no case.

What kube-scheduler decides by chance is either part of the answer (the winners, the outcomes of
preemption) or shows as a difference between its two answers.
"""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]


class OracleFailedError(Exception):
    """The oracle ended before its last case: the message is what it said."""


def vectors(oracle: Path, cases: Sequence[Json], *arguments: str) -> list[Json]:
    """The cases with the answers of kube-scheduler, without those that it answers by chance."""
    firsts, seconds = (_answers(oracle, cases, arguments) for _ in range(2))
    kept: list[Json] = []
    for case, first, second in zip(cases, firsts, seconds, strict=True):
        answer = agreed(first, second)
        if answer is not None:
            kept.append({"case": case, "answer": answer})
    return kept


def agreed(first: Json, second: Json) -> Json | None:
    """Two answers to one question joined; None if they differ in what is no choice."""
    outcomes: list[Json] = []
    for outcome in first.get("postFilterOutcomes", []) + second.get("postFilterOutcomes", []):
        if outcome not in outcomes:
            outcomes.append(outcome)
    if outcomes:
        # It may have been tried on other nodes, but comes to the same on the same node.
        tried = [answer["postFilter"].get("candidates", {}) for answer in (first, second)]
        if any(tried[0][node] != tried[1][node] for node in tried[0].keys() & tried[1].keys()):
            return None
        every = {"candidates": both} if (both := tried[0] | tried[1]) else {}
        first, second = (
            {
                **answer,
                "postFilterOutcomes": outcomes,
                "postFilter": answer["postFilter"] | every,
            }
            for answer in (first, second)
        )
    return first if _fixed(first) == _fixed(second) else None


def _fixed(answer: Json) -> Json:
    """The answer without what is one of several possible outcomes."""
    out = dict(answer)
    if len(out.pop("postFilterOutcomes", ())) > 1:
        chosen = {"code", "nominated", "victims", "message"}
        out["postFilter"] = {k: v for k, v in out["postFilter"].items() if k not in chosen}
        out.pop("message")
    return out


def _answers(oracle: Path, cases: Sequence[Json], arguments: tuple[str, ...]) -> list[Json]:
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([oracle, *arguments], input=lines, capture_output=True, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(answers) != len(cases):
        raise OracleFailedError(done.stderr[-4000:])
    return answers


def record(file: Path, oracle: Path, cases: Sequence[Json]) -> None:
    """Write the cases with their answers, packed so that the same ones give the same bytes."""
    with file.open("wb") as out, gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=0) as to:
        for vector in vectors(oracle, cases):
            to.write(json.dumps(vector, separators=(",", ":")).encode() + b"\n")
