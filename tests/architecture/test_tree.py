"""The shape of the tree: empty package markers, one source of time, every folder on the map."""

from __future__ import annotations

import ast
import re

from tests.architecture.sources import ROOT, files, imported, tree

# Who may ask the machine for the time: everyone else is handed a Clock.
TIME = {"src/fairlead/clock.py"}

FOLDERS_OF_TESTS = {
    "architecture",
    "conformance",
    "contract",
    "control_plane",
    "docs",
    "e2e",
    "fixtures",
    "lab",
    "oracle",
    "properties",
    "unit",
}
DISCOURAGED = {"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"}


def test_package_markers_hold_nothing_but_a_docstring() -> None:
    full: list[str] = []
    for name in files("*__init__.py"):
        body = tree(name).body
        statements = body[1:] if ast.get_docstring(tree(name)) else body
        if name != "src/fairlead/__init__.py" and statements:
            full.append(name)
    assert not full


def test_the_root_of_the_package_holds_its_version_and_nothing_else() -> None:
    _, *rest = tree("src/fairlead/__init__.py").body
    assert [ast.unparse(statement).split(" = ")[0] for statement in rest] == ["__version__"]


def test_the_version_is_written_the_same_everywhere() -> None:
    version = re.compile(r'^(?:__version__|version) = "(.+)"$', re.MULTILINE)
    places = ("src/fairlead/__init__.py", "pyproject.toml")
    assert len({version.findall((ROOT / place).read_text())[0] for place in places}) == 1


def test_only_the_clock_asks_the_machine_for_the_time() -> None:
    found = {name for name in files("src/*.py") if "time" in imported(tree(name))}
    assert found == TIME


def test_no_module_is_named_after_nothing() -> None:
    stems = {name: set(name.removesuffix(".py").split("/")) for name in files("*.py")}
    assert [name for name, parts in stems.items() if parts & DISCOURAGED] == []


def test_every_folder_of_tests_is_known_and_on_the_map() -> None:
    there = {name.split("/")[1] for name in files("tests") if name.count("/") > 1}
    assert there <= FOLDERS_OF_TESTS
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    assert [folder for folder in sorted(there) if f"`tests/{folder}/`" not in contributing] == []


def test_no_test_module_is_left_out_by_its_name() -> None:
    """A file with tests that pytest would not collect is a test that never fails."""
    lost = [
        name
        for name in files("tests/*.py")
        if not name.split("/")[-1].startswith("test_")
        and any(
            isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
            for node in tree(name).body
        )
    ]
    assert lost == []
