"""Features that change what is read of a pod, each on and off."""

from __future__ import annotations

import pytest

from fairlead.model.facts import PodFeatures
from fairlead.model.node import Taint
from fairlead.model.podinfo import PodInfos
from tests.builders import pod

LEVEL = {"resources": {"requests": {"cpu": "3"}}}


def test_without_the_feature_requests_of_the_whole_pod_count_for_nothing() -> None:
    whole = pod("p", cpu="1", spec=LEVEL)
    assert PodInfos().of(whole).request.cpu == 3000
    assert PodInfos(features=PodFeatures(pod_level=False)).of(whole).request.cpu == 1000


@pytest.mark.parametrize(
    ("operator", "wanted", "has", "tolerated"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "5", "5", False),
        ("Lt", "5", "-6", True),
        ("Lt", "5", "5", False),
        ("Lt", "5", "04", False),
        ("Lt", "x", "4", False),
        ("Lt", "9223372036854775808", "4", False),
    ],
)
def test_tolerations_that_compare_numbers_do_so_only_with_the_feature(
    operator: str, wanted: str, has: str, tolerated: bool
) -> None:
    comparing = {"key": "k", "operator": operator, "value": wanted}
    given = pod("p", spec={"tolerations": [comparing]})
    taint = Taint("k", has, "NoSchedule")
    assert not PodInfos().of(given).tolerations[0].tolerates(taint)
    on = PodInfos(features=PodFeatures(comparing_tolerations=True)).of(given)
    assert on.tolerations[0].tolerates(taint) == tolerated
