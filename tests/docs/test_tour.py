"""The tour in ARCHITECTURE.md is true: its functions exist, in the order of the steps."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from fairlead.observe.metrics import TABLE

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fairlead"
STEPS = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭"


def tour() -> list[list[str]]:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.split("## The tour of one pod")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_steps_are_whole_and_in_order() -> None:
    assert "".join(row[0] for row in tour()) == STEPS


@pytest.mark.parametrize("row", tour(), ids=lambda row: row[0])
def test_a_step_names_a_function_that_exists(row: list[str]) -> None:
    found = re.fullmatch(r"`([\w/]+\.py)` · `([\w.]+)`", row[2])
    assert found, row[2]
    module, names = found[1], found[2].split(".")
    body = ast.parse((SOURCE / module).read_text()).body
    for name in names:
        matching = [node for node in body if getattr(node, "name", None) == name]
        assert matching, f"{module} has no {'.'.join(names)}"
        body = getattr(matching[0], "body", [])


@pytest.mark.parametrize("row", tour(), ids=lambda row: row[0])
def test_a_metric_of_the_tour_exists(row: list[str]) -> None:
    known = {metric.name for metric in TABLE}
    assert set(re.findall(r"`((?:scheduler|fairlead)_\w+)`", row[3])) <= known


def test_the_layers_are_those_that_are_checked() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    layers = text.split("## The layers")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", layers))
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages <= named, packages - named


def test_every_file_that_it_names_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for name in re.findall(r"`([\w/]+\.py)`", text):
        path = SOURCE / name.removeprefix("fairlead/")
        assert path.exists(), name
