"""The product as a stranger gets it: a wheel, an empty environment, no sources, no make."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
EXAMPLE = "examples/01-first-plugin"  # the demo places a pod by it


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("fairlead-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that holds the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    locked = ("--require-hashes", "--only-binary", ":all:")
    for what in (
        (*locked, "-r", str(ROOT / "requirements/run.txt")),
        ("--no-index", str(wheel)),
    ):
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *what]
        subprocess.run(pip, check=True, capture_output=True)
    return folder / "bin"


def test_the_wheel_holds_the_package_the_first_example_and_nothing_else(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", EXAMPLE],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    tracked = listed.stdout.splitlines()
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
    assert inside == package | {f"fairlead/{name}" for name in tracked if name.startswith(EXAMPLE)}


def test_the_demo_runs_from_the_wheel_alone(environment: Path, tmp_path: Path) -> None:
    # Neither the sources nor this environment may lend it anything.
    alone = {"PATH": f"{environment}{os.pathsep}{os.defpath}", "HOME": str(tmp_path)}
    demo = subprocess.run(
        ["fairlead", "demo", "--once"],
        cwd=tmp_path,
        env=alone,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "Traceback" not in demo.stderr
    assert demo.stdout.strip()
