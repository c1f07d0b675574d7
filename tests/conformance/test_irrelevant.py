"""What irrelevant nodes add to an answer, in words and numbers."""

from __future__ import annotations

from typing import Any

from tests.conformance.irrelevant import PREFIX, TAINTED, crowded, expected

NODE: dict[str, Any] = {"kind": "Node", "metadata": {"name": "n"}, "status": {}}
POD: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {}}


def message_of(answer: dict[str, Any], count: int) -> str:
    more = expected(answer, count)
    assert more is not None
    return more["message"]


def test_the_nodes_are_a_multiple_of_those_that_are_there() -> None:
    case, count = crowded({"objects": [NODE] * 3, "pod": POD}, 10)
    assert count == 12
    assert len(case["objects"]) == 15


def test_a_pod_that_tolerates_everything_is_left_among_its_own() -> None:
    tolerant = {**POD, "spec": {"tolerations": [{"operator": "Exists"}]}}
    assert crowded({"objects": [NODE], "pod": tolerant}, 10)[1] == 0


def test_the_words_are_counted_anew_and_sorted_as_text() -> None:
    said = {"message": f"0/3 nodes are available: 1 Insufficient cpu, 2 {TAINTED}."}
    want = f"0/13 nodes are available: 1 Insufficient cpu, 12 {TAINTED}."
    assert message_of(said, 10) == want
    said = {"message": "0/3 nodes are available: 3 Insufficient cpu."}
    want = f"0/13 nodes are available: 10 {TAINTED}, 3 Insufficient cpu."
    assert message_of(said, 10) == want


def test_preemption_cannot_help_on_them() -> None:
    helpless = "Preemption is not helpful for scheduling"
    said = {
        "message": "0/1 nodes are available: 1 x y. preemption: 0/1 nodes are available: "
        f"1 {helpless}."
    }
    want = (
        f"0/11 nodes are available: 1 x y, 10 {TAINTED}. preemption: 0/11 nodes are available: "
        f"11 {helpless}."
    )
    assert message_of(said, 10) == want


def test_where_prefilter_names_nodes_they_are_among_the_others() -> None:
    absent = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
    said = {
        "message": "0/1 nodes are available: 1 x y.",
        "preFilterNodes": ["n"],
        "preFilterPlugins": ["NodeAffinity"],
        "filter": {"n": {"code": "Unschedulable"}},
    }
    assert message_of(said, 2) == f"0/3 nodes are available: 1 x y, 2 {absent}."
    assert (expected(said, 2) or {})["filter"] == said["filter"]


def test_every_one_of_them_is_refused_for_its_taint() -> None:
    more = expected({"filter": {"n": {"code": "Success"}}}, 2)
    assert more is not None
    assert more["filter"][f"{PREFIX}0001"]["reasons"] == [TAINTED]
