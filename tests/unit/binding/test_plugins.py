"""The stages that may await: whatever a plugin returns is looked at."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.binding.plugins import bind, pre_bind
from fairlead.framework.state import CycleState
from fairlead.framework.status import PluginError
from tests.builders import World, info, node, pod


def awaited(point: str, result: Any) -> type:
    async def stage(self: object, *given: object) -> Any:
        return result

    return type("Odd", (), {"name": "Odd", point: stage})


@pytest.mark.parametrize(("point", "title"), [("pre_bind", "PreBind"), ("bind", "Bind")])
async def test_anything_but_a_status_is_a_failure_of_the_plugin(point: str, title: str) -> None:
    world = World(node("n"), plugins=[awaited(point, True)])
    ask = pre_bind if point == "pre_bind" else bind
    io: Any = None
    with pytest.raises(PluginError, match=f"plugin 'Odd' failed in {title}: a Status or None"):
        await ask(world.profile, info(pod("a")), "n", CycleState(), io)
