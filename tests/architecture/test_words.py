"""What must stand in no file: work half done, tests put aside, the paths of one machine."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT, files

MACHINE = "root|home|work|tmp"  # folders that exist on somebody's machine, not in the product
FORBIDDEN = {
    "work left undone": r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|NotImplemented" + r"Error",
    "a test put aside": r"pytest\.(?:mark\.)?(?:skip|xfail|importor" + r"skip)",
    "a path of one machine": rf"(?<![\w.~}}-])/(?:{MACHINE})/[\w.-]+",
    "the address of a registry": r"pypi\.org/simple|files\.pythonhosted|(?:--|extra-)index-url"
    r"|proxy\.golang|GOPROX" + r"Y",
}
# Not ours to change: the licence's own words, and other people's documents.
OTHERS = ("LICENSE", "tests/fixtures/seeds/")
PACKED = (".gz", ".png", ".svg")


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_has(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    found: list[str] = []
    for name in files():
        if name.startswith(OTHERS) or name.endswith(PACKED):
            continue
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            if pattern.search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)
