"""Compiled selectors against a naive reading of what was written."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.selector import (
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    compile_label_selector,
    compile_node_selector,
)

KEYS, VALUES = ["a", "b", "c"], ["", "x", "y", "1", "02", "10"]
keys, values = st.sampled_from(KEYS), st.sampled_from(VALUES)
label_sets = st.dictionaries(keys, values)
names = st.sampled_from(["n1", "n2"])

several = st.lists(values, min_size=1, max_size=3).map(tuple)
in_or_not = st.tuples(keys, st.sampled_from(["In", "NotIn"]), several)
present_or_not = st.tuples(keys, st.sampled_from(["Exists", "DoesNotExist"]), st.just(()))
integers = st.sampled_from(["0", "5", "07"]).map(lambda number: (number,))
compared = st.tuples(keys, st.sampled_from(["Gt", "Lt"]), integers)

Written = tuple[str, str, tuple[str, ...]]


def holds(written: Written, labels: dict[str, str]) -> bool:
    key, operator, wanted = written
    if operator == "In":
        return key in labels and labels[key] in wanted
    if operator == "NotIn":
        return not (key in labels and labels[key] in wanted)
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if labels.get(key, "").lstrip("-").isdigit():
        number, bound = int(labels[key]), int(wanted[0])
        return number > bound if operator == "Gt" else number < bound
    return False


@given(label_sets, st.lists(in_or_not | present_or_not, max_size=3), label_sets)
def test_label_selectors(
    equal: dict[str, str], written: list[Written], labels: dict[str, str]
) -> None:
    api = LabelSelector(equal, tuple(LabelSelectorRequirement(*w) for w in written))
    naive = equal.items() <= labels.items() and all(holds(w, labels) for w in written)
    selector = compile_label_selector(api)
    assert selector.matches(labels) is naive
    backwards = LabelSelector(
        dict(reversed(equal.items())),
        tuple(LabelSelectorRequirement(k, o, v[::-1]) for k, o, v in reversed(written)),
    )
    again = compile_label_selector(backwards)
    assert again == selector
    assert hash(again) == hash(selector)


fields = st.tuples(
    st.just("metadata.name"), st.sampled_from(["In", "NotIn"]), names.map(lambda name: (name,))
)
terms = st.tuples(
    st.lists(in_or_not | present_or_not | compared, max_size=3), st.lists(fields, max_size=2)
)


@given(st.lists(terms, max_size=3), label_sets, names)
def test_node_selectors(
    written: list[tuple[list[Written], list[Written]]], labels: dict[str, str], name: str
) -> None:
    api = NodeSelector(
        tuple(
            NodeSelectorTerm(
                tuple(NodeSelectorRequirement(*w) for w in on_labels),
                tuple(NodeSelectorRequirement(*w) for w in on_name),
            )
            for on_labels, on_name in written
        )
    )
    naive = any(
        (on_labels or on_name)
        and all(holds(w, labels) for w in on_labels)
        and all((name in wanted) == (operator == "In") for _, operator, wanted in on_name)
        for on_labels, on_name in written
    )
    assert compile_node_selector(api).matches(labels, name) is bool(naive)
