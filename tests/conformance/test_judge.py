"""The judge itself: it passes what is right, and sees each kind of wrong answer."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.conformance.judge import (
    Vector,
    differences,
    families,
    judge,
    narrowed,
    recorded,
    spread,
    within,
)

ANSWER: dict[str, Any] = {
    "id": "a",
    "plugins": {"default-scheduler": {"score": [{"name": "ImageLocality", "weight": 1}]}},
    "preFilter": {"code": "Success"},
    "preFilterNodes": ["n1", "n2", "n3"],
    "preFilterPlugins": ["NodeAffinity"],
    "filter": {
        "n1": {"code": "Success"},
        "n2": {"code": "Success"},
        "n3": {"code": "Unschedulable", "plugin": "NodePorts", "reasons": ["r1", "r2"]},
    },
    "scores": {"n1": {"ImageLocality": 3}, "n2": {"ImageLocality": 2, "PodTopologySpread": 9}},
    "totals": {"n1": 3, "n2": 11},
    "winners": ["n2"],
    "message": "0/3 nodes are available: r1. preemption: 0/3 nodes are available.",
    "reason": "Unschedulable",
    "postFilter": {
        "code": "Success",
        "nominated": "n3",
        "victims": ["default/a"],
        "candidates": {"n3": {"victims": ["default/a"]}},
    },
    "sequence": [{"pod": "default/a", "placed": "n1"}, {"pod": "default/b", "placed": "n2"}],
}
WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "plugins": lambda a: a["plugins"]["default-scheduler"]["score"][0].update(weight=2),
    "preEnqueue": lambda a: a.update(preEnqueue={"code": "UnschedulableAndUnresolvable"}),
    "preFilter": lambda a: a["preFilter"].update(code="Skip"),
    "preFilterNodes": lambda a: a["preFilterNodes"].remove("n1"),
    "preFilterPlugins": lambda a: a.pop("preFilterPlugins"),
    "filter n1": lambda a: a["filter"].pop("n1"),
    "filter n3": lambda a: a["filter"]["n3"]["reasons"].pop(),
    "scores n1": lambda a: a["scores"]["n1"].update(ImageLocality=4),
    "totals n2": lambda a: a["totals"].update(n2=10),
    "winners": lambda a: a["winners"].append("n1"),
    "message": lambda a: a.update(message="0/3 nodes are available: r2."),
    "reason": lambda a: a.pop("reason"),
    "error": lambda a: a.update(error="no"),
    "skipped": lambda a: a.update(skipped=True),
    "evaluated": lambda a: a.update(evaluated=2),
    "preemption": lambda a: a["postFilter"].update(nominated="n1"),
    "preemption: want one of [('n3', ['default/a'])]": lambda a: a["postFilter"].pop("victims"),
    "postFilter code": lambda a: a["postFilter"].update(code="Unschedulable"),
    "candidate n3": lambda a: a["postFilter"]["candidates"]["n3"].update(pdbViolations=1),
    "candidate n1": lambda a: a["postFilter"]["candidates"].update(n1={"victims": ["default/b"]}),
    "steps": lambda a: a["sequence"].pop(),
    "step 0 placed": lambda a: [step.update(placed="n9") for step in a["sequence"]],
}


@pytest.mark.parametrize("what", WRONG)
def test_it_sees_what_is_wrong(what: str) -> None:
    changed = deepcopy(ANSWER)
    WRONG[what](changed)
    found = list(differences(ANSWER, changed))
    assert len(found) == 1
    assert found[0].startswith(what)


@pytest.mark.parametrize("family", families())
def test_it_passes_what_is_right(family: str) -> None:
    vectors = spread(recorded(family), 25)
    every = {vector.case["id"]: vector.answer for vector in vectors}
    assert judge(within(vectors, {"DefaultPreemption"}), every, {"DefaultPreemption"}) == []


def test_of_outcomes_that_are_as_good_any_is_right() -> None:
    other = {"code": "Success", "nominated": "n2", "victims": ["default/b"]}
    want = {**ANSWER, "postFilterOutcomes": [ANSWER["postFilter"], other]}
    got = {**ANSWER, "postFilter": ANSWER["postFilter"] | other, "message": "another"}
    assert list(differences(want, got)) == []


def test_a_candidate_may_be_missing_where_not_all_are_tried() -> None:
    got = {**ANSWER, "postFilter": {**ANSWER["postFilter"], "candidates": {}}}
    assert list(differences(ANSWER, got)) != []
    assert list(differences(ANSWER, got, all_tried=False)) == []


def test_it_misses_no_case_that_was_not_answered() -> None:
    assert judge([Vector({"id": "a"}, ANSWER)], {}, set()) == ["a: no answer"]


def test_the_order_of_reasons_and_of_nodes_is_left_to_chance() -> None:
    changed = deepcopy(ANSWER)
    changed["filter"]["n3"]["reasons"].reverse()
    changed["preFilterNodes"].reverse()
    assert list(differences(ANSWER, changed)) == []


def test_narrowing_leaves_what_the_plugins_give_and_chooses_anew() -> None:
    less = narrowed(ANSWER, {"ImageLocality"})
    assert less["scores"] == {"n1": {"ImageLocality": 3}, "n2": {"ImageLocality": 2}}
    assert less["totals"] == {"n1": 3, "n2": 2}
    assert less["winners"] == ["n1"]
    assert less["message"] == "0/3 nodes are available: r1."
    assert narrowed(ANSWER, set())["winners"] == ["n1", "n2"]


def test_a_case_in_which_another_plugin_refuses_is_passed_over() -> None:
    vector = Vector({"id": "a"}, ANSWER)
    assert within([vector], {"NodeAffinity"}) == []
    assert within([vector], {"NodeAffinity", "NodePorts"}) != []


def test_a_case_in_which_another_plugin_fails_is_passed_over() -> None:
    message = 'running Score plugins: plugin "ImageLocality" failed with: no image'
    vector = Vector({"id": "a"}, {"message": message, "reason": "SchedulerError"})
    assert within([vector], set()) == []
    assert within([vector], {"ImageLocality"}) != []
