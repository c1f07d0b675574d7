"""Expressions that select devices, held against what the code of Kubernetes says of the same.

The pairs in tests/fixtures/device_expressions.json are questions to
k8s.io/dynamic-resource-allocation/cel 0.36.3 and its answers: a match, an error at run time, or one
at compilation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.model.cel.library import library
from fairlead.model.cel.selector import Selector, device_values
from fairlead.model.cel.values import CelError
from fairlead.model.resource import Device

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "device_expressions.json").read_text()
)
CASES: list[dict[str, Any]] = RECORDED["cases"]
OTHERWISE = {
    # the library has no such functions
    '.find("[0-9]+")': "compileError",
    '.findAll("[0-9]")': "compileError",
    "url(": "compileError",
    "isURL(": "compileError",
    "format.named(": "compileError",
    "format.dns1123Label(": "compileError",
    "getFullYear()": "error",
    # found out only when it is evaluated
    '.matches("[")': "error",
    'int("x") == 3': "error",
    # not found out: no harm comes of it
    '[1,"a"]': "match",
    '"%d-%s".format': "match",
}
"""Parts of expressions that we answer otherwise, and how. None of them is of use for devices."""


def evaluated(expression: str, driver: str, device: Device) -> dict[str, Any]:
    try:
        selector = Selector.compile(expression)
    except CelError as problem:
        return {"compileError": str(problem)}
    try:
        return {"match": selector.matches(device_values(driver, device))}
    except CelError as problem:
        return {"error": str(problem)}


def otherwise(expression: str) -> str | None:
    return next((how for part, how in OTHERWISE.items() if part in expression), None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expression"][:80])
def test_an_expression_means_what_it_means_in_kubernetes(case: dict[str, Any]) -> None:
    device = msgspec.convert(RECORDED["devices"][case["device"]], Device)
    want = {key: case[key] for key in ("match", "error", "compileError") if key in case}
    got = evaluated(case["expression"], case["driver"], device)
    how = otherwise(case["expression"])
    if how is not None:
        assert list(got) == [how]
        assert got != want, "it is answered as in Kubernetes now: strike it from the list"
    elif "compileError" in want:  # the words of the two checkers differ here and there
        assert list(got) == ["compileError"]
    else:
        assert got == want


def test_the_pairs_have_answers_of_every_kind() -> None:
    kinds = [next(key for key in ("match", "error", "compileError") if key in c) for c in CASES]
    assert {kind: kinds.count(kind) > 20 for kind in set(kinds)} == {
        "match": True,
        "error": True,
        "compileError": True,
    }


def test_an_expression_that_does_too_much_is_ended() -> None:
    items = "[0,1,2,3,4,5,6,7,8,9]"
    loops = "".join(f"{items}.all(x{depth}, " for depth in range(7))
    selector = Selector.compile(f"{loops}true{')' * 7}")
    with pytest.raises(CelError, match="operation cancelled: actual cost limit exceeded"):
        selector.matches(device_values("d", Device()))


def test_what_is_too_much_is_not_swallowed_by_an_operator() -> None:
    items = "[0,1,2,3,4,5,6,7,8,9]"
    loops = "".join(f"{items}.all(x{depth}, " for depth in range(7))
    selector = Selector.compile(f"{loops}true{')' * 7} || true")
    with pytest.raises(CelError, match="cost limit"):
        selector.matches(device_values("d", Device()))


def test_text_that_grows_in_a_loop_costs() -> None:
    doubling = "cel.bind(a, 'xxxxxxxxxx', {inner})"
    text = "a.size() > 0"
    for _ in range(24):
        text = f"cel.bind(a, a + a, {text})"
    selector = Selector.compile(doubling.format(inner=text))
    with pytest.raises(CelError, match="cost limit"):
        selector.matches(device_values("d", Device()))


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    with pytest.raises(CelError):
        Selector.compile("(" * 2000 + "true" + ")" * 2000).matches({})


def test_an_attribute_without_a_value_is_an_error_whatever_is_asked() -> None:
    device = msgspec.convert({"attributes": {"odd": {}}}, Device)
    with pytest.raises(CelError, match="attribute odd: unsupported attribute value"):
        device_values("d", device)


def test_without_the_library_an_expression_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library.cache_clear()
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    try:
        with pytest.raises(CelError, match="package cel-expr-python, which is not installed"):
            Selector.compile("true")
    finally:
        library.cache_clear()
