"""Pages for people: their links lead somewhere, and the commands that they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"))
)
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    local = [link for link in links if "://" not in link and not link.startswith("mailto:")]
    assert [link for link in local if not ((ROOT / page).parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_targets_of_make_that_it_names_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    named = re.findall(r"(?:^|`|\$ )make ([a-z][\w-]*)", text, re.MULTILINE)
    assert set(named) <= TARGETS


def test_every_target_says_what_it_is_for() -> None:
    """`make` alone must list them all: a target without `##` is one that nobody finds."""
    makefile = (ROOT / "Makefile").read_text()
    assert set(re.findall(r"^([a-z][\w-]*):.*## \S", makefile, re.MULTILINE)) == TARGETS
    assert set(re.findall(r"^\.PHONY: (\S+)$", makefile, re.MULTILINE)) == TARGETS


def test_contributing_stays_short_and_its_map_is_the_tree() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert len(text.splitlines()) <= 60
    folders = set(re.findall(r"^\| `([\w./]+)/`", text, re.MULTILINE))
    missing = [folder for folder in sorted(folders) if not (ROOT / folder).is_dir()]
    assert missing == []


def test_ci_calls_the_targets_that_exist() -> None:
    called = re.findall(r"\bstep make ([a-z][\w-]*)", (ROOT / ".ci" / "run").read_text())
    assert {"test", "check", "control-plane", "e2e", "demo"} <= set(called) <= TARGETS
