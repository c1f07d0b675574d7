"""Dependencies: each has its sentence, and the locks hold what `pyproject.toml` asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = {
    "run.txt": PROJECT["project"]["dependencies"],
    "build.txt": PROJECT["dependency-groups"]["build"],
    "dev.txt": PROJECT["dependency-groups"]["dev"],
}
PAGE = (ROOT / "docs" / "dependencies.md").read_text()


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: str) -> list[Requirement]:
    text = (ROOT / "requirements" / lock).read_text()
    entries = re.sub(r" *\\\n +--hash=sha256:[0-9a-f]{64}", "", text)
    return [Requirement(line) for line in entries.splitlines()]


def test_each_dependency_has_one_sentence_and_no_other_has() -> None:
    described = re.findall(r"^\| ([\w-]+) \| [A-Z].{40,}\. \|$", PAGE, re.MULTILINE)
    asked = [Requirement(line).name for line in PROJECT["project"]["dependencies"]]
    assert sorted(described) == sorted(asked)


def test_what_the_dependencies_need_is_named_too() -> None:
    asked = {canonical(Requirement(line).name) for line in PROJECT["project"]["dependencies"]}
    needed = {canonical(entry.name) for entry in locked("run.txt")} - asked
    named = re.search(r"What they need themselves .*?: (.+?), all for", PAGE, re.DOTALL)
    assert named is not None
    assert set(re.split(r",\s+|\s+and\s+", named[1])) == needed


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_what_is_asked_for(lock: str) -> None:
    versions = {(canonical(entry.name), str(entry.specifier)) for entry in locked(lock)}
    for line in LOCKS[lock]:
        asked = Requirement(line)
        found = [pin.removeprefix("==") for name, pin in versions if name == canonical(asked.name)]
        assert found, f"{asked.name} is not locked: `make lock`"
        assert all(version in asked.specifier for version in found), f"{line}: `make lock`"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_file_of_a_lock_has_a_hash_and_none_has_an_address(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text()
    for entry in re.split(r"\n(?=\S)", text.strip()):
        assert "--hash=sha256:" in entry, entry
    assert "://" not in text
    assert not re.search(r"^\s*(#|-[^-]|--(?!hash))", text, re.MULTILINE)


def test_the_locks_agree_where_they_meet() -> None:
    pins: dict[str, set[str]] = {}
    for lock in ("build.txt", "dev.txt"):
        for entry in locked(lock):
            pins.setdefault(canonical(entry.name), set()).add(str(entry.specifier))
    assert {name: pin for name, pin in pins.items() if len(pin) > 1} == {}
