"""docs/differences.md is true: without --strict-reference exactly the cases listed there differ,
in the parts of the answer that are listed, and with it none does (`test_vectors`)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairlead.profiles import BUILT_IN
from tests.conformance.judge import ask, families, fields, narrowed, recorded, spread, within

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
PLUGINS = set(BUILT_IN)
ROW = re.compile(r"^\| `([\w-]+-\d+-\d{4})` \| ([\w, ]+) \|$", re.MULTILINE)


def listed(family: str) -> dict[str, list[str]]:
    """The cases of the page, with the parts of the answer that differ."""
    found = {case: parts.split(", ") for case, parts in ROW.findall(PAGE.read_text())}
    return {case: parts for case, parts in found.items() if case.startswith(f"{family}-1-")}


def differing(family: str, sample: int | None = None) -> dict[str, list[str]]:
    vectors = within(recorded(family), PLUGINS)
    if sample is not None:
        vectors = [
            *spread(vectors, sample),
            *(v for v in vectors if v.case["id"] in listed(family)),
        ]
    answers = ask(vectors, "--no-strict-reference")
    found = {
        case["id"]: fields(want, narrowed(answers[case["id"]], PLUGINS)) for case, want in vectors
    }
    return {case: parts for case, parts in found.items() if parts}


@pytest.mark.parametrize("family", families())
def test_in_a_sample_exactly_the_listed_cases_differ(family: str) -> None:
    assert differing(family, sample=10) == listed(family)


@pytest.mark.slow
@pytest.mark.parametrize("family", families())
def test_exactly_the_listed_cases_differ(family: str) -> None:
    """Run by `make conformance`."""
    assert differing(family) == listed(family)


def test_every_listed_case_is_recorded() -> None:
    cases = {case for case, _ in ROW.findall(PAGE.read_text())}
    assert cases == {case for family in families() for case in listed(family)}
    assert cases <= {vector.case["id"] for name in families() for vector in recorded(name)}
