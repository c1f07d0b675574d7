"""New questions to kube-scheduler's code and to us: `python -m tests.conformance.fresh --seeds 20`.

Each seed gives new cases of every family. They are asked as they are, and every other time by
detours. The seeds are drawn unless one is given; a difference names the command that repeats it.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import SystemRandom

from fairlead.profiles import BUILT_IN
from tests.conformance.judge import Vector, ask, judge, within
from tests.control_plane.building import BuildError, say_on_stderr
from tests.oracle.asking import OracleFailedError, vectors
from tests.oracle.building import build
from tests.oracle.cases.every import FAMILIES, make_cases

SHOWN = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.fresh", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--seed", type=int, help="the first of them; drawn if it is not given")
    parser.add_argument("--count", type=int, default=100, help="cases of each family and seed")
    parser.add_argument("--family", choices=sorted(FAMILIES), action="append")
    parser.add_argument("--feature-gates", default="", help="of both sides")
    parser.add_argument("--history", action=argparse.BooleanOptionalAction, default=None)
    options = parser.parse_args()
    first = SystemRandom().randrange(2, 10**6) if options.seed is None else options.seed
    try:
        oracle = build(say_on_stderr)
        rounds = [
            Round(oracle, family, seed, options, detours(options.history, seed))
            for seed in range(first, first + options.seeds)
            for family in options.family or FAMILIES
        ]
        with ThreadPoolExecutor(2) as pool:  # the oracle answers the next while we answer this
            asked = [pool.submit(each.asked) for each in rounds]
            wrong = sum(
                each.judged(answers.result()) for each, answers in zip(rounds, asked, strict=True)
            )
    except (BuildError, OracleFailedError) as error:
        say_on_stderr(str(error))
        return 1
    say_on_stderr(f"{wrong} differ" if wrong else "no difference")
    return 1 if wrong else 0


def detours(wanted: bool | None, seed: int) -> bool:
    return seed % 2 == 1 if wanted is None else wanted


class Round:
    """One family and one seed."""

    def __init__(
        self,
        oracle: Path,
        family: str,
        seed: int,
        options: argparse.Namespace,
        history: bool,
    ) -> None:
        self.oracle, self.family, self.seed, self.count = oracle, family, seed, options.count
        self.gates: str = options.feature_gates
        self.history = history

    def asked(self) -> list[Vector]:
        cases = list(make_cases(self.family, self.seed, self.count))
        return [
            Vector(**each) for each in vectors(self.oracle, cases, f"-feature-gates={self.gates}")
        ]

    def judged(self, found: list[Vector]) -> int:
        """How many cases we answer differently; progress and differences go to stderr."""
        began = time.monotonic()
        plugins = set(BUILT_IN)
        mine = within(found, plugins)
        options = [f"--feature-gates={self.gates}"]
        options += ["--history", str(self.seed)] if self.history else []
        lines = judge(mine, ask(mine, *options), plugins)
        way = "by detours" if self.history else "as it is"
        say_on_stderr(
            f"seed {self.seed} {self.family:14} {len(mine) - len(lines):4} of {len(mine):4} agree"
            f"  {way:10} ({time.monotonic() - began:.1f} s)"
        )
        for line in lines[:SHOWN]:
            say_on_stderr(f"    {line}")
        if lines:
            history = "--history" if self.history else "--no-history"
            say_on_stderr(
                f"    repeat: python -m tests.conformance.fresh --seeds 1 --seed {self.seed}"
                f" --count {self.count} --family {self.family} {history}"
            )
        return len(lines)


if __name__ == "__main__":
    sys.exit(main())
