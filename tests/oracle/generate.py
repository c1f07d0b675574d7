"""Print cases, one a line: `python -m tests.oracle.generate --family taints --seed 7`."""

from __future__ import annotations

import argparse
import json
import sys

from tests.oracle.cases.every import FAMILIES, make_cases


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.generate", description=__doc__)
    parser.add_argument(
        "--family", choices=sorted(FAMILIES), action="append", help="several times; default: all"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200, help="of each family")
    options = parser.parse_args()
    for name in options.family or FAMILIES:
        for case in make_cases(name, options.seed, options.count):
            json.dump(case, sys.stdout, separators=(",", ":"))
            sys.stdout.write("\n")


if __name__ == "__main__":
    main()
