"""What is loaded when: a command that prints its help must not wait for numpy and aiohttp."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = {"aiohttp", "numpy", "prometheus_client", "uvloop", "yaml"}
FAIRLEAD = Path(sys.executable).parent / "fairlead"


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a fresh interpreter loads for this, from its own account of it."""
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def test_the_package_itself_loads_nothing_else() -> None:
    beyond = loaded_by("-c", "import fairlead") - loaded_by("-c", "")
    assert beyond == {"fairlead"}


def test_help_loads_nothing_heavy() -> None:
    assert not loaded_by(str(FAIRLEAD), "--help") & (HEAVY | {"asyncio"})


def test_an_author_of_plugins_loads_no_network() -> None:
    assert not loaded_by("-c", "import fairlead.plugin") & {"aiohttp", "asyncio", "uvloop"}
