"""Statuses, and how a crash of a plugin is told."""

from __future__ import annotations

import json

import pytest

from fairlead.framework.status import (
    SKIP,
    Code,
    PluginError,
    StageFailed,
    crash,
    error,
    unresolvable,
    unschedulable,
    wait,
)


@pytest.mark.parametrize(
    ("code", "number", "title", "rejected"),
    [
        (Code.SUCCESS, 0, "Success", False),
        (Code.ERROR, 1, "Error", False),
        (Code.UNSCHEDULABLE, 2, "Unschedulable", True),
        (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, 3, "UnschedulableAndUnresolvable", True),
        (Code.WAIT, 4, "Wait", False),
        (Code.SKIP, 5, "Skip", False),
        (Code.PENDING, 6, "Pending", True),
    ],
)
def test_codes_are_those_of_kube_scheduler(
    code: Code, number: int, title: str, rejected: bool
) -> None:
    assert (int(code), code.title, code.rejected) == (number, title, rejected)


def test_makers() -> None:
    assert unschedulable("a", "b").message == "a, b"
    assert [s.code for s in (unschedulable(), unresolvable(), error(), wait(5.0), SKIP)] == [
        Code.UNSCHEDULABLE,
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        Code.ERROR,
        Code.WAIT,
        Code.SKIP,
    ]
    assert wait(5.0).timeout == 5.0
    assert repr(unresolvable("no")) == "Status(UnschedulableAndUnresolvable, 'no')"


def caught(problem_of: object, point: str = "Score") -> PluginError:
    try:
        problem_of()  # type: ignore[operator]
    except Exception as problem:  # noqa: BLE001
        return crash("Mine", point, problem)
    raise AssertionError("it did not fail")


def test_a_crash_names_the_line_of_the_plugin_and_not_of_the_library() -> None:
    def plugin() -> None:
        json.loads("{")  # this line

    problem = caught(plugin)
    line = plugin.__code__.co_firstlineno + 1
    assert problem.where == f"{__file__}:{line}"
    assert str(problem).startswith("plugin 'Mine' failed in Score: JSONDecodeError: Expecting")
    assert str(problem).endswith(f"({__file__}:{line})")
    assert isinstance(problem.__cause__, json.JSONDecodeError)


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ("Score", 'running Score plugins: plugin "Mine" failed with: no data'),
        (
            "NormalizeScore",
            'running Normalize on Score plugins: plugin "Mine" failed with: no data',
        ),
        ("Filter", 'running "Mine" filter plugin: no data'),
        ("PostBind", "plugin 'Mine' failed: no data"),
    ],
)
def test_an_error_in_a_plugins_own_words_is_quoted(point: str, text: str) -> None:
    def plugin() -> None:
        raise StageFailed("no data")

    problem = caught(plugin, point)
    assert str(problem) == text
    assert problem.where == ""


def test_what_is_wrapped_once_stays_as_it_is() -> None:
    first = PluginError("Inner", "Filter", "boom")
    assert crash("Outer", "Score", first) is first
