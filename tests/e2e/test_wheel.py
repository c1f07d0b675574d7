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
EXAMPLE = "examples/01-first-plugin"
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


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    """The package, and within it the example that the demo runs."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", EXAMPLE],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    wanted = {
        name.removeprefix("src/") if name.startswith("src/") else f"fairlead/{name}"
        for name in listed.stdout.splitlines()
        if (ROOT / name).exists()
    }
    assert inside == wanted


def test_the_demo_runs_from_the_wheel_alone(environment: Path, tmp_path: Path) -> None:
    # Neither the sources nor this environment may lend it anything.
    alone = {"PATH": f"{environment}{os.pathsep}{os.defpath}", "HOME": str(tmp_path)}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stderr == ""
        return done.stdout

    home = run("python", "-c", "import fairlead; print(fairlead.__file__)")
    assert home.startswith(str(environment.parent))
    lines = [line.split() for line in run("fairlead", "demo", "--once").splitlines()]
    placed = {words[0]: words[1] for words in lines if len(words) == 3 and words[0] != "POD"}
    kinds = sorted(name.partition("-")[0] for name in placed)
    assert kinds == ["batch", "batch", "lamp", "web", "web", "web"]
    assert placed["lamp"] == "node-2"
    assert set(placed.values()) <= {"node-1", "node-2", "node-3", "node-4"}
    assert [words[:2] for words in lines if words[:1] == ["too-big"]] == [["too-big", "-"]]
