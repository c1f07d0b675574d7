"""What is wrong with the scheduling constraints of a pod: affinity, spread, tolerations, gates."""

from __future__ import annotations

from fairlead.lab.naming import key_errors, name_errors
from fairlead.lab.objects import Object, nested
from fairlead.lab.status import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    unsupported,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
ACTIONS = ["DoNotSchedule", "ScheduleAnyway"]


def constraint_errors(spec: Object, field: str) -> list[FieldError]:
    """All scheduling constraints of a pod's spec."""
    errors: list[FieldError] = []
    for index, toleration in enumerate(spec.get("tolerations") or []):
        errors += _toleration_errors(toleration, f"{field}.tolerations[{index}]")
    affinity: Object = spec.get("affinity") or {}
    errors += _node_affinity(affinity.get("nodeAffinity") or {}, f"{field}.affinity.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        errors += _pod_affinity(affinity.get(kind) or {}, f"{field}.affinity.{kind}")
    errors += _spread(spec.get("topologySpreadConstraints") or [], field)
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or []):
        where, name = f"{field}.schedulingGates[{index}]", gate.get("name", "")
        errors += key_errors(where, name)
        if name in seen:
            errors.append(duplicate(where, name))
        seen.add(name)
    return errors


def _toleration_errors(toleration: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    key, operator = toleration.get("key", ""), toleration.get("operator") or "Equal"
    if key:
        errors += key_errors(f"{field}.key", key)
    elif operator != "Exists":
        errors.append(
            invalid_value(
                f"{field}.operator",
                operator,
                'operator must be Exists when `key` is empty, which means "match all values and '
                'all keys"',
            )
        )
    if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
        errors.append(
            invalid_value(
                f"{field}.effect",
                toleration.get("effect", ""),
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            )
        )
    if operator not in ("Equal", "Exists", "Lt", "Gt"):
        errors.append(unsupported(f"{field}.operator", operator, ["Equal", "Exists"]))
    if operator == "Exists" and toleration.get("value"):
        errors.append(
            invalid_value(
                f"{field}.operator",
                toleration["value"],
                "value must be empty when `operator` is 'Exists'",
            )
        )
    if toleration.get("effect") and toleration["effect"] not in EFFECTS:
        errors.append(unsupported(f"{field}.effect", toleration["effect"], EFFECTS))
    return errors


def _node_affinity(affinity: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    selector = affinity.get(REQUIRED)
    if selector is not None:
        errors += node_selector_errors(selector, f"{field}.{REQUIRED}")
    for index, preferred in enumerate(affinity.get(PREFERRED) or []):
        where = f"{field}.{PREFERRED}[{index}]"
        errors += _weight(preferred, where)
        errors += _node_term(preferred.get("preference") or {}, f"{where}.preference")
    return errors


def node_selector_errors(selector: Object, field: str) -> list[FieldError]:
    """A `NodeSelector`: at least one term, each with known operators."""
    terms: list[Object] = selector.get("nodeSelectorTerms") or []
    if not terms:
        words = "must have at least one node selector term"
        return [required(f"{field}.nodeSelectorTerms", words)]
    errors: list[FieldError] = []
    for index, term in enumerate(terms):
        errors += _node_term(term, f"{field}.nodeSelectorTerms[{index}]")
    return errors


def _node_term(term: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, each in enumerate(term.get("matchExpressions") or []):
        where = f"{field}.matchExpressions[{index}]"
        errors += _requirement(each, where, numeric=True)
        errors += key_errors(f"{where}.key", each.get("key", ""))
    for index, each in enumerate(term.get("matchFields") or []):
        where = f"{field}.matchFields[{index}]"
        if each.get("operator") not in ("In", "NotIn"):
            errors.append(
                invalid_value(
                    f"{where}.operator", each.get("operator", ""), "not a valid selector operator"
                )
            )
        elif len(each.get("values") or []) != 1:
            errors.append(
                required(
                    f"{where}.values",
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field "
                    "selector",
                )
            )
        if each.get("key") != "metadata.name":
            errors.append(
                invalid_value(f"{where}.key", each.get("key", ""), "not a valid field selector key")
            )
    return errors


def _requirement(requirement: Object, field: str, numeric: bool = False) -> list[FieldError]:
    values: list[str] = requirement.get("values") or []
    match requirement.get("operator", ""):
        case "In" | "NotIn":
            if not values:
                words = "must be specified when `operator` is 'In' or 'NotIn'"
                return [required(f"{field}.values", words)]
        case "Exists" | "DoesNotExist":
            if values:
                words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                return [forbidden_field(f"{field}.values", words)]
        case "Gt" | "Lt" if numeric:
            if len(values) != 1:
                words = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                return [required(f"{field}.values", words)]
        case other:
            return [invalid_value(f"{field}.operator", other, "not a valid selector operator")]
    return []


def _weight(preferred: Object, field: str) -> list[FieldError]:
    weight: int = preferred.get("weight", 0)
    if 0 < weight <= 100:
        return []
    return [invalid_value(f"{field}.weight", weight, "must be in the range 1-100")]


def _pod_affinity(affinity: Object, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, term in enumerate(affinity.get(REQUIRED) or []):
        errors += _pod_term(term, f"{field}.{REQUIRED}[{index}]")
    for index, preferred in enumerate(affinity.get(PREFERRED) or []):
        where = f"{field}.{PREFERRED}[{index}]"
        errors += _weight(preferred, where)
        errors += _pod_term(preferred.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")
    return errors


def _pod_term(term: Object, field: str) -> list[FieldError]:
    errors = selector_errors(term.get("labelSelector"), f"{field}.labelSelector")
    errors += selector_errors(term.get("namespaceSelector"), f"{field}.namespaceSelector")
    for index, name in enumerate(term.get("namespaces") or []):
        errors += name_errors(f"{field}.namespaces[{index}]", name, label=True)
    key: str = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{field}.topologyKey", "can not be empty"))
    return errors + key_errors(f"{field}.topologyKey", key)


def selector_errors(selector: Object | None, field: str) -> list[FieldError]:
    """A `LabelSelector`: known operators with the values that they need."""
    errors: list[FieldError] = []
    for index, each in enumerate(nested(selector or {}, "matchExpressions", default=[])):
        where = f"{field}.matchExpressions[{index}]"
        errors += _requirement(each, where)
        errors += key_errors(f"{where}.key", each.get("key", ""))
    for key in nested(selector or {}, "matchLabels", default={}):
        errors += key_errors(f"{field}.matchLabels", key)
    return errors


def _spread(constraints: list[Object], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    pairs: list[tuple[str, str]] = []
    for index, each in enumerate(constraints):
        where = f"{field}.topologySpreadConstraints[{index}]"
        key, action = each.get("topologyKey", ""), each.get("whenUnsatisfiable", "")
        if each.get("maxSkew", 0) <= 0:
            wrong = invalid_value(
                f"{where}.maxSkew", each.get("maxSkew", 0), "must be greater than zero"
            )
            errors.append(wrong)
        if not key:
            errors.append(required(f"{where}.topologyKey", "can not be empty"))
        if action not in ACTIONS:
            errors.append(unsupported(f"{where}.whenUnsatisfiable", action, ACTIONS))
        if "minDomains" in each:
            errors += _least_domains(each["minDomains"], action, f"{where}.minDomains")
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if policy in each and each[policy] not in ("Ignore", "Honor"):
                errors.append(unsupported(f"{where}.{policy}", each[policy], ["Ignore", "Honor"]))
        errors += selector_errors(each.get("labelSelector"), f"{where}.labelSelector")
        if (key, action) in pairs:
            first = f"{field}.topologySpreadConstraints[{pairs.index((key, action))}]"
            pair = f"{first}.{{topologyKey, whenUnsatisfiable}}"
            errors.append(duplicate(pair, f"{{{key}, {action}}}"))
        pairs.append((key, action))
    return errors


def _least_domains(least: int, action: str, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if least <= 0:
        errors.append(invalid_value(field, least, "must be greater than zero"))
    if action != "DoNotSchedule":
        words = (
            "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "
            f"{action or 'ScheduleAnyway'}"
        )
        errors.append(invalid_value(field, least, words))
    return errors
