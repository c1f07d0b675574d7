"""The table of blocks: one row for each file, and every row says what is true."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "tests" / "fixtures" / "seeds"
ROW = re.compile(r"^\| `(?P<block>[\w./-]+)` \| (?P<what>[^|]+) \| (?P<how>.+) \|$", re.MULTILINE)
HOW = re.compile(
    r"test `(?P<test>tests/[\w/.]+\.py::test_\w+)`|cannot run: .{20,}|open: [\w' -]{10,}"
)
ROWS = {row["block"]: row["how"] for row in ROW.finditer((SEEDS / "README.md").read_text())}


def test_each_block_has_exactly_one_row() -> None:
    rows = Counter(row["block"] for row in ROW.finditer((SEEDS / "README.md").read_text()))
    blocks = [
        str(file.relative_to(SEEDS))
        for file in SEEDS.rglob("*")
        if file.is_file() and file.name != "README.md"
    ]
    assert rows == Counter(blocks)


@pytest.mark.parametrize("block", ROWS)
def test_a_row_says_how_its_block_is_run(block: str) -> None:
    said = HOW.fullmatch(ROWS[block])
    assert said, f"{block}: {ROWS[block]!r} is neither test, cannot run nor open"
    if said["test"] is None:
        return
    path, _, name = said["test"].partition("::")
    body = ast.parse((ROOT / path).read_text()).body
    defined = {getattr(node, "name", None) for node in body}
    assert name in defined
    assert block in (ROOT / path).read_text(), f"{path} does not read {block}"


def test_a_plugin_that_is_there_is_not_open() -> None:
    """A row may wait for a feature, not outlive its coming."""
    sources = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
    if 'name = "LowCpuScheduler"' in sources:
        assert "open: the LowCpuScheduler plugin" not in ROWS.values()
