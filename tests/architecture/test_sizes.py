"""How large modules and functions may be, and the few that are larger: a ratchet.

A number in LARGER may only go down, and its line goes away when it is no longer needed: the test
fails for a line that allows more than there is.
"""

from __future__ import annotations

import ast

from tests.architecture.sources import ROOT, files, functions, tree

MODULE_LINES = 400
FUNCTION_LINES = 50
PARAMETERS = 7

# The file that the product's name leads to stays a table of contents.
OWN_LIMIT = {"src/fairlead/scheduler.py": 200}

LARGER: dict[str, int] = {
    # one for each option of the command line
    "parameters of src/fairlead/cli/run.py::run": 9,
    # one, with a default, for each thing that a test may want to be otherwise
    "parameters of tests/builders.py::node": 12,
    "parameters of tests/builders.py::pod": 16,
    "lines of tests/builders.py::pod": 51,
    "parameters of tests/devices.py::claim": 8,
    # a case is one sequence of draws, and their order is the case
    "lines of tests/oracle/cases/devices.py::dra": 78,
    "lines of tests/oracle/cases/neighbours.py::selecting_owners": 55,
    "lines of tests/oracle/cases/neighbours.py::spread": 78,
    "lines of tests/oracle/cases/neighbours.py::interpod": 54,
    "lines of tests/oracle/cases/preemption.py::preemption": 66,
    "lines of tests/oracle/cases/resources.py::strategies": 73,
    "lines of tests/oracle/cases/together.py::fleet": 69,
    "lines of tests/oracle/cases/together.py::application": 86,
    # one, with a default, for each part of an object that a case may want to be otherwise
    "parameters of tests/oracle/cases/objects.py::pod": 9,
    "parameters of tests/oracle/cases/storage.py::Storage.volume": 9,
    "parameters of tests/oracle/cases/storage.py::Storage.claim": 9,
}


def parameters(function: ast.FunctionDef) -> int:
    every = function.args
    named = [*every.posonlyargs, *every.args, *every.kwonlyargs]
    own = bool(named) and named[0].arg in {"self", "cls"}
    return len(named) - own + (every.vararg is not None) + (every.kwarg is not None)


def measured(name: str) -> dict[str, int]:
    """What is over its limit in this file, by a name that says what and where."""
    over: dict[str, int] = {}
    lines = len((ROOT / name).read_text().splitlines())
    if lines > OWN_LIMIT.get(name, MODULE_LINES):
        over[f"lines of {name}"] = lines
    for path, function in functions(tree(name)):
        assert function.end_lineno is not None
        lines = function.end_lineno - function.lineno + 1
        if lines > FUNCTION_LINES:
            over[f"lines of {name}::{path}"] = lines
        if parameters(function) > PARAMETERS:
            over[f"parameters of {name}::{path}"] = parameters(function)
    return over


def test_nothing_is_larger_than_allowed_and_no_more_is_allowed_than_there_is() -> None:
    found: dict[str, int] = {}
    for name in files("*.py"):
        found |= measured(name)
    assert found == LARGER
