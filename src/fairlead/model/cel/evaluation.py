"""Evaluation: a tree becomes nested functions once, and these are called for each device.

Faults are values in CEL: `false && fault` is false. They are raised here, and the operators that
may swallow them do. What a loop does is counted, and an expression that does too much ends.
"""

from collections.abc import Callable
from typing import Any

from fairlead.model.cel.forms import FORMS
from fairlead.model.cel.functions import GLOBAL, MEMBERS
from fairlead.model.cel.library import library
from fairlead.model.cel.operators import MISSING, OPERATORS, found, optionally
from fairlead.model.cel.scope import Scope, Step, attempt, iterated
from fairlead.model.cel.syntax import (
    Call,
    Const,
    Ident,
    ListLiteral,
    Loop,
    MapLiteral,
    Node,
    Select,
)
from fairlead.model.cel.values import (
    NO_OVERLOAD,
    CelError,
    Optional,
    Type,
    no_such_key,
    type_name,
)

OVERLOADED = frozenset(["compareTo", "isLessThan", "isGreaterThan", "add", "sub"])
"""Functions of several types of ours: cel-go names what it had no function for."""
TYPE_NAMES = frozenset(
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"]
)


def compiled(node: Node) -> Step:
    """The function that evaluates the tree."""
    match node:
        case Const(value):
            return lambda _scope: value
        case Ident(name):
            return identifier(name)
        case Select():
            return selection(node)
        case Call():
            return call(node)
        case ListLiteral():
            return list_of(node)
        case MapLiteral():
            return map_of(node)
        case Loop():
            return loop(node)


def identifier(name: str) -> Step:
    def evaluate(scope: Scope) -> Any:
        if name in scope.names:
            value = scope.names[name]
            if isinstance(value, CelError):
                raise value
            return value
        if name in TYPE_NAMES:
            return Type(name)
        raise CelError(f"no such attribute(s): {name}")

    return evaluate


def selection(node: Select) -> Step:
    operand, field = compiled(node.operand), node.field

    def evaluate(scope: Scope) -> Any:
        container = operand(scope)
        if isinstance(container, dict):
            try:
                return container[field]
            except KeyError:
                raise no_such_key(field) from None
        if isinstance(container, Optional):
            return optionally(container, field)
        raise no_such_key(field)

    def has(scope: Scope) -> bool:
        container = operand(scope)
        if isinstance(container, Optional):
            return optionally(container, field).present
        return found(container, field) is not MISSING

    return has if node.test else evaluate


def call(node: Call) -> Step:
    name = node.function
    special = FORMS.get((name, len(node.args) + (node.target is not None)))
    if special is not None:
        form = special(node, compiled)
        if form is not None:
            return form
    operator = OPERATORS.get((name, len(node.args))) if node.target is None else None
    if operator is not None:
        return operation(name, operator, [compiled(each) for each in node.args])
    function = None
    target = node.target
    if target is None:
        function = GLOBAL.get(name)
    else:
        space = dotted(target)
        if f"{space}.{name}" in GLOBAL or space == "strings":
            target, name = None, f"{space}.{name}"
            function = GLOBAL.get(name)
        else:
            function = MEMBERS.get(name)
    operands = [compiled(each) for each in (*((target,) if target else ()), *node.args)]
    return application(name, function, operands, member=target is not None)


def dotted(node: Node) -> str:
    return node.name if isinstance(node, Ident) else ""


def operation(name: str, operator: Callable[..., Any], operands: list[Step]) -> Step:
    if len(operands) == 1:
        (only,) = operands
        return lambda scope: operator(only(scope))
    one, other = operands
    if name != "_+_":
        return lambda scope: operator(one(scope), other(scope))

    def concatenate(scope: Scope) -> Any:
        result = operator(one(scope), other(scope))
        if isinstance(result, str | bytes | list):
            scope.spend(len(result) // 10)
        return result

    return concatenate


def application(
    name: str, function: Callable[..., Any] | None, operands: list[Step], *, member: bool
) -> Step:
    def evaluate(scope: Scope) -> Any:
        args = [operand(scope) for operand in operands]
        scope.spend(1 + sum(len(a) for a in args if isinstance(a, str | list | dict)) // 10)
        if function is not None:
            try:
                return function(*args)
            except TypeError:
                raise CelError(NO_OVERLOAD) from None
            except CelError as problem:
                if str(problem) != NO_OVERLOAD:
                    raise
                if name in OVERLOADED:
                    kinds = ", ".join(map(type_name, args))
                    raise CelError(f"{NO_OVERLOAD}: {name}({kinds})") from None
        return library().call(name, args, member=member)

    return evaluate


def list_of(node: ListLiteral) -> Step:
    parts = [(compiled(each), at in node.optional) for at, each in enumerate(node.elements)]

    def evaluate(scope: Scope) -> list[Any]:
        items: list[Any] = []
        for part, optional in parts:
            value = part(scope)
            if not optional:
                items.append(value)
            elif value.present:
                items.append(value.value)
        return items

    return evaluate


def map_of(node: MapLiteral) -> Step:
    if node.message:
        raise CelError(f"compilation failed: undeclared reference to '{node.message}'")
    parts = [(compiled(key), compiled(value), optional) for key, value, optional in node.entries]

    def evaluate(scope: Scope) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key_of, value_of, optional in parts:
            key, value = key_of(scope), value_of(scope)
            if key in made:
                raise CelError(f"insert failed: key '{key}' already exists")
            if not optional:
                made[key] = value
            elif value.present:
                made[key] = value.value
        return made

    return evaluate


def weight(node: Node) -> int:
    """How many steps an evaluation takes, without what its loops do."""
    match node:
        case Select(operand):
            return 1 + weight(operand)
        case Call(_, target, args):
            return 1 + sum(map(weight, args)) + (weight(target) if target is not None else 0)
        case ListLiteral(elements):
            return 10 + sum(map(weight, elements))
        case MapLiteral(entries):
            return 30 + sum(weight(key) + weight(value) for key, value, _ in entries)
        case Loop():
            return weight(node.over) + weight(node.start) + weight(node.result)
        case _:
            return int(isinstance(node, Ident))


def loop(node: Loop) -> Step:
    over, start = compiled(node.over), compiled(node.start)
    condition, step, result = map(compiled, (node.condition, node.step, node.result))
    cost = weight(node.condition) + weight(node.step)
    variable, second, total = node.variable, node.second, node.total

    def evaluate(scope: Scope) -> Any:
        pairs, keyed = iterated(over(scope))
        outer = scope.names
        names = scope.names = {**outer, total: attempt(start, scope)}
        try:
            for key, item in pairs:
                if second:
                    names[variable], names[second] = key, item
                else:
                    names[variable] = key if keyed else item
                scope.spend(cost)
                if condition(scope) is False:
                    break
                names[total] = attempt(step, scope)
            return result(scope)
        finally:
            scope.names = outer

    return evaluate
