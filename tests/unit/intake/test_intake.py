"""From the watch to the table and the queue: what counts, what is queued, what a list replaces."""

from __future__ import annotations

from fairlead.cycle.decision import Placed, Unplaced
from fairlead.model.decode import decode_pod
from tests.builders import World, info, node, pod


def queued(world: World) -> set[str]:
    found = set[str]()
    for uid in list(world.core.intake.pending):
        if world.core.queue.get(uid) is not None:
            found.add(uid)
    return found


def requested(world: World, name: str = "n") -> int:
    here = world.cluster.nodes.get(name)
    assert here is not None
    return here.requested("cpu")


def test_pods_of_others_count_and_are_not_queued() -> None:
    world = World(node("n"))
    other = {"schedulerName": "somebody-else"}
    world.set_pod(pod("theirs", cpu="1", spec=other), pod("placed", cpu="1", on="n", spec=other))
    world.set_pod(pod("ours", cpu="1"))
    assert queued(world) == {"pod-ours"}
    assert requested(world) == 1000


def test_a_pod_that_has_ended_gives_its_place_back() -> None:
    world = World(node("n"))
    running = pod("a", cpu="1", on="n")
    world.set_pod(running)
    for phase in (b"Succeeded", b"Failed"):
        world.set_pod(decode_pod(b'{"metadata":{"uid":"pod-a"},"status":{"phase":"%s"}}' % phase))
        assert requested(world) == 0
        world.set_pod(running)
    assert requested(world) == 1000


def test_a_pod_that_was_bound_by_somebody_leaves_the_queue() -> None:
    world = World(node("n"))
    world.set_pod(pod("a", cpu="1"))
    world.set_pod(pod("a", cpu="1", on="n", resourceVersion="2"))
    assert world.core.queue.get("pod-a") is None
    assert not world.core.intake.pending
    assert requested(world) == 1000


def test_an_assumed_pod_is_confirmed_by_the_watch() -> None:
    world = World(node("n"))
    waiting = pod("a", cpu="1")
    world.set_pod(waiting)
    entry = world.core.queue.pop()
    assert entry is not None
    assert isinstance(world.core.cycle.schedule_one(world.profile, entry), Placed)
    world.set_pod(pod("a", cpu="1", labels={"new": "label"}, resourceVersion="2"))
    assert world.cluster.is_assumed("pod-a")
    world.set_pod(pod("a", cpu="1", on="n", resourceVersion="3"))
    assert (world.cluster.is_assumed("pod-a"), requested(world)) == (False, 1000)


def test_an_assumed_pods_end_is_told_when_it_begins_and_when_it_is_over() -> None:
    world = World(node("n"))
    gone = world.told.gone
    world.set_pod(pod("a"))
    entry = world.core.queue.pop()
    assert entry is not None
    world.core.cycle.schedule_one(world.profile, entry)
    for version in ("2", "3"):
        deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        world.set_pod(pod("a", resourceVersion=version, **deleted))
    assert gone == ["pod-a"]
    world.core.intake.remove_pod("pod-a")
    assert gone == ["pod-a", "pod-a"]


def test_what_a_list_does_not_name_is_gone() -> None:
    world = World(node("n"), node("m"))
    intake = world.core.intake
    world.set_pod(pod("waits"), pod("stays", cpu="1", on="n"), pod("goes", cpu="2", on="n"))
    intake.begin_nodes()
    world.set_node(node("n"))
    intake.end_nodes()
    intake.begin_pods()
    world.set_pod(pod("stays", cpu="1", on="n"))
    assert requested(world) == 3000
    intake.end_pods()
    assert requested(world) == 1000
    assert world.cluster.nodes.get("m") is None
    assert not queued(world)
    intake.end_pods()
    assert requested(world) == 1000


def test_what_cannot_be_read_is_told_and_harms_nobody() -> None:
    world = World(node("n"))
    world.set_node(node("bad", cpu="lots"))
    world.set_pod(pod("bad", cpu="lots"), pod("good"))
    assert world.cluster.nodes.get("bad") is None
    assert queued(world) == {"pod-good"}
    assert [line.split(":")[0] for line in world.told.lines] == ["node bad", "pod default/bad"]


def test_a_pod_may_be_removed_twice_and_a_node_too() -> None:
    world = World(node("n"))
    world.set_pod(pod("a"))
    for _ in range(2):
        world.core.intake.remove_pod("pod-a")
        world.core.intake.remove_node("n")
    assert (len(world.cluster.nodes), len(world.cluster), queued(world)) == (0, 0, set())


def test_the_newest_version_is_tried_next() -> None:
    """The pod is changed while it is being tried; whoever failed to place it looks again."""
    world = World(node("n", cpu="1"))
    world.set_pod(pod("a", cpu="2"))
    entry = world.core.queue.pop()
    assert entry is not None
    assert isinstance(world.core.cycle.schedule_one(world.profile, entry), Unplaced)
    world.set_pod(pod("a", cpu="500m", resourceVersion="2"))
    assert world.core.intake.pending["pod-a"].request == info(pod("x", cpu="500m")).request
