"""Label and field selectors of list and watch requests, compiled once to a test."""

from __future__ import annotations

import re
from collections.abc import Callable

from fairlead.lab.objects import Object, nested
from fairlead.lab.resources import Resource
from fairlead.lab.status import bad_request

Test = Callable[[Object], bool]

_TERM = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<missing>[^\s,=!()]+)"
    r"|(?P<set_key>[^\s,=!()]+)\s+(?P<set_op>in|notin)\s*\((?P<values>[^)]*)\)"
    r"|(?P<key>[^\s,=!()<>]+)\s*(?P<op>==|!=|=|<|>)\s*(?P<value>[^\s,=!()]*)"
    r"|(?P<present>[^\s,=!()<>]+))\s*(?:,|$)"
)

UNCONVERTED = ("replicasets.apps",)
FIELDS = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "jobs.batch": ("status.successful",),
    "replicasets.apps": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
    "services": ("spec.clusterIP", "spec.type"),
    "resourceslices.resource.k8s.io": ("spec.nodeName", "spec.driver"),
}


def label_selector(text: str) -> Test | None:
    """The test that `labelSelector` means; None when it selects everything."""
    terms = [_label_term(match) for match in _terms(text)]
    if not terms:
        return None

    def test(value: Object) -> bool:
        labels: dict[str, str] = nested(value, "metadata", "labels", default={})
        return all(term(labels) for term in terms)

    return test


def _terms(text: str) -> list[re.Match[str]]:
    position, found = 0, list[re.Match[str]]()
    stripped = text.strip()
    while position < len(stripped):
        match = _TERM.match(stripped, position)
        if match is None:
            raise bad_request(
                f'unable to parse requirement: found "{stripped[position:]}", '
                "expected: ',' or 'end of string'"
            )
        found.append(match)
        position = match.end()
    return found


def _label_term(match: re.Match[str]) -> Callable[[dict[str, str]], bool]:
    part = match.groupdict()
    if part["absent"]:
        return lambda labels: part["missing"] not in labels
    if part["set_op"]:
        values = {each.strip() for each in part["values"].split(",")}
        key, wanted = part["set_key"], part["set_op"] == "in"
        if wanted:
            return lambda labels: labels.get(key) in values if key in labels else False
        return lambda labels: labels.get(key) not in values
    if part["present"]:
        return lambda labels: part["present"] in labels
    key, value, operator = part["key"], part["value"], part["op"]
    if operator in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    return _ordered(key, value, operator)


def _ordered(key: str, value: str, operator: str) -> Callable[[dict[str, str]], bool]:
    if not re.fullmatch(r"-?\d+", value):
        raise bad_request(
            f'unable to parse requirement: values[0]: Invalid value: "{value}": '
            "for 'Gt', 'Lt' operators, "
            "the value must be an integer"
        )
    bound = int(value)

    def test(labels: dict[str, str]) -> bool:
        found = labels.get(key, "")
        if not re.fullmatch(r"-?\d+", found):
            return False
        return int(found) > bound if operator == ">" else int(found) < bound

    return test


def matches_label_selector(selector: Object | None, labels: dict[str, str]) -> bool:
    """Whether a `metav1.LabelSelector` selects `labels`; null selects nothing, empty everything."""
    if selector is None:
        return False
    wanted: dict[str, str] = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    expressions: list[Object] = selector.get("matchExpressions") or []
    return all(_expression_holds(each, labels) for each in expressions)


def _expression_holds(expression: Object, labels: dict[str, str]) -> bool:
    key: str = expression["key"]
    values: list[str] = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def field_selector(text: str, resource: Resource) -> Test | None:
    """The test that `fieldSelector` means for `resource`, in the stored form of its objects."""
    tests: list[Test] = []
    for term in filter(None, text.split(",")):
        match = re.fullmatch(r"([^=!]+)(==|!=|=)(.*)", term)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        field, operator, value = match.groups()
        tests.append(_field_test(_stored_field(field, resource), operator != "!=", value))
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else lambda each: all(test(each) for test in tests)


def _stored_field(field: str, resource: Resource) -> str:
    if resource.namespaced and field == "metadata.namespace":
        return field
    if field == "metadata.name":
        return field
    known = FIELDS.get(resource.stored_as, ())
    if resource.group == "events.k8s.io":
        renamed = {"regarding." + each.split(".")[1]: each for each in known if "." in each}
        renamed |= {"reportingController": "reportingComponent", "reason": "reason", "type": "type"}
        if field in renamed:
            return renamed[field]
    elif field in known:
        return field
    if resource.stored_as in FIELDS and resource.stored_as not in UNCONVERTED:
        raise bad_request(f"field label not supported: {field}")
    known = ("metadata.name", "metadata.namespace") if resource.namespaced else ("metadata.name",)
    names = ", ".join(f'"{each}"' for each in known)
    raise bad_request(f'"{field}" is not a known field selector: only {names}')


def _field_test(field: str, equal: bool, value: str) -> Test:
    if field == "source":
        return lambda each: (nested(each, "source", "component", default="") == value) == equal
    path = tuple(field.split("."))

    def test(each: Object) -> bool:
        found = nested(each, *path, default="")
        if found is True or found is False:
            found = "true" if found else "false"
        elif not found and path[-1] in ("unschedulable", "hostNetwork"):
            found = "false"
        elif not found and path[-1] in ("successful", "replicas"):
            found = "0"
        return (str(found) == value) == equal

    return test


def both(first: Test | None, second: Test | None) -> Test | None:
    """The test that asks both."""
    if first is None or second is None:
        return first or second
    return lambda value: first(value) and second(value)
