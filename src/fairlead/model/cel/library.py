"""What cel-expr-python does for us: it parses, expands macros, checks types, and has the functions
of the language itself, each asked for by itself.

It is imported when the first expression comes: most clusters have none. Its own evaluation is not
used: it has no limit of costs, hands no values of our own types to functions, and knows no map
that is empty where a key is missing (designs/0004-device-expressions.md).
"""

import functools
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from fairlead.model.cel.declarations import DECLARED, VARIABLES
from fairlead.model.cel.syntax import Node, Select, Uint, tree_of
from fairlead.model.cel.values import NO_OVERLOAD, CelError

ABSENT = "device selectors need the package cel-expr-python, which is not installed for this Python"
PLAIN = (str, bytes, bool, int, float, list, dict, type(None), datetime, timedelta)

_WRAPPING = re.compile(r"\A[A-Z_]+: |(?: \[[A-Z_]+\])\Z")
_NO_FIELD = re.compile(r"undeclared reference to 'device\.(\w+)' \(in container ''\)")
_NO_MATCH = re.compile(r"found no matching overload for '([^']+)' applied to '(.*)'")
_UNBOUND = re.compile(r"undeclared reference to '(\w+)'")
_NUMBERS = re.compile(r"\((?:int|uint|double), (?:int|uint|double)\)")
INEXPRESSIBLE: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        **dict.fromkeys(["_<_", "_<=_", "_>_", "_>=_"], _NUMBERS),
        **dict.fromkeys(
            ["indexOf", "lastIndexOf", "reverse", "first", "last"], re.compile(r"list\(.*")
        ),
        "string": re.compile(r"\(kubernetes\..*"),
    }
)
"""Functions of which Kubernetes has more forms than the library's checker can be told."""
TWO_VARIABLES = re.compile(
    r"\.(all|exists|existsOne|exists_one|transform\w+)\(\s*(\w+)\s*,\s*(\w+)\s*,"
)


class Library:
    """The library, made ready once. Raises CelError if it is not there."""

    def __init__(self) -> None:
        try:
            from cel_expr_python import cel
            from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings
        except ImportError:
            raise CelError(ABSENT) from None
        self._cel: Any = cel
        self._extensions = [
            ext_bindings.ExtBindings(),
            ext_optional.ExtOptional(),
            ext_strings.ExtStrings(),
        ]
        self._checking = self._environment()
        self._calls: dict[tuple[str, bool, int], Any] = {}

    def parse(self, text: str) -> Node:
        """The tree of an expression that is well formed and well typed."""
        try:
            parsed = self._checking.compile(text, disable_check=True)
        except (RuntimeError, UnicodeError) as problem:
            raise CelError(f"compilation failed: {told(problem)}") from None
        tree = tree_of(parsed.serialize())
        self._check(text, tree)
        return tree

    def call(self, function: str, args: Sequence[Any], *, member: bool) -> Any:
        """One function of the language, by the library."""
        if not all(isinstance(each, PLAIN) and not isinstance(each, Uint) for each in args):
            raise CelError(NO_OVERLOAD)
        try:
            made = self._calls.get((function, member, len(args)))
            if made is None:
                made = self._calls[function, member, len(args)] = self._make(
                    function, len(args), member=member
                )
            environment, expression = made
            data = {f"a{at}": value for at, value in enumerate(args)}
            result = expression.eval(environment.Activation(data))
            if str(result.type()) == "ERROR":
                raise CelError(runtime_words(str(result.value())))
            return result.plain_value()
        except (RuntimeError, OverflowError, UnicodeError) as problem:
            raise CelError(runtime_words(told(problem))) from None

    def _make(self, function: str, count: int, *, member: bool) -> tuple[Any, Any]:
        names = [f"a{at}" for at in range(count)]
        dyn = self._cel.Type.DYN
        environment = self._cel.NewEnv(
            variables=dict.fromkeys(names, dyn), extensions=self._extensions
        )
        target = f"{names.pop(0)}." if member else ""
        return environment, environment.compile(f"{target}{function}({', '.join(names)})")

    def _environment(self) -> Any:
        """The variables and functions of Kubernetes, for the checker."""
        cel, kinds = self._cel, self._cel.Type
        opaque = {
            name: kinds.AbstractType(f"kubernetes.{name}")
            for name in ("Quantity", "Semver", "IP", "CIDR", "URL")
        }

        def kind(name: str) -> Any:
            if name.startswith("list "):
                return kinds.List(kind(name[5:]))
            if name.startswith("map "):
                return kinds.Map(kinds.STRING, kind(name[4:]))
            return opaque.get(name) or getattr(kinds, name)

        functions = [
            cel.FunctionDecl(
                name,
                [
                    cel.Overload(
                        f"{name}_{at}",
                        return_type=kind(result),
                        parameters=[kind(each) for each in parameters],
                        is_member=member,
                    )
                    for at, (member, parameters, result) in enumerate(overloads)
                ],
            )
            for name, overloads in DECLARED.items()
        ]
        variables = {name: kind(of) for name, of in VARIABLES.items()}
        return cel.NewEnv(variables=variables, extensions=self._extensions, functions=functions)

    def _check(self, text: str, tree: Node) -> None:
        try:
            kind = str(self._checking.compile(text).return_type())
        except RuntimeError as problem:
            fault = told(problem)
            if all(beyond(line, text) for line in fault.split("ERROR: <input>:")[1:]):
                return
            fault = _NO_FIELD.sub(r"undefined field '\1'", fault)
            raise CelError(f"compilation failed: {fault}") from None
        # The checker knows `device.driver` as one name, and takes has() of it for its value.
        has = isinstance(tree, Select) and tree.test
        if kind not in ("BOOL", "DYN", "ERROR") and not has:
            shown = kind.lower()
            raise CelError(f"must evaluate to bool or the unknown type, not {shown}")


def told(problem: BaseException) -> str:
    """The library's words without its codes."""
    return _WRAPPING.sub("", str(problem))


def beyond(line: str, text: str) -> bool:
    """Whether the fault is one that only the library's checker sees."""
    unmatched = _NO_MATCH.search(line)
    if unmatched is not None:
        form = INEXPRESSIBLE.get(unmatched[1])
        return form is not None and form.search(unmatched[2]) is not None
    unbound = _UNBOUND.search(line)
    own = {name for found in TWO_VARIABLES.finditer(text) for name in found.groups()}
    return unbound is not None and unbound[1] in own


def runtime_words(fault: str) -> str:
    """A fault at run time as cel-go words it."""
    fault = told(RuntimeError(fault))
    if fault.startswith("No matching overload"):
        return NO_OVERLOAD
    conversion = re.fullmatch(r"cannot convert (\w+) to (\w+)", fault)
    if conversion is not None:
        return f"type conversion error from '{conversion[1]}' to '{conversion[2]}'"
    return fault


@functools.cache
def library() -> Library:
    """The one library of the process."""
    return Library()
