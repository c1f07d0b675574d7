"""The oracle's surroundings, with a `go` and an oracle that only pretend."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.control_plane.building import BuildError
from tests.oracle.asking import OracleFailedError, agreed, vectors
from tests.oracle.building import HERE, build, place
from tests.oracle.cases.every import FAMILIES, make_cases

GO = """\
#!/bin/sh
while [ "$1" != -o ]; do shift; done
[ -z "$GO_FAILS" ] || exit 1
echo whole > "$2"
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{go.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_it_is_built_once_for_each_version_of_its_source(cache: Path) -> None:
    said: list[str] = []
    assert build(said.append).read_text() == "whole\n"
    assert len(said) == 2
    assert build(said.append) == place()
    assert len(said) == 2


def test_a_build_that_fails_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GO_FAILS", "1")
    before = {file.name for file in HERE.iterdir()}
    with pytest.raises(BuildError):
        build(lambda _: None)
    assert [file.name for file in place().parent.iterdir()] == [".lock"]
    assert {file.name for file in HERE.iterdir()} == before


def test_without_go_it_says_what_is_missing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(cache))
    with pytest.raises(BuildError, match=r"no `go` on PATH.*`make conformance` again"):
        build(lambda _: None)


def test_an_oracle_that_ends_early_is_no_agreement(tmp_path: Path) -> None:
    program = tmp_path / "oracle"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho '{}'\necho tired >&2\n")
    program.chmod(0o755)
    assert vectors(program, [{"id": "a"}]) == [{"case": {"id": "a"}, "answer": {}}]
    with pytest.raises(OracleFailedError, match="tired"):
        vectors(program, [{"id": "a"}, {"id": "b"}])


def test_answers_that_differ_by_chance_are_no_case() -> None:
    assert agreed({"winners": ["a"]}, {"winners": ["b"]}) is None
    one = {"nominated": "a", "victims": ["x"]}
    two = {"nominated": "b", "victims": ["y"]}
    answers = [
        {"postFilter": chosen | {"candidates": {}}, "postFilterOutcomes": [chosen], "message": "m"}
        for chosen in (one, two)
    ]
    joined = agreed(*answers)
    assert joined is not None
    assert joined["postFilterOutcomes"] == [one, two]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_gives_the_same_cases(family: str) -> None:
    first, again = (list(make_cases(family, 3, 5)) for _ in range(2))
    assert first == again
    assert len({case["id"] for case in first}) == 5
