"""Revisions, history and pages."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.lab.cluster import Cluster
from fairlead.lab.resources import resource_named
from fairlead.lab.store import Store
from tests.unit.lab.objects import ask, pod

PODS = resource_named("pods")
CONFIGMAPS = resource_named("configmaps")
PATH = "/api/v1/namespaces/default/pods"


def put(store: Store, name: str, **data: str) -> int:
    value: dict[str, Any] = {"metadata": {"name": name, "namespace": "default"}, "data": data}
    return store.put(CONFIGMAPS, value).revision


def test_every_write_has_a_revision_of_its_own() -> None:
    store = Store()
    first, second = put(store, "a"), put(store, "b")
    removed = store.remove(CONFIGMAPS, ("default", "a"))
    assert first < second < removed.revision == store.revision
    assert removed.object["metadata"]["resourceVersion"] == str(removed.revision)


def test_an_older_state_is_read_off_the_history() -> None:
    store = Store()
    put(store, "a", x="1")
    then = put(store, "b")
    put(store, "a", x="2")
    store.remove(CONFIGMAPS, ("default", "b"))
    put(store, "c")
    past = store.at(CONFIGMAPS, then)
    assert past is not None
    assert {key[1]: entry.object["data"] for key, entry in past.items()} == {
        "a": {"x": "1"},
        "b": {},
    }


def test_what_is_out_of_the_window_is_forgotten() -> None:
    store = Store(history=2)
    first = put(store, "a")
    second, third = put(store, "b"), put(store, "c")
    assert store.since(CONFIGMAPS, first - 1) is None
    events = store.since(CONFIGMAPS, first)
    assert events is not None
    assert [each.revision for each in events] == [second, third]
    store.forget_history(CONFIGMAPS)
    assert store.since(CONFIGMAPS, second) is None
    assert store.since(CONFIGMAPS, third) == []


def test_pages_show_one_state_whatever_is_written_between_them() -> None:
    cluster = Cluster()
    for name in "abcde":
        cluster.create(pod(name))
    _, first = ask(cluster, "GET", PATH, limit="2")
    assert [each["metadata"]["name"] for each in first["items"]] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    cluster.delete("pods", "d")
    cluster.create(pod("bb"))
    onward = {"continue": first["metadata"]["continue"]}
    _, rest = ask(cluster, "GET", PATH, **onward)
    assert [each["metadata"]["name"] for each in rest["items"]] == ["c", "d", "e"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    cluster.store.forget_history(PODS)
    code, refusal = ask(cluster, "GET", PATH, **onward)
    assert (code, refusal["reason"]) == (410, "Expired")


def test_a_list_at_an_exact_revision_is_that_state_or_410() -> None:
    cluster = Cluster()
    then = cluster.create(pod("a"))["metadata"]["resourceVersion"]
    cluster.create(pod("b"))
    exact = {"resourceVersion": then, "resourceVersionMatch": "Exact"}
    _, past = ask(cluster, "GET", PATH, **exact)
    assert [each["metadata"]["name"] for each in past["items"]] == ["a"]
    cluster.store.forget_history(PODS)
    assert ask(cluster, "GET", PATH, **exact)[0] == 410


def test_a_revision_of_the_future_is_a_timeout_with_its_cause() -> None:
    code, status = ask(Cluster(), "GET", PATH, resourceVersion="999999")
    assert (code, status["reason"]) == (504, "Timeout")
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"resourceVersion": "x"}, 400),
        ({"limit": "x"}, 400),
        ({"continue": "abc"}, 400),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 422),
        ({"sendInitialEvents": "true"}, 422),
    ],
)
def test_parameters_that_mean_nothing_are_refused(query: dict[str, str], code: int) -> None:
    assert ask(Cluster(), "GET", PATH, **query)[0] == code


def test_items_of_a_list_carry_no_kind_and_a_single_object_does() -> None:
    cluster = Cluster()
    cluster.create(pod("a"))
    _, listed = ask(cluster, "GET", PATH)
    _, single = ask(cluster, "GET", f"{PATH}/a")
    assert listed["kind"] == "PodList"
    assert "kind" not in listed["items"][0]
    assert single == {"kind": "Pod", "apiVersion": "v1"} | listed["items"][0]
