"""Nominations: believed before the API server has them, and kept through stale updates."""

from fairlead.queue.nominator import Nominator
from tests.unit.queue.fakes import FakePod


def uids(nominator: Nominator, node: str) -> list[str]:
    return [pod.uid for pod in nominator.pods_of(node)]


def test_the_given_node_outranks_the_status_and_none_means_the_status() -> None:
    nominator = Nominator()
    nominator.add(FakePod("a", nominated_node_name="n1"))
    nominator.add(FakePod("b", nominated_node_name="n1"), "n2")
    nominator.add(FakePod("c"))
    assert (uids(nominator, "n1"), uids(nominator, "n2")) == (["a"], ["b"])
    assert (nominator.node_of("a"), nominator.node_of("c"), len(nominator)) == ("n1", "", 2)


def test_a_pod_is_nominated_to_one_node_and_the_newest_comes_last() -> None:
    nominator = Nominator()
    for uid in ("a", "b"):
        nominator.add(FakePod(uid), "n1")
    nominator.add(FakePod("a"), "n1")
    assert uids(nominator, "n1") == ["b", "a"]
    nominator.add(FakePod("a"), "n2")
    assert (uids(nominator, "n1"), uids(nominator, "n2")) == (["b"], ["a"])
    nominator.delete(FakePod("b"))
    assert list(nominator.nodes()) == ["n2"]


def test_an_empty_name_takes_the_nomination_away() -> None:
    nominator = Nominator()
    nominator.add(FakePod("a"), "n1")
    nominator.add(FakePod("a", nominated_node_name="n1"), "")
    assert len(nominator) == 0


def test_a_pod_that_is_bound_or_gone_is_not_nominated() -> None:
    nominator = Nominator(lambda pod: pod.uid != "gone")
    nominator.add(FakePod("bound", node_name="n9"), "n1")
    nominator.add(FakePod("gone"), "n1")
    assert len(nominator) == 0


def test_an_update_without_any_nomination_keeps_what_is_believed() -> None:
    nominator = Nominator()
    old = FakePod("a")
    nominator.add(old, "n1")
    new = old.but(labels={"x": "y"})
    nominator.update(old, new)
    assert nominator.pods_of("n1") == (new,)


def test_an_update_that_changes_the_nomination_is_followed() -> None:
    nominator = Nominator()
    old = FakePod("a")
    nominator.add(old, "n1")
    named = old.but(nominated_node_name="n2")
    nominator.update(old, named)
    assert nominator.node_of("a") == "n2"
    nominator.update(named, named.but(nominated_node_name=""))
    assert len(nominator) == 0
