"""The stages that may await: whatever a plugin returns is looked at."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.binding.plugins import bind, pre_bind, pre_flight
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Code, PluginError, Status, unschedulable
from tests.builders import World, info, node, pod


def awaited(point: str, result: Any) -> type:
    async def stage(self: object, *given: object) -> Any:
        return result

    return type("Odd", (), {"name": "Odd", point: stage})


@pytest.mark.parametrize(("point", "title"), [("pre_bind", "PreBind"), ("bind", "Bind")])
async def test_anything_but_a_status_is_a_failure_of_the_plugin(point: str, title: str) -> None:
    world = World(node("n"), plugins=[awaited(point, True)])
    profile, asked, state = world.profile, info(pod("a")), CycleState()
    io: Any = None
    if point == "pre_bind":
        asking = pre_bind(profile.pre_bind, asked, "n", state, io)
    else:
        asking = bind(profile, asked, "n", state, io)
    with pytest.raises(PluginError, match=f"plugin 'Odd' failed in {title}: a Status or None"):
        await asking


async def prepare(self: object, *given: object) -> None:
    return


@pytest.mark.parametrize(
    ("said", "busy"), [(None, ["Odd"]), (SKIP, []), (Status(Code.SUCCESS), ["Odd"])]
)
def test_only_plugins_with_something_to_do_are_asked_to_prepare(said: Any, busy: list[str]) -> None:
    stages = {"pre_bind": prepare, "pre_bind_pre_flight": lambda self, *given: said}
    world = World(node("n"), plugins=[type("Odd", (), {"name": "Odd", **stages})])
    found = pre_flight(world.profile, info(pod("a")), "n", CycleState())
    assert [instance.name for instance in found] == busy


@pytest.mark.parametrize("said", [unschedulable("no"), True])
def test_a_flight_check_that_says_anything_else_is_an_error(said: Any) -> None:
    stages = {"pre_bind": prepare, "pre_bind_pre_flight": lambda self, *given: said}
    world = World(node("n"), plugins=[type("Odd", (), {"name": "Odd", **stages})])
    with pytest.raises(PluginError, match="PreBindPreFlight"):
        pre_flight(world.profile, info(pod("a")), "n", CycleState())
