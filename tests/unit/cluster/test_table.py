"""The node table: rows, sums, columns, and what is marked as changed."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cluster.changes import Aspect, Changes, Log
from fairlead.cluster.check import differences
from fairlead.cluster.columns import FIRST_ROOM, LIMIT
from fairlead.cluster.labels import MOST_COLUMNS
from fairlead.cluster.nodes import NodeInfo
from fairlead.cluster.state import Cluster
from fairlead.framework.handle import Handle
from fairlead.model.errors import DecodeError
from fairlead.model.node import Node
from tests.builders import info, node, pod


def cluster(*nodes: Node) -> Cluster:
    made = Cluster()
    for each in nodes:
        made.set_node(each)
    return made


def there(made: Cluster, name: str) -> NodeInfo:
    found = made.nodes.get(name)
    assert found is not None
    return found


def sound(made: Cluster) -> bool:
    assert list(differences(made)) == []
    return True


def test_a_pod_counts_on_its_node_and_is_taken_off_again() -> None:
    made = cluster(node("n"))
    made.set_pod(info(pod("a", cpu="1", ports=[80], requests={"example.com/gpu": "2"}, on="n")))
    n = there(made, "n")
    assert (n.requested("cpu"), n.requested("example.com/gpu"), n.pod_count) == (1000, 2, 1)
    assert n.used_ports == {("0.0.0.0", "TCP", 80): 1}
    assert sound(made)
    made.remove_pod("pod-a")
    assert (n.requested("cpu"), n.requested("example.com/gpu"), n.pod_count) == (0, 0, 0)
    assert n.used_ports is None
    assert sound(made)


def test_a_pod_may_be_known_before_its_node() -> None:
    made = cluster()
    made.set_pod(info(pod("a", cpu="1", on="later")))
    made.set_pod(info(pod("b", cpu="2", on="later")))
    made.remove_pod("pod-b")
    made.set_node(node("later"))
    assert there(made, "later").requested("cpu") == 1000
    assert sound(made)


def test_the_pods_of_a_removed_node_count_again_when_it_is_back() -> None:
    made = cluster(node("n"))
    made.set_pod(info(pod("a", cpu="1", on="n")))
    assert made.remove_node("n") is not None
    assert made.remove_node("n") is None
    assert sound(made)
    made.set_pod(info(pod("a", cpu="3", on="n")))
    made.set_node(node("n"))
    assert there(made, "n").requested("cpu") == 3000
    assert sound(made)


def test_another_machine_under_the_same_name_is_another_node() -> None:
    made = cluster(node("n", labels={"disk": "ssd"}))
    made.set_pod(info(pod("a", cpu="1", on="n")))
    before = there(made, "n")
    assert made.set_node(node("n", uid="other")) is None
    after = there(made, "n")
    assert after is not before
    assert after.labels.get("disk") is None
    assert after.requested("cpu") == 1000
    assert sound(made)


def test_a_row_is_used_again_and_nothing_of_the_old_node_is_left() -> None:
    made = cluster(
        node("old", labels={"disk": "ssd"}, taints=["a:NoSchedule"], images={"app:latest": 5}),
        node("stays"),
    )
    handle = Handle(made.nodes)
    assert handle.nodes().label("disk")[1][0] == 1
    row = there(made, "old").row
    made.remove_node("old")
    assert made.nodes.images.get("app:latest") is None
    made.set_node(node("new"))
    assert there(made, "new").row == row
    assert handle.nodes().label("disk")[1][row] == 0
    assert made.nodes.columns.taint_set[row] == 0
    assert sound(made)


def test_a_node_that_cannot_be_read_changes_nothing() -> None:
    made = cluster(node("n"))
    with pytest.raises(DecodeError):
        made.set_node(node("n", cpu="lots"))
    assert there(made, "n").allocatable("cpu") == 8000
    assert sound(made)


def test_the_table_grows_beyond_its_room() -> None:
    made = cluster(node("first", labels={"zone": "a"}))
    handle = Handle(made.nodes)
    handle.nodes().label("zone")
    epoch = made.nodes.columns.epoch
    for i in range(3 * FIRST_ROOM):
        made.set_node(node(f"n{i}", labels={"zone": f"z{i}"}, allocatable={"example.com/x": "1"}))
        made.set_pod(info(pod(f"p{i}", cpu="1", requests={"example.com/x": "1"}, on=f"n{i}")))
    assert made.nodes.columns.epoch > epoch
    values, ids = handle.nodes().label("zone")
    assert ids[there(made, "n100").row] == values["z100"]
    assert sound(made)


def test_sums_beyond_64_bits_stay_exact() -> None:
    """A column holds the largest number there is; what is taken off again is what was added."""
    made = cluster(node("n"))
    for name in "abc":
        made.set_pod(info(pod(name, memory=str(2**62), on="n")))
    n = there(made, "n")
    assert n.requested("memory") == 3 * 2**62
    assert made.nodes.columns.requested_memory[n.row] == LIMIT
    assert sound(made)
    made.remove_pod("pod-a")
    made.remove_pod("pod-b")
    assert made.nodes.columns.requested_memory[n.row] == 2**62
    assert sound(made)


def test_an_assumption_ends_by_the_watch_or_by_forgetting() -> None:
    made = cluster(node("n"), node("m"))
    made.assume(info(pod("a", cpu="1")), there(made, "n"))
    made.assume(info(pod("b", cpu="1")), there(made, "n"))
    assert made.assumed == 2
    made.set_pod(info(pod("a", cpu="1", on="n")))
    assert not made.is_assumed("pod-a")
    assert made.forget("pod-a") is False
    assert made.forget("pod-b") is True
    assert made.forget("pod-b") is False
    assert (made.assumed, there(made, "n").pod_count) == (0, 1)
    assert sound(made)


def test_a_pod_that_was_bound_elsewhere_than_assumed_counts_there() -> None:
    made = cluster(node("n"), node("m"))
    made.assume(info(pod("a", cpu="1")), there(made, "n"))
    made.set_pod(info(pod("a", cpu="1", on="m")))
    assert (there(made, "n").pod_count, there(made, "m").pod_count) == (0, 1)
    assert sound(made)


def test_an_update_that_changes_no_sum_marks_nothing() -> None:
    made = cluster(node("n"))
    made.set_pod(info(pod("a", cpu="1", on="n")))
    ends = [log.end for log in made.changes.logs]
    newer = info(pod("a", cpu="1", on="n", resourceVersion="2"))
    made.set_pod(newer)
    assert [log.end for log in made.changes.logs] == ends
    assert there(made, "n").pods_by_uid["pod-a"] is newer


BEFORE = {"labels": {"a": "1"}, "taints": ["t:NoSchedule"], "images": {"i:1": 10}}


@pytest.mark.parametrize(
    ("change", "marked"),
    [
        ({}, set()),
        ({"labels": {"a": "2"}}, {Aspect.LABELS}),
        ({"taints": []}, {Aspect.TAINTS}),
        ({"unschedulable": True}, {Aspect.TAINTS}),
        ({"cpu": "9"}, {Aspect.ALLOCATABLE}),
        ({"pods": "9"}, {Aspect.ALLOCATABLE}),
        ({"allocatable": {"example.com/x": "1"}}, {Aspect.ALLOCATABLE}),
        ({"images": {"i:2": 10}}, {Aspect.IMAGES}),
        ({"annotations": {"note": "x"}}, {Aspect.OBJECT}),
    ],
)
def test_a_change_marks_its_aspect_and_no_other(
    change: dict[str, Any], marked: set[Aspect]
) -> None:
    made = cluster(node("n", **BEFORE))
    ends = {aspect: made.changes.logs[aspect].end for aspect in Aspect}
    made.set_node(node("n", **{**BEFORE, **change}))
    assert {a for a in Aspect if made.changes.logs[a].end != ends[a]} == marked
    assert sound(made)


def test_sizes_of_images_are_those_that_the_first_node_told() -> None:
    made = cluster(node("a", images={"app:1": 100}), node("b", images={"app:1": 200}))
    images = made.nodes.images
    image = images.get("app:1")
    assert image is not None
    assert (image.size, len(image.rows)) == (100, 2)
    made.set_node(node("b", images={"app:1": 300}))
    assert image.size == 100
    made.remove_node("a")
    assert image.size == 100
    made.set_node(node("b", images={"app:1": 400}))
    assert image.size == 400
    made.set_node(node("b"))
    assert images.get("app:1") is None


def test_an_image_that_comes_or_goes_is_news() -> None:
    made = cluster(node("a"))
    version = made.changes.version([("image", "app:1")])
    made.set_node(node("a", images={"app:1": 1}))
    newer = made.changes.version([("image", "app:1")])
    assert newer != version
    assert made.changes.version([("image", "other:1")]) == version
    made.set_node(node("a"))
    assert made.changes.version([("image", "app:1")]) != newer


def test_label_columns_of_old_are_made_anew_when_there_are_too_many() -> None:
    made = cluster(node("n", labels={f"k{i}": f"v{i}" for i in range(MOST_COLUMNS + 20)}))
    handle = Handle(made.nodes)
    for _ in range(2):
        for i in range(MOST_COLUMNS + 20):
            values, ids = handle.nodes().label(f"k{i}")
            assert ids[0] == values[f"v{i}"]
    assert len(made.nodes.labels._by_key) == MOST_COLUMNS


def test_a_label_whose_values_never_repeat_does_not_grow_for_ever() -> None:
    made = cluster(node("n", labels={"beat": "0"}))
    Handle(made.nodes).nodes().label("beat")
    for i in range(5 * FIRST_ROOM):
        made.set_node(node("n", labels={"beat": str(i)}))
        assert all(
            len(column.values) <= 2 * FIRST_ROOM for column in made.nodes.labels._by_key.values()
        )
    values, ids = Handle(made.nodes).nodes().label("beat")
    assert ids[0] == values[str(5 * FIRST_ROOM - 1)]


def test_taint_sets_are_shared_and_their_ids_used_again() -> None:
    made = cluster(node("a", taints=["x:NoSchedule"]), node("b", taints=["x:NoSchedule"]))
    sets = made.nodes.taints.sets
    assert len(sets) == 2
    made.set_node(node("a"))
    made.set_node(node("b", taints=["y:NoSchedule"]))
    made.set_node(node("a", taints=["z:NoSchedule"]))
    assert len(sets) == 3
    assert sound(made)


def test_a_log_forgets_its_older_half_and_says_so() -> None:
    changes = Changes()
    log = changes.logs[Aspect.LABELS]
    for row in range(2 * changes.limit + 1):
        changes.mark(Aspect.LABELS, row)
    assert log.since(0) is None
    assert log.since(log.end - 3) == [
        2 * changes.limit - 2,
        2 * changes.limit - 1,
        2 * changes.limit,
    ]
    assert log.since(log.end) == []


def test_a_row_that_changed_twice_is_told_once() -> None:
    log = Log()
    for row in (3, 4, 3):
        log.mark(row)
    assert log.since(0) == [3, 4]


def test_versions_of_facts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """When all are forgotten at once, every answer must take itself for old."""
    monkeypatch.setattr("fairlead.cluster.changes.MOST_VERSIONS", 10)
    changes = Changes()
    changes.touch("kept")
    known = changes.version(["kept"])
    for i in range(20):
        changes.touch(("image", i))
    assert changes.version(["kept"]) != known
    assert changes.version(["never seen"]) == changes.version(["kept"])


def test_the_check_finds_a_column_that_lies() -> None:
    made = cluster(node("n"))
    made.nodes.columns.requested_cpu[0] = 7
    assert list(differences(made)) == ["node n: column requested_cpu is 7, not 0"]
