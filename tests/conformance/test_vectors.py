"""The recorded answers of kube-scheduler, and ours to the same questions.

`make test` asks a sample of each family, `make conformance` every question there is: as they are,
reached by detours, and in a crowd of irrelevant nodes.
"""

from __future__ import annotations

import pytest

from fairlead.profiles import BUILT_IN
from tests.conformance.irrelevant import crowded, expected
from tests.conformance.judge import Vector, ask, families, judge, recorded, spread, within

PLUGINS = set(BUILT_IN)
"""The plugins that are there; what others say is left out of the recorded answers."""
SAMPLE = 25
CROWD = 500
WAYS = {"as it is": (), "by detours": ("--history", "1"), "in a crowd": ("--irrelevant", "500")}


@pytest.mark.parametrize("family", families())
def test_a_sample_agrees(family: str) -> None:
    assert_agreement(spread(within(recorded(family), PLUGINS), SAMPLE))


@pytest.mark.parametrize("way", ["by detours", "in a crowd"])
def test_a_sample_agrees_however_it_is_reached(way: str) -> None:
    few = [each for family in families() for each in spread(within(recorded(family), PLUGINS), 4)]
    assert_agreement(crowd(few) if way == "in a crowd" else few, *WAYS[way])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", families())
def test_every_answer_agrees(family: str, way: str) -> None:
    vectors = within(recorded(family), PLUGINS)
    assert_agreement(crowd(vectors) if way == "in a crowd" else vectors, *WAYS[way])


def crowd(vectors: list[Vector]) -> list[Vector]:
    """The same questions, with what so many irrelevant nodes add to the answers."""
    more: list[Vector] = []
    for vector in vectors:
        _, count = crowded(dict(vector.case), CROWD)
        want = expected(dict(vector.answer), count)
        if want is not None:
            more.append(Vector(vector.case, want))
    return more


def assert_agreement(vectors: list[Vector], *options: str) -> None:
    assert vectors
    different = judge(vectors, ask(vectors, *options), PLUGINS)
    shown = "\n".join(different[:5])
    assert not different, f"{len(different)} of {len(vectors)} differ:\n{shown}"
