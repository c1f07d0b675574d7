"""The recorded answers of kube-scheduler, and ours to the same questions.

`make test` asks a sample of each family, `make conformance` every question there is.
"""

from __future__ import annotations

import pytest

from tests.conformance.judge import Vector, ask, families, judge, recorded, spread, within

# The plugins that are there; those of others are left out of the recorded answers.
PLUGINS = {
    "DefaultBinder",
    "ImageLocality",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "PodTopologySpread",
    "PrioritySort",
    "SchedulingGates",
    "TaintToleration",
}
SAMPLE = 25


@pytest.mark.parametrize("family", families())
def test_a_sample_agrees(family: str) -> None:
    assert_agreement(spread(within(recorded(family), PLUGINS), SAMPLE), SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("family", families())
def test_every_answer_agrees(family: str) -> None:
    assert_agreement(within(recorded(family), PLUGINS), SAMPLE)


def assert_agreement(vectors: list[Vector], at_least: int) -> None:
    assert len(vectors) >= at_least
    different = judge(vectors, ask(vectors), PLUGINS)
    shown = "\n".join(different[:5])
    assert not different, f"{len(different)} of {len(vectors)} differ:\n{shown}"
