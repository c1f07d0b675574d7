"""Label and node selectors: as the API spells them, and compiled once to be asked often."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from fairlead.model.errors import DecodeError
from fairlead.model.validation import InvalidField, label_key_faults, label_value_faults, quoted

NAME_FIELD = "metadata.name"
IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT = "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
_NODE_OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)
_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")


class LabelSelectorRequirement(Struct, rename="camel", frozen=True, gc=False):
    """One entry of matchExpressions."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Struct, rename="camel", frozen=True, gc=False):
    """A selector of objects by labels, as the API spells it."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorRequirement(Struct, rename="camel", frozen=True, gc=False):
    """One entry of a node selector term's matchExpressions or matchFields."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct, rename="camel", frozen=True, gc=False):
    """One alternative of a node selector, as the API spells it."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Struct, rename="camel", frozen=True, gc=False):
    """A selector of nodes, as the API spells it: any of its terms will do."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Struct, rename="camel", frozen=True, gc=False):
    """A preference for nodes, with its weight."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Struct, rename="camel", frozen=True, gc=False):
    """What a pod demands and prefers of nodes; None is absent, an empty list is not."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: (
        tuple[PreferredSchedulingTerm, ...] | None
    ) = None


class Requirement(Struct, frozen=True, gc=False, cache_hash=True):
    """One compiled demand on a set of labels; the values are sorted and distinct."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet the demand; NotIn and DoesNotExist do without the key."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        label, bound = parse_int64(value), parse_int64(self.values[0])
        if label is None or bound is None:
            return False
        return label > bound if self.operator == GT else label < bound


class Selector(Struct, frozen=True, gc=False, cache_hash=True):
    """A compiled label selector; equal if and only if it was made of the same demands.

    All requirements must be met: none at all selects everything. `nothing` is the selector that
    was absent, which selects no object, and is not the same as an empty one.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def everything(self) -> bool:
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def narrowed(self, requirements: Sequence[Requirement]) -> "Selector":
        """This selector with more demands; a selector of nothing stays one."""
        if self.nothing or not requirements:
            return self
        return Selector(_sorted({*self.requirements, *requirements}))


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


class NodeTerm(Struct, frozen=True, gc=False, cache_hash=True):
    """One compiled alternative of a node selector: demands on labels, and on the node's name.

    A term without demands matches no node. One that is not valid, with what is wrong with it in
    `faults`, matches none either; its demands are kept, because PreFilter reads the names of nodes
    in them all the same.
    """

    requirements: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.requirements and not self.fields

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node with these labels and this name meets all demands."""
        if self.faults or self.empty:
            return False
        for requirement in self.requirements:
            if not requirement.matches(labels):
                return False
        return not name or all(_field_matches(field, name) for field in self.fields)


def _field_matches(field: Requirement, name: str) -> bool:
    # A field that is not known reads as empty, as in Go.
    value = name if field.key == NAME_FIELD else ""
    return (value == field.values[0]) == (field.operator == IN)


class RequiredNodeAffinity(Struct, frozen=True, gc=False, cache_hash=True):
    """A compiled node selector: a node has to match one of the terms; without terms none does."""

    terms: tuple[NodeTerm, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node is selected; terms that are not valid do not stand in the others' way."""
        return any(term.matches(labels, name) for term in self.terms)


WeightedTerms = tuple[tuple[int, NodeTerm], ...]


def compile_label_selector(selector: LabelSelector | None) -> Selector:
    """Compile a selector of objects: None selects nothing, an empty one everything.

    Raises DecodeError if it is not valid.
    """
    if selector is None:
        return NOTHING
    requirements = {requirement(key, IN, (value,)) for key, value in selector.match_labels.items()}
    for expression in selector.match_expressions:
        if expression.operator not in (IN, NOT_IN, EXISTS, DOES_NOT_EXIST):
            operator = quoted(expression.operator)
            raise DecodeError(f"{operator} is not a valid label selector operator")
        requirements.add(requirement(expression.key, expression.operator, expression.values))
    return Selector(_sorted(requirements))


def compile_label_map(labels: Mapping[str, str]) -> Selector:
    """The selector of all objects with these labels, not validated: what controllers have."""
    return Selector(_sorted({Requirement(key, IN, (value,)) for key, value in labels.items()}))


