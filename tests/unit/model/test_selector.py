"""Selectors: what matches, what is refused and with which words, and what is equal."""

import pytest

from fairlead.model.errors import DecodeError
from fairlead.model.selector import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
    compile_label_map,
    compile_label_selector,
    compile_node_selector,
    compile_preferred,
)


def node_term(*demands: tuple[str, str, tuple[str, ...]]) -> NodeSelectorTerm:
    return NodeSelectorTerm(tuple(NodeSelectorRequirement(*demand) for demand in demands))


def name_term(*demands: tuple[str, str, tuple[str, ...]]) -> NodeSelectorTerm:
    return NodeSelectorTerm((), tuple(NodeSelectorRequirement(*demand) for demand in demands))


@pytest.mark.parametrize(
    ("demand", "labels", "matches"),
    [
        (("a", "In", ("x", "y")), {"a": "y"}, True),
        (("a", "In", ("x", "y")), {"a": "z"}, False),
        (("a", "In", ("x",)), {}, False),
        (("a", "NotIn", ("x",)), {}, True),
        (("a", "NotIn", ("x",)), {"a": "x"}, False),
        (("a", "Exists", ()), {"a": ""}, True),
        (("a", "Exists", ()), {}, False),
        (("a", "DoesNotExist", ()), {}, True),
        (("a", "DoesNotExist", ()), {"a": "x"}, False),
        (("a", "Gt", ("5",)), {"a": "6"}, True),
        (("a", "Gt", ("5",)), {"a": "5"}, False),
        (("a", "Lt", ("5",)), {"a": "-6"}, True),
        (("a", "Lt", ("5",)), {"a": "+4"}, True),
        (("a", "Gt", ("5",)), {"a": "six"}, False),
        (("a", "Gt", ("5",)), {"a": "1_0"}, False),
        (("a", "Gt", ("5",)), {"a": "12345678901234567890"}, False),
        (("a", "Gt", ("5",)), {}, False),
    ],
)
def test_node_terms_match_as_in_go(
    demand: tuple[str, str, tuple[str, ...]], labels: dict[str, str], matches: bool
) -> None:
    selector = compile_node_selector(NodeSelector((node_term(demand),)))
    assert selector.matches(labels, "n") is matches


def test_no_terms_and_empty_terms_match_no_node() -> None:
    assert not compile_node_selector(NodeSelector()).matches({}, "n")
    assert not compile_node_selector(NodeSelector((NodeSelectorTerm(),))).matches({}, "n")


def test_an_invalid_term_matches_no_node_and_leaves_the_others_alone() -> None:
    bad = node_term(("a", "Bigger", ("1",)))
    good = node_term(("a", "Exists", ()))
    assert not compile_node_selector(NodeSelector((bad,))).matches({"a": "1"}, "n")
    assert compile_node_selector(NodeSelector((bad, good))).matches({"a": "1"}, "n")


def test_names_of_nodes_match_by_one_value() -> None:
    one = compile_node_selector(NodeSelector((name_term(("metadata.name", "In", ("n1",))),)))
    assert one.matches({}, "n1")
    assert not one.matches({}, "n2")
    other = compile_node_selector(NodeSelector((name_term(("metadata.name", "NotIn", ("n1",))),)))
    assert not other.matches({}, "n1")
    assert other.matches({}, "n2")
    unknown = compile_node_selector(NodeSelector((name_term(("metadata.uid", "In", ("u",))),)))
    assert not unknown.matches({}, "u")


def test_two_names_are_a_fault_and_stay_readable() -> None:
    two = compile_node_selector(NodeSelector((name_term(("metadata.name", "In", ("b", "a"))),)))
    assert not two.matches({}, "a")
    assert two.terms[0].fields == (Requirement("metadata.name", "In", ("a", "b")),)
    assert two.terms[0].faults


def test_preferences_without_weight_or_demand_are_not_even_read() -> None:
    bad = node_term(("a", "Bigger", ()))
    terms, error = compile_preferred(
        [PreferredSchedulingTerm(0, bad), PreferredSchedulingTerm(5, NodeSelectorTerm())]
    )
    assert (terms, error) == ((), "")


def test_faults_of_preferences_are_told_in_the_words_of_the_api_server() -> None:
    term = NodeSelectorTerm(
        (
            NodeSelectorRequirement("k", "Foo"),
            NodeSelectorRequirement("k", "In"),
            NodeSelectorRequirement("/k", "Gt", ("a",)),
            NodeSelectorRequirement("k", "Exists", ("b",)),
        ),
        (NodeSelectorRequirement("metadata.name", "Gt"),),
    )
    terms, error = compile_preferred([PreferredSchedulingTerm(1, term)])
    assert terms == ()
    assert error == (
        '[[0].matchExpressions[0].operator: Unsupported value: "Foo": supported values: '
        '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", '
        "[0].matchExpressions[1].values: Invalid value: null: "
        "for 'in', 'notin' operators, values set can't be empty, "
        '[0].matchExpressions[2].key: Invalid value: "/k": prefix part must be non-empty, '
        '[0].matchExpressions[2].values[0]: Invalid value: "a": '
        "for 'Gt', 'Lt' operators, the value must be an integer, "
        '[0].matchExpressions[3].values: Invalid value: ["b"]: '
        "values set must be empty for exists and does not exist, "
        '[0].matchFields[0].operator: Unsupported value: "Gt": supported values: "In", "NotIn"]'
    )


def test_an_absent_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert compile_label_selector(None) is NOTHING
    assert compile_label_selector(LabelSelector()) == EVERYTHING
    assert EVERYTHING.everything
    assert EVERYTHING.matches({"a": "b"})
    assert not NOTHING.everything
    assert not NOTHING.matches({})
    assert NOTHING.narrowed([Requirement("a", "Exists")]) is NOTHING


def test_selectors_of_the_same_demands_are_equal() -> None:
    by_map = compile_label_map({"b": "2", "a": "1"})
    by_selector = compile_label_selector(
        LabelSelector({"a": "1"}, (LabelSelectorRequirement("b", "In", ("2", "2")),))
    )
    assert by_map == by_selector
    assert hash(by_map) == hash(by_selector)
    assert by_map.matches({"a": "1", "b": "2", "c": "3"})
    assert not by_map.matches({"a": "1"})
    narrowed = compile_label_map({"a": "1"}).narrowed([Requirement("b", "In", ("2",))])
    assert narrowed == by_map


def test_an_invalid_label_selector_is_refused() -> None:
    wrong = LabelSelector({}, (LabelSelectorRequirement("a", "Gt", ("1",)),))
    with pytest.raises(DecodeError, match='"Gt" is not a valid label selector operator'):
        compile_label_selector(wrong)
    with pytest.raises(DecodeError, match="Invalid value"):
        compile_label_selector(LabelSelector({"a": "not valid"}))
    with pytest.raises(DecodeError, match="no more than 63 bytes"):
        compile_label_selector(LabelSelector({"a" * 64: ""}))
