"""Label and field selectors of requests."""

from __future__ import annotations

import pytest

from fairlead.lab.resources import CORE_EVENTS, NEW_EVENTS, resource_named
from fairlead.lab.selectors import field_selector, label_selector, matches_label_selector
from fairlead.lab.status import ApiError

PODS = resource_named("pods")


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("app=web", True),
        ("app==web", True),
        ("app!=web", False),
        ("tier!=db", True),
        ("app in (api, web)", True),
        ("app notin (api)", True),
        ("tier notin (db)", True),
        ("app", True),
        ("!app", False),
        ("!tier", True),
        ("app=web,size>3", True),
        ("size<3", False),
        ("app>3", False),
    ],
)
def test_label_selectors(text: str, selected: bool) -> None:
    test = label_selector(text)
    assert test is not None
    assert test({"metadata": {"labels": {"app": "web", "size": "5"}}}) is selected


def test_an_empty_selector_is_no_test() -> None:
    assert label_selector("") is None
    assert field_selector("", PODS) is None


@pytest.mark.parametrize("text", ["a===b", "a in", "a>b", ","])
def test_a_selector_that_cannot_be_read_is_a_bad_request(text: str) -> None:
    with pytest.raises(ApiError) as refusal:
        label_selector(text)
    assert refusal.value.code == 400


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("spec.nodeName=", True),
        ("spec.nodeName!=", False),
        ("status.phase!=Succeeded,status.phase!=Failed", True),
        ("metadata.name=a,metadata.namespace=default", True),
        ("spec.schedulerName=other", False),
        ("spec.hostNetwork=false", True),
    ],
)
def test_field_selectors_of_pods(text: str, selected: bool) -> None:
    test = field_selector(text, PODS)
    assert test is not None
    value = {
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"schedulerName": "default-scheduler"},
        "status": {"phase": "Pending"},
    }
    assert test(value) is selected


def test_the_two_faces_of_events_name_their_object_differently() -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"name": "p"}, "reason": "Scheduled"}
    core = field_selector("involvedObject.name=p,reason=Scheduled", CORE_EVENTS)
    new = field_selector("regarding.name=p,reason=Scheduled", NEW_EVENTS)
    assert core is not None
    assert new is not None
    assert core(event)
    assert new(event)
    with pytest.raises(ApiError, match=r"field label not supported: regarding\.name"):
        field_selector("regarding.name=p", CORE_EVENTS)


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "b"}}, True),
        ({"matchLabels": {"a": "c"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, False),
        ({"matchExpressions": [{"key": "x", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}, True),
    ],
)
def test_label_selectors_of_objects(selector: dict[str, object] | None, selected: bool) -> None:
    assert matches_label_selector(selector, {"a": "b"}) is selected
