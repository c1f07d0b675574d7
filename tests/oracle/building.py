"""Build the oracle: once for each version of its source and of Kubernetes.

`python -m tests.oracle.building` builds it and prints where it lies.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.control_plane.building import BuildError, alone, compile_to, need_go, say_on_stderr
from tests.control_plane.programs import KUBERNETES, cache

HERE = Path(__file__).parent


def place() -> Path:
    """Where the program lies once it is built: another source lies elsewhere."""
    digest = hashlib.sha256()
    for file in sorted([*HERE.glob("*.go"), HERE / "go.mod", HERE / "go.sum"]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return cache() / "bin" / f"oracle-{KUBERNETES}-{digest.hexdigest()[:12]}"


def build(say: Callable[[str], None], again: str = "make conformance") -> Path:
    """The built program; some minutes the first time, nothing after that."""
    target = place()
    if not target.exists():
        with alone(say):
            if not target.exists():
                need_go("the oracle", again)
                say(f"oracle {KUBERNETES}: building (some minutes the first time)")
                began = time.monotonic()
                compile_to(target, HERE, ".", mod="readonly")
                say(f"oracle {KUBERNETES}: built in {time.monotonic() - began:.0f} s")
    return target


if __name__ == "__main__":
    try:
        print(build(say_on_stderr, "python -m tests.oracle.building"))
    except BuildError as error:
        sys.exit(str(error))
