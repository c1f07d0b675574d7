"""The forms that do not evaluate all of their operands, or bind variables.

Each is made from its call and the function that compiles trees; None if the call is another's.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fairlead.model.cel.operators import truth
from fairlead.model.cel.scope import CostExceededError, Scope, Step, attempt, iterated
from fairlead.model.cel.syntax import Call, Ident, Node
from fairlead.model.cel.values import NO_OVERLOAD, CelError, Optional

Compile = Callable[[Node], Step]
Form = Callable[[Call, Compile], Step | None]


def deciding(word: bool) -> Form:
    """`&&` and `||`: the deciding word on either side wins, also over a fault on the other."""

    def make(node: Call, compiled: Compile) -> Step:
        sides = [compiled(each) for each in node.args]

        def evaluate(scope: Scope) -> bool:
            fault: CelError | None = None
            for side in sides:
                try:
                    value = side(scope)
                except CostExceededError:
                    raise
                except CelError as problem:
                    fault = fault or problem
                    continue
                if value is word:
                    return word
                if not isinstance(value, bool):
                    fault = fault or CelError(NO_OVERLOAD)
            if fault is not None:
                raise fault
            return not word

        return evaluate

    return make


def condition(node: Call, compiled: Compile) -> Step:
    asked, yes, no = [compiled(each) for each in node.args]
    return lambda scope: yes(scope) if truth(asked(scope)) else no(scope)


def not_strictly_false(node: Call, compiled: Compile) -> Step:
    (inner,) = [compiled(each) for each in node.args]
    return lambda scope: attempt(inner, scope) is not False


def otherwise(unwrap: bool) -> Form:
    """`optional.or(optional)` and `optional.orValue(value)`."""

    def make(node: Call, compiled: Compile) -> Step | None:
        if node.target is None:
            return None
        target, other = compiled(node.target), compiled(node.args[0])

        def evaluate(scope: Scope) -> Any:
            value = target(scope)
            if not isinstance(value, Optional):
                raise CelError(NO_OVERLOAD)
            if not value.present:
                return other(scope)
            return value.value if unwrap else value

        return evaluate

    return make


def over_pairs(gather: Callable[[list[Any]], Any]) -> Form:
    """A macro with two variables: each answer of its last operand, put together by `gather`.

    With one operand more, that one chooses the entries.
    """

    def make(node: Call, compiled: Compile) -> Step | None:
        if node.target is None or not all(isinstance(each, Ident) for each in node.args[:2]):
            return None
        first, second = (each.name for each in node.args[:2] if isinstance(each, Ident))
        over, *rest = [compiled(each) for each in (node.target, *node.args[2:])]
        last, filters = rest[-1], rest[:-1]

        def evaluate(scope: Scope) -> Any:
            pairs, _ = iterated(over(scope))
            outer = scope.names
            answers: list[Any] = []
            try:
                for key, item in pairs:
                    scope.names = {**outer, first: key, second: item}
                    scope.spend(10)
                    if all(truth(choose(scope)) for choose in filters):
                        answers.append((key, attempt(last, scope)))
            finally:
                scope.names = outer
            return gather(answers)

        return evaluate

    return make


def any_is(word: bool) -> Callable[[list[Any]], bool]:
    def gather(answers: list[Any]) -> bool:
        values = [value for _, value in answers]
        if any(value is word for value in values):
            return word
        for value in values:
            settled(value)
        return not word

    return gather


def settled(value: Any) -> Any:
    if isinstance(value, CelError):
        raise value
    return value


def just_one(answers: list[Any]) -> bool:
    return sum(truth(settled(value)) for _, value in answers) == 1


def entries(answers: list[Any]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for _, value in answers:
        for key, item in settled(value).items():
            if key in made:
                raise CelError(f"insert failed: key '{key}' already exists")
            made[key] = item
    return made


def items(answers: list[Any]) -> list[Any]:
    return [settled(value) for _, value in answers]


def by_key(answers: list[Any]) -> dict[Any, Any]:
    return {key: settled(value) for key, value in answers}


FORMS: Mapping[tuple[str, int], Form] = MappingProxyType(
    {
        ("_&&_", 2): deciding(False),
        ("_||_", 2): deciding(True),
        ("_?_:_", 3): condition,
        ("@not_strictly_false", 1): not_strictly_false,
        ("or", 2): otherwise(unwrap=False),
        ("orValue", 2): otherwise(unwrap=True),
        ("all", 4): over_pairs(any_is(False)),
        ("exists", 4): over_pairs(any_is(True)),
        ("existsOne", 4): over_pairs(just_one),
        ("exists_one", 4): over_pairs(just_one),
        ("transformList", 4): over_pairs(items),
        ("transformList", 5): over_pairs(items),
        ("transformMap", 4): over_pairs(by_key),
        ("transformMap", 5): over_pairs(by_key),
        ("transformMapEntry", 4): over_pairs(entries),
        ("transformMapEntry", 5): over_pairs(entries),
    }
)
"""By function and number of operands, the value that it is called on included."""
