"""Setting up on a stranger's machine: the Python that is new enough, whatever its name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOO_OLD = "#!/bin/sh\nexit 0\n"  # what a Python before 3.11 does when it is asked
NEW = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'


def python_among(folder: Path, programs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    bash = shutil.which("bash")
    assert bash is not None
    environment = os.environ | {"PATH": str(folder)}
    command = [bash, str(ROOT / ".ci" / "python")]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["python3", "python3.14", "python3.11", "python"])
def test_a_python_that_is_new_enough_is_found(name: str, tmp_path: Path) -> None:
    found = python_among(tmp_path, {"python3": TOO_OLD, "python": TOO_OLD, name: NEW})
    assert found.stdout.strip() == sys.executable


def test_without_one_it_says_what_is_needed(tmp_path: Path) -> None:
    none = python_among(tmp_path, {"python3": TOO_OLD})
    assert none.returncode == 1
    assert "needs Python 3.11 or later" in none.stderr
