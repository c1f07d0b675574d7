"""Whether an event is worth another attempt: rejectors, pending plugins, unasked additions."""

from collections.abc import Sequence
from typing import Any

import pytest

from fairlead.queue.entry import Rejection
from fairlead.queue.events import (
    ADD,
    ALL,
    ASSIGNED_POD_ADD,
    DEFAULT_REGISTRATIONS,
    DELETE,
    FORCE_ACTIVATED,
    NODE,
    NODE_ADD,
    NODE_DELETE,
    POD,
    UNSCHEDULABLE_TIMEOUT,
    UPDATE,
    WILDCARD,
    ActionType,
    ClusterEvent,
    Registration,
)
from fairlead.queue.hints import Hints, Registrations, Strategy, with_additions
from tests.unit.queue.fakes import PROFILE, FakePod

TAINT_UPDATE = ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT)


class Asked:
    """A hint that gives one answer, or fails with it, and counts how often it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.times = 0

    def __call__(self, pod: Any, old: Any, new: Any) -> Any:
        self.times += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def decided(
    registrations: Registrations,
    event: ClusterEvent,
    rejectors: Sequence[str],
    pending: Sequence[str] = (),
    new: Any = None,
) -> Strategy:
    hints = Hints(registrations, lambda *_: None)
    rejection = Rejection(PROFILE, frozenset(rejectors), frozenset(pending), "")
    return hints.ask(hints.plan(rejection, event), FakePod("a"), event, None, new)


def on_node_add(**hints: Any) -> Registrations:
    return {PROFILE: {plugin: [(NODE_ADD, hint)] for plugin, hint in hints.items()}}


def test_only_the_rejectors_are_asked() -> None:
    asked, other = Asked(False), Asked(True)
    registrations = on_node_add(Fit=asked, Affinity=other)
    assert decided(registrations, NODE_ADD, ["Fit"]) == Strategy.SKIP
    assert (asked.times, other.times) == (1, 0)


def test_one_queue_among_the_rejectors_is_enough() -> None:
    registrations = on_node_add(Fit=Asked(False), Affinity=Asked(True))
    assert decided(registrations, NODE_ADD, ["Fit", "Affinity"]) == Strategy.AFTER_BACKOFF


def test_queue_from_a_pending_plugin_skips_the_backoff() -> None:
    registrations = on_node_add(Fit=Asked(True), Claims=Asked(True))
    assert decided(registrations, NODE_ADD, ["Fit"], ["Claims"]) == Strategy.IMMEDIATELY
    registrations = on_node_add(Fit=Asked(True), Claims=Asked(False))
    assert decided(registrations, NODE_ADD, ["Fit"], ["Claims"]) == Strategy.AFTER_BACKOFF


def test_without_a_hint_the_event_always_queues_and_nobody_else_is_asked() -> None:
    asked = Asked(False)
    registrations = on_node_add(Fit=asked, Affinity=None)
    assert decided(registrations, NODE_ADD, ["Fit", "Affinity"]) == Strategy.AFTER_BACKOFF
    assert asked.times == 0


@pytest.mark.parametrize("answer", [ValueError("not a node"), None])
def test_a_hint_that_fails_or_says_nothing_means_queue(answer: object) -> None:
    assert decided(on_node_add(Fit=Asked(answer)), NODE_ADD, ["Fit"]) == Strategy.AFTER_BACKOFF


def test_a_failing_hint_is_reported_with_plugin_and_event() -> None:
    reports: list[tuple[str, str, str]] = []
    hints = Hints(
        on_node_add(Fit=Asked(ValueError("not a node"))),
        lambda plugin, event, pod, error: reports.append((plugin, event.label, str(error))),
    )
    plan = hints.plan(Rejection(PROFILE, frozenset({"Fit"}), frozenset(), ""), NODE_ADD)
    hints.ask(plan, FakePod("a"), NODE_ADD, None, None)
    assert reports == [("Fit", "NodeAdd", "not a node")]


def test_a_pod_that_nobody_rejected_is_tried_again_by_any_event() -> None:
    assert decided(on_node_add(Fit=Asked(False)), NODE_ADD, []) == Strategy.AFTER_BACKOFF


def test_a_wildcard_event_is_for_all_unless_it_names_a_pod() -> None:
    registrations = on_node_add(Fit=Asked(False))
    assert decided(registrations, UNSCHEDULABLE_TIMEOUT, ["Fit"]) == Strategy.AFTER_BACKOFF
    for uid, strategy in (("a", Strategy.AFTER_BACKOFF), ("b", Strategy.SKIP)):
        assert decided(registrations, FORCE_ACTIVATED, ["Fit"], new=FakePod(uid)) == strategy


def test_a_profile_that_is_gone_means_queue() -> None:
    registrations = {"other": {"Fit": [(NODE_ADD, Asked(False))]}}
    assert decided(registrations, NODE_ADD, ["Fit"]) == Strategy.AFTER_BACKOFF


def test_each_profile_has_its_own_hints() -> None:
    registrations = {
        PROFILE: {"Fit": [(NODE_ADD, Asked(False))]},
        "other": {"Fit": [(NODE_ADD, Asked(True))]},
    }
    assert decided(registrations, NODE_ADD, ["Fit"]) == Strategy.SKIP


def test_an_empty_registration_is_never_moved_by_events() -> None:
    assert decided({PROFILE: {"Silent": []}}, NODE_ADD, ["Silent"]) == Strategy.SKIP


def test_whoever_registers_nothing_at_all_hears_of_everything() -> None:
    registrations = {PROFILE: {"Old": None}}
    for event in (NODE_ADD, NODE_DELETE, TAINT_UPDATE, ASSIGNED_POD_ADD):
        assert decided(registrations, event, ["Old"]) == Strategy.AFTER_BACKOFF
    resources = {event.resource for event, _ in DEFAULT_REGISTRATIONS}
    assert resources == {
        "Pod",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "storage.k8s.io/CSINode",
        "storage.k8s.io/CSIDriver",
        "storage.k8s.io/CSIStorageCapacity",
        "storage.k8s.io/StorageClass",
        "resource.k8s.io/ResourceClaim",
        "resource.k8s.io/DeviceClass",
    }


def test_registering_node_add_hears_of_every_change_of_taints() -> None:
    asked = Asked(False)
    assert decided(on_node_add(NodeName=asked), TAINT_UPDATE, ["NodeName"]) == (
        Strategy.AFTER_BACKOFF
    )
    assert asked.times == 0


@pytest.mark.parametrize(
    ("registered", "added"),
    [
        ([(NODE, ADD)], True),
        ([(NODE, ADD | ActionType.UPDATE_NODE_LABEL)], True),
        ([(NODE, ADD), (NODE, ActionType.UPDATE_NODE_TAINT)], False),
        ([(NODE, ALL)], False),
        ([(NODE, UPDATE)], False),
        ([(POD, ADD)], False),
        ([(WILDCARD, ALL)], False),
        ([], False),
    ],
)
def test_the_taint_event_is_added_only_where_it_is_missing(
    registered: list[tuple[str, ActionType]], added: bool
) -> None:
    registrations: list[Registration] = [(ClusterEvent(*each), Asked(True)) for each in registered]
    assert ((TAINT_UPDATE, None) in with_additions(registrations)) is added


def test_interest_is_of_any_profile_and_a_wildcard_always_counts() -> None:
    hints = Hints({"other": {"Fit": [(NODE_ADD, None)]}}, lambda *_: None)
    assert hints.is_of_interest(NODE_ADD)
    assert hints.is_of_interest(TAINT_UPDATE)
    assert hints.is_of_interest(FORCE_ACTIVATED)
    assert not hints.is_of_interest(NODE_DELETE)


def test_only_events_of_the_gating_plugin_may_ungate() -> None:
    gates_gone = ClusterEvent(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    hints = Hints(
        {
            PROFILE: {"SchedulingGates": [(gates_gone, None)], "Fit": [(NODE_ADD, None)]},
            "other": {"Preemption": [(ClusterEvent(POD, DELETE), None)]},
        },
        lambda *_: None,
    )
    assert not hints.may_ungate("SchedulingGates", NODE_ADD)
    assert not hints.may_ungate("SchedulingGates", UNSCHEDULABLE_TIMEOUT)
    assert hints.may_ungate("Preemption", ClusterEvent("AssignedPod", DELETE))
    assert not hints.may_ungate("Unknown", NODE_ADD)
