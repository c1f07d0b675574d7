"""A folder of plugins: what is found in it, and one clear line for each thing that is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fairlead.extensions.folder import PluginLoadError, load_folder, plugin_points, with_folders
from fairlead.profiles import BUILT_IN

GOOD = """
from fairlead.framework.status import unschedulable

MOST = 3

class Helper:
    pass

class Few:
    name = "Few"

    def filter(self, pod, node, state):
        return unschedulable("enough") if node.pod_count >= MOST else None

class Both:
    name = "Both"

    def score(self, pod, node, state):
        return 1

    def reserve(self, pod, node_name, state):
        return None
"""
NAMED = 'class Mine:\n    name = "{}"\n\n    def score(self, pod, node, state):\n        return 1\n'


def folder(path: Path, **files: str) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / f"{name}.py").write_text(text)
    return path


def refusal(path: Path) -> str:
    """The one line that is told of the folder."""
    with pytest.raises(PluginLoadError) as caught:
        with_folders(BUILT_IN, (path,))
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_every_class_with_a_name_is_a_plugin(tmp_path: Path) -> None:
    path = folder(tmp_path, good=GOOD, other=NAMED.format("Mine"))
    (path / "notes.txt").write_text("not a plugin")
    assert plugin_points(path) == {
        "Few": {"filter"},
        "Both": {"score", "reserve"},
        "Mine": {"score"},
    }
    known = with_folders(BUILT_IN, (path,))
    assert known.keys() == BUILT_IN.keys() | {"Few", "Both", "Mine"}
    assert "Few" not in BUILT_IN


def test_what_a_file_imports_is_not_its_own(tmp_path: Path) -> None:
    text = "from fairlead.plugins.node_name import NodeName\n" + NAMED.format("Mine")
    assert set(load_folder(folder(tmp_path, mine=text))) == {"Mine"}


def test_two_folders_may_have_a_file_of_the_same_name(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", mine=NAMED.format("One"))
    two = folder(tmp_path / "two", mine=NAMED.format("Two"))
    known = with_folders({}, (one, two))
    assert known["One"] is not known["Two"]
    assert known["One"].__module__ != known["Two"].__module__


def test_a_file_shadows_no_installed_package(tmp_path: Path) -> None:
    import json

    load_folder(folder(tmp_path, json=NAMED.format("Mine")))
    assert sys.modules["json"] is json


def test_no_such_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == f"{tmp_path / 'none'}: no such folder of plugins"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("import nothing_like_it\n", 1, "ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("x = 1\n\nclass A(:\n", 3, "SyntaxError: invalid syntax (bad.py, line 3)"),
        ("x = 1\ny = x / 0\n", 2, "ZeroDivisionError: division by zero"),
        ("def f():\n    raise ValueError('a\\nb')\nf()\n", 2, "ValueError: a b"),
        ("import json\njson.loads('{')\n", 2, "JSONDecodeError: Expecting property name"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        ("\0", 1, ""),
    ],
)
def test_a_file_that_does_not_import(tmp_path: Path, text: str, line: int, words: str) -> None:
    told = refusal(folder(tmp_path, bad=text))
    assert told.startswith(f"{tmp_path / 'bad.py'}:{line}: {words}")
    assert not [name for name in sys.modules if name.endswith("_bad")]


def test_a_file_that_is_interrupted_ends_the_program(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_folder(folder(tmp_path, bad="raise KeyboardInterrupt\n"))


def test_a_name_that_is_taken_twice(tmp_path: Path) -> None:
    path = folder(tmp_path, a=NAMED.format("Mine"), b=NAMED.format("Mine"))
    assert refusal(path) == (
        f"{tmp_path / 'b.py'}: plugin 'Mine' is in a.py already; give one of them another name"
    )


def test_a_name_that_is_taken_in_another_folder(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", a=NAMED.format("Mine"))
    two = folder(tmp_path / "two", b=NAMED.format("Mine"))
    with pytest.raises(PluginLoadError) as caught:
        with_folders(BUILT_IN, (one, two))
    assert str(caught.value) == (
        f"{two}: plugin 'Mine' is in another folder already; give it another name"
    )


def test_a_name_that_is_built_in(tmp_path: Path) -> None:
    assert refusal(folder(tmp_path, a=NAMED.format("NodeResourcesFit"))) == (
        f"{tmp_path}: plugin 'NodeResourcesFit' is built in already; give it another name"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('X = 1\n\nclass Mine:\n    name = "Mine"\n\n    def filters(self): ...\n', 3),
        ('Mine = type("Mine", (), {"name": "Mine", "__module__": __name__})\n', 1),
    ],
)
def test_a_class_without_any_extension_point(tmp_path: Path, text: str, line: int) -> None:
    told = refusal(folder(tmp_path, a=text))
    assert told.startswith(
        f"{tmp_path / 'a.py'}:{line}: class Mine has a name but no extension point; "
    )