def requirement(key: str, operator: str, values: Sequence[str], path: str = "") -> Requirement:
    """A compiled demand on labels, or DecodeError with the API server's words."""
    faults = requirement_faults(key, operator, values, path)
    if faults:
        raise DecodeError(_aggregate(faults))
    return _requirement(key, operator, values)


def _requirement(key: str, operator: str, values: Sequence[str]) -> Requirement:
    return Requirement(key, operator, tuple(sorted(set(values))))


def requirement_faults(
    key: str, operator: str, values: Sequence[str], path: str
) -> tuple[str, ...]:
    """What the API server has to say against a demand on labels; nothing if it is valid."""
    at = f"{path}.values" if path else "values"
    faults = label_key_faults(key, f"{path}.key" if path else "key")
    if operator in (IN, NOT_IN):
        if not values:
            detail = "for 'in', 'notin' operators, values set can't be empty"
            faults.append(InvalidField(at, list(values), detail).text)
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            detail = "values set must be empty for exists and does not exist"
            faults.append(InvalidField(at, list(values), detail).text)
    else:
        if len(values) != 1:
            detail = "for 'Gt', 'Lt' operators, exactly one value is required"
            faults.append(InvalidField(at, list(values), detail).text)
        for index, value in enumerate(values):
            if parse_int64(value) is None:
                detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                faults.append(InvalidField(f"{at}[{index}]", value, detail).text)
    for index, value in enumerate(values):
        faults += label_value_faults(key, value, f"{at}[{index}]")
    return tuple(faults)


def compile_node_selector(selector: NodeSelector) -> RequiredNodeAffinity:
    """Compile a selector of nodes; terms that are not valid stay, and match no node."""
    return RequiredNodeAffinity(
        tuple(
            compile_term(term, f"nodeSelectorTerms[{index}]")
            for index, term in enumerate(selector.node_selector_terms)
        )
    )


def compile_preferred(terms: Sequence[PreferredSchedulingTerm]) -> tuple[WeightedTerms, str]:
    """Compile preferences: weight and term each, and what is wrong with them, "" if nothing is.

    A weight of zero and a term without demands are left out, unread.
    """
    compiled: list[tuple[int, NodeTerm]] = []
    faults: list[str] = []
    for index, preferred in enumerate(terms):
        preference = preferred.preference
        if not preferred.weight or not (preference.match_expressions or preference.match_fields):
            continue
        term = compile_term(preference, f"[{index}]")
        faults += term.faults
        if not term.faults:
            compiled.append((preferred.weight, term))
    return ((), _aggregate(faults)) if faults else (tuple(compiled), "")


def compile_term(term: NodeSelectorTerm, path: str = "") -> NodeTerm:
    """Compile one alternative of a node selector, faults and all."""
    faults: list[str] = []
    for index, demand in enumerate(term.match_expressions):
        at = f"{path}.matchExpressions[{index}]" if path else f"matchExpressions[{index}]"
        if demand.operator in _NODE_OPERATORS:
            faults += requirement_faults(demand.key, demand.operator, demand.values, at)
        else:
            faults.append(_unsupported(f"{at}.operator", demand.operator, _NODE_OPERATORS))
    for index, demand in enumerate(term.match_fields):
        at = f"{path}.matchFields[{index}]" if path else f"matchFields[{index}]"
        if demand.operator not in (IN, NOT_IN):
            faults.append(_unsupported(f"{at}.operator", demand.operator, (IN, NOT_IN)))
        elif len(demand.values) != 1:
            detail = "must have one element"
            faults.append(InvalidField(f"{at}.values", list(demand.values), detail).text)
    return NodeTerm(_compiled(term.match_expressions), _compiled(term.match_fields), tuple(faults))


def _compiled(demands: Sequence[NodeSelectorRequirement]) -> tuple[Requirement, ...]:
    return _sorted({_requirement(d.key, d.operator, d.values) for d in demands})


def _sorted(requirements: set[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(requirements, key=lambda r: (r.key, r.operator, r.values)))


def _unsupported(path: str, operator: str, supported: Sequence[str]) -> str:
    known = ", ".join(f'"{name}"' for name in supported)
    return f"{path}: Unsupported value: {quoted(operator)}: supported values: {known}"


def _aggregate(faults: Sequence[str]) -> str:
    """Go's way to tell several errors as one: each of them once, in brackets."""
    distinct = list(dict.fromkeys(faults))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def parse_int64(text: str) -> int | None:
    """A decimal integer as Go's ParseInt reads it, or None."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
