"""Plans against a scan of all registrations in the words of the specification."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.queue.entry import Rejection
from fairlead.queue.events import (
    ALL,
    ASSIGNED_POD,
    DEFAULT_REGISTRATIONS,
    NODE,
    POD,
    UNSCHEDULABLE_POD,
    UPDATE,
    WILDCARD,
    ActionType,
    ClusterEvent,
)
from fairlead.queue.hints import Hints, Strategy
from fairlead.queue.inflight import InFlight
from tests.unit.queue.fakes import FakePod

PLUGINS = ["Fit", "Affinity", "Claims", "Ports"]
PROFILES = ["one", "two"]
ACTIONS = st.one_of(
    st.sampled_from([*ActionType, UPDATE, ALL]),
    st.sets(st.sampled_from([*ActionType]), min_size=1, max_size=3).map(
        lambda bits: ActionType(sum(bits))
    ),
)
REGISTERED = st.builds(ClusterEvent, st.sampled_from([POD, NODE, WILDCARD]), ACTIONS)
INCOMING = st.builds(
    ClusterEvent, st.sampled_from([ASSIGNED_POD, UNSCHEDULABLE_POD, NODE, WILDCARD]), ACTIONS
)
ANSWERS = st.sampled_from(["queue", "skip", "error", "no hint"])


def hint_of(answer: str) -> Any:
    def hint(_pod: object, _old: object, _new: object) -> bool:
        if answer == "error":
            raise ValueError(answer)
        return answer == "queue"

    return None if answer == "no hint" else hint


REGISTRATIONS = st.dictionaries(
    st.sampled_from(PROFILES),
    st.dictionaries(
        st.sampled_from(PLUGINS),
        st.one_of(st.none(), st.lists(st.tuples(REGISTERED, ANSWERS), max_size=4)),
    ),
    min_size=1,
)
SETS = st.frozensets(st.sampled_from(PLUGINS))

Registered = list[tuple[ClusterEvent, str]]


def heard(registered: Registered | None) -> Registered:
    """With what kube-scheduler adds: everything, or the change of taints."""
    if registered is None:
        return [(event, "no hint") for event, _ in DEFAULT_REGISTRATIONS]
    nodes = [event.action for event, _ in registered if event.resource == NODE]
    adds = any(action & 1 for action in nodes)
    taints = any(action & 16 for action in nodes)
    extra: Registered = []
    if adds and not taints:
        extra.append((ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT), "no hint"))
    return registered + extra


def concerns(registered: ClusterEvent, incoming: ClusterEvent) -> bool:
    if (registered.resource, registered.action) == ("*", 8191):
        return True
    same = registered.resource in ("*", incoming.resource)
    pods = registered.resource == "Pod" and incoming.resource in (
        "AssignedPod",
        "UnschedulablePod",
    )
    return (
        (same or pods)
        and (registered.action & incoming.action) != 0
        and int(incoming.action) <= int(registered.action)
    )


def naive(
    registrations: dict[str, dict[str, Registered | None]],
    rejection: Rejection,
    incoming: ClusterEvent,
    meant_for_another: bool,
) -> Strategy:
    rejectors = rejection.unschedulable_plugins | rejection.pending_plugins
    if not rejectors:
        return Strategy.AFTER_BACKOFF
    if (incoming.resource, incoming.action) == ("*", 8191):
        return Strategy.SKIP if meant_for_another else Strategy.AFTER_BACKOFF
    if rejection.profile not in registrations:
        return Strategy.AFTER_BACKOFF
    best = Strategy.SKIP
    for plugin, registered in registrations[rejection.profile].items():
        for event, answer in heard(registered):
            if plugin not in rejectors or answer == "skip" or not concerns(event, incoming):
                continue
            pending = plugin in rejection.pending_plugins
            best = max(best, Strategy.IMMEDIATELY if pending else Strategy.AFTER_BACKOFF)
    return best


@given(
    REGISTRATIONS,
    st.builds(Rejection, st.sampled_from(PROFILES), SETS, SETS, st.just("")),
    st.lists(INCOMING, min_size=1, max_size=4),
    st.booleans(),
)
def test_plans_decide_as_a_scan_of_all_registrations_does(
    registrations: dict[str, dict[str, Registered | None]],
    rejection: Rejection,
    events: list[ClusterEvent],
    meant_for_another: bool,
) -> None:
    hints = Hints(
        {
            profile: {
                plugin: registered and [(event, hint_of(answer)) for event, answer in registered]
                for plugin, registered in plugins.items()
            }
            for profile, plugins in registrations.items()
        },
        lambda *_: None,
    )
    pod = FakePod("a", scheduler_name=rejection.profile)
    new = FakePod("b" if meant_for_another else "a")
    for event in events * 2:  # the second time from the kept plan
        plan = hints.plan(rejection, event)
        expected = naive(registrations, rejection, event, meant_for_another)
        assert hints.ask(plan, pod, event, None, new) == expected
        every = [heard(each) for plugins in registrations.values() for each in plugins.values()]
        wildcard = (event.resource, event.action) == ("*", 8191)
        assert hints.is_of_interest(event) == (
            wildcard or any(concerns(known, event) for each in every for known, _ in each)
        )
        for plugin in PLUGINS:
            known = [
                heard(plugins[plugin]) for plugins in registrations.values() if plugin in plugins
            ]
            assert hints.may_ungate(plugin, event) == any(
                concerns(registered, event) for each in known for registered, _ in each
            )


@given(st.lists(st.tuples(st.sampled_from(["pop", "done", "event"]), st.integers(0, 5))))
def test_events_in_flight_are_those_of_a_plain_list(steps: list[tuple[str, int]]) -> None:
    in_flight = InFlight()
    expected: dict[str, list[int]] = {}
    event = ClusterEvent(NODE, ActionType.ADD)
    for number, (step, which) in enumerate(steps):
        uid = f"pod-{which}"
        if step == "pop" and uid not in expected:
            expected[uid] = []
            in_flight.add(uid)
        elif step == "done":
            expected.pop(uid, None)
            in_flight.done(uid)
        elif step == "event":
            for seen in expected.values():
                seen.append(number)
            in_flight.record(event, None, number)
        for each, seen in expected.items():
            assert [new for _, _, new in in_flight.events_since_pop(each)] == seen
        assert in_flight.kept_events == max(map(len, expected.values()), default=0)
