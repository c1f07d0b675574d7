"""Building the real programs, with a `go` that only pretends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.control_plane.building import BuildError, build
from tests.control_plane.programs import MissingProgramError, place, program

PRETENDED_GO = """\
#!/bin/sh
echo "$@" >> "$GO_CALLS"
case "$1" in
mod) touch go.mod ;;
get) touch go.sum ;;
build)
    while [ "$1" != -o ]; do shift; done
    echo half > "$2"
    [ -z "$GO_FAILS" ] || { echo "out of memory" >&2; exit 1; }
    echo whole > "$2" ;;
esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a `go` that notes its calls in this file."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(PRETENDED_GO)
    go.chmod(0o755)
    notes = tmp_path / "calls"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{go.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GO_CALLS", str(notes))
    return notes


def builds(calls: Path) -> int:
    return sum(line.startswith("build") for line in calls.read_text().splitlines())


def test_a_program_is_built_once_and_then_kept(calls: Path) -> None:
    said: list[str] = []
    build(["etcd"], said.append)
    build(["etcd"], said.append)
    assert program("etcd").read_text() == "whole\n"
    assert builds(calls) == 1
    assert said[0] == "etcd v3.6.8: building"
    assert said[-1] == "etcd v3.6.8: there"


def test_a_build_that_fails_leaves_nothing_that_looks_whole(
    calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GO_FAILS", "1")
    with pytest.raises(BuildError, match="out of memory"):
        build(["etcd"], lambda _: None)
    assert [file.name for file in place("etcd").parent.iterdir()] == [".lock"]


def test_two_builds_at_once_do_the_work_once(calls: Path) -> None:
    command = [sys.executable, "-m", "tests.control_plane", "build", "etcd"]
    both = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert builds(calls) == 1


def test_without_go_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    command = [sys.executable, "-m", "tests.control_plane", "build", "etcd"]
    assert subprocess.run(command).returncode == 1
    assert "install Go 1.26 or later" in capfd.readouterr().err


def test_a_program_that_nobody_built_names_the_command_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(MissingProgramError, match="`make control-plane` builds it"):
        program("etcd")
