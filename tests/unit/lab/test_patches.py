"""The kinds of patch."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.lab.patches import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, patched
from fairlead.lab.resources import resource_named
from fairlead.lab.status import ApiError

PODS = resource_named("pods")
Value = dict[str, Any]


def strategic(value: Value, patch: Value) -> Value:
    return patched(value, msgspec.json.encode(patch), STRATEGIC_PATCH, PODS)


def steps(value: Value, *operations: Value) -> Value:
    return patched(value, msgspec.json.encode(operations), JSON_PATCH, PODS)


def test_conditions_are_merged_by_type() -> None:
    ready = {"type": "Ready", "status": "False"}
    old = {"status": {"conditions": [ready, {"type": "PodScheduled", "status": "False"}]}}
    patch = {"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}}
    assert strategic(old, patch) == {
        "status": {"conditions": [ready, {"type": "PodScheduled", "status": "True"}]}
    }


def test_an_element_is_deleted_by_its_key_and_the_old_value_stays_as_it_was() -> None:
    old = {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}
    patch = {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}
    assert strategic(old, patch) == {"spec": {"containers": [{"name": "b"}]}}
    assert old == {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}


def test_lists_without_a_merge_key_are_replaced() -> None:
    old = {"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}}
    patch = {"spec": {"tolerations": [{"key": "c"}]}}
    assert strategic(old, patch) == patch


def test_an_order_of_elements_sorts_those_it_names() -> None:
    old = {"spec": {"containers": [{"name": "kept"}, {"name": "b"}]}}
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": "new"}, {"name": "b"}],
            "containers": [{"name": "new"}],
        }
    }
    names = [each["name"] for each in strategic(old, patch)["spec"]["containers"]]
    assert names == ["new", "kept", "b"]


def test_primitive_lists_are_merged_and_deleted_from() -> None:
    old = {"metadata": {"finalizers": ["a/x", "a/y"]}}
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/x"], "finalizers": ["a/z"]}}
    assert strategic(old, patch) == {"metadata": {"finalizers": ["a/y", "a/z"]}}


def test_retained_keys_drop_the_others() -> None:
    old = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    volume = {"name": "v", "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}
    expected = {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}}
    assert strategic(old, {"spec": {"volumes": [volume]}}) == expected


def test_labels_are_merged_and_null_takes_away() -> None:
    old = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    patch = {"metadata": {"labels": {"a": None, "c": "3"}}}
    assert strategic(old, patch) == {"metadata": {"labels": {"b": "2", "c": "3"}}}


def test_an_element_without_its_merge_key_is_refused() -> None:
    with pytest.raises(ApiError, match="does not contain declared merge key: name"):
        strategic({"spec": {}}, {"spec": {"containers": [{"image": "x"}]}})


def test_a_merge_patch_replaces_lists() -> None:
    old = {"a": {"b": [1, 2], "c": 3}}
    body = msgspec.json.encode({"a": {"b": [4], "c": None}})
    assert patched(old, body, MERGE_PATCH, PODS) == {"a": {"b": [4]}}


def test_a_json_patch_takes_every_step() -> None:
    value = {"a": [1, 2], "b": {"x/y": 1}}
    assert steps(
        value,
        {"op": "test", "path": "/a/0", "value": 1},
        {"op": "add", "path": "/a/-", "value": 3},
        {"op": "add", "path": "/a/0", "value": 0},
        {"op": "remove", "path": "/a/1"},
        {"op": "replace", "path": "/b/x~1y", "value": None},
        {"op": "copy", "from": "/a", "path": "/c"},
        {"op": "move", "from": "/b", "path": "/d"},
    ) == {"a": [0, 2, 3], "c": [0, 2, 3], "d": {"x/y": None}}
    assert value == {"a": [1, 2], "b": {"x/y": 1}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/missing"},
        {"op": "replace", "path": "/missing", "value": 1},
        {"op": "add", "path": "/list/7", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "merge", "path": "/a", "value": 1},
    ],
)
def test_a_step_that_does_not_apply_refuses_the_whole_patch(operation: Value) -> None:
    with pytest.raises(ApiError) as refusal:
        steps({"a": 1, "list": []}, operation)
    assert refusal.value.code == 422


@pytest.mark.parametrize("body", [b"{", b"[]", b"5"])
def test_what_is_no_patch_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(ApiError, match="error decoding patch") as refusal:
        patched({}, body, STRATEGIC_PATCH, PODS)
    assert refusal.value.code == 400


def test_a_media_type_that_is_no_patch_is_refused() -> None:
    with pytest.raises(ApiError) as refusal:
        patched({}, b"{}", "application/json", PODS)
    assert refusal.value.code == 415
