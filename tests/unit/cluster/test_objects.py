"""Services, controllers, namespaces: the newest version of each, and what a change of one voids."""

from __future__ import annotations

from fairlead.cluster.changes import Changes
from fairlead.cluster.objects import Objects
from fairlead.model.meta import ObjectMeta
from fairlead.model.workload import LabelMap, Service


def service(name: str, selector: dict[str, str], version: str = "1") -> Service:
    meta = ObjectMeta(name=name, namespace="ns", resource_version=version)
    return Service(meta, LabelMap(selector))


def test_the_newest_version_is_found_by_kind_and_name() -> None:
    objects = Objects(Changes())
    old, new = service("s", {"a": "1"}), service("s", {"a": "2"})
    assert objects.set("Service", old) is None
    assert objects.set("Service", new) is old
    assert objects.get("Service", "ns", "s") is new
    assert objects.get("Service", "other", "s") is None
    assert objects.keys("Service") == {("ns", "s")}
    assert objects.keys("ReplicaSet") == set()
    assert objects.remove("Service", "ns", "s") is new
    assert objects.remove("Service", "ns", "s") is None
    assert not objects.of("Service", "ns")


def test_a_change_voids_what_rests_on_the_object_and_on_its_namespace() -> None:
    changes = Changes()
    objects = Objects(changes)
    facts = [("Service", "ns")], [("Service", "ns/s")], [("Service", "ns/other")]
    objects.set("Service", service("s", {"a": "1"}))
    before = [changes.version(fact) for fact in facts]
    objects.set("Service", service("s", {"a": "2"}))
    after = [changes.version(fact) for fact in facts]
    assert [a != b for a, b in zip(after, before, strict=True)] == [True, True, False]
    objects.remove("Service", "ns", "s")
    assert changes.version(facts[1]) != after[1]


def test_a_version_that_says_the_same_voids_nothing() -> None:
    changes = Changes()
    objects = Objects(changes)
    objects.set("Service", service("s", {"a": "1"}))
    before = changes.facts
    newer = service("s", {"a": "1"}, version="2")
    objects.set("Service", newer)
    assert changes.facts == before
    assert objects.get("Service", "ns", "s") is newer
