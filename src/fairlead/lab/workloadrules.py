"""What is wrong with objects that make or guard pods: ReplicaSets, Jobs, budgets and their like."""

from __future__ import annotations

import re
from typing import Any

from fairlead.lab.constraints import selector_errors
from fairlead.lab.naming import label_errors
from fairlead.lab.objects import Object, nested
from fairlead.lab.podspec import pod_spec_errors
from fairlead.lab.selectors import matches_label_selector
from fairlead.lab.status import FieldError, invalid_value, required, unsupported

UNSELECTED = "`selector` does not match template `labels`"
NOT_NEGATIVE = "must be greater than or equal to 0"
PERCENT_WORDS = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"


def template_errors(value: Object) -> list[FieldError]:
    """The template of a workload, and that its selector selects what it makes."""
    spec: Object = value["spec"]
    labels: dict[str, str] = nested(spec, "template", "metadata", "labels", default={})
    errors = _selector(spec.get("selector"), labels)
    errors += label_errors("spec.template.labels", labels)
    return errors + pod_spec_errors(spec["template"]["spec"], "spec.template.spec")


def _selector(selector: Any, labels: dict[str, str]) -> list[FieldError]:
    mismatch = invalid_value("spec.template.metadata.labels", labels, UNSELECTED)
    if selector is None:
        return [required("spec.selector"), mismatch]
    if not selector:
        words = "empty selector is invalid for deployment"
        return [invalid_value("spec.selector", selector, words)]
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    errors = selector_errors(selector, "spec.selector")
    if not errors and not matches_label_selector(selector, labels):
        errors.append(mismatch)
    return errors


def replica_errors(value: Object) -> list[FieldError]:
    """A workload whose pods run for ever."""
    errors = _not_negative(value["spec"], "replicas", "minReadySeconds", "revisionHistoryLimit")
    errors += template_errors(value)
    policy = value["spec"]["template"]["spec"].get("restartPolicy")
    if policy != "Always":
        errors.append(unsupported("spec.template.spec.restartPolicy", policy, ["Always"]))
    return errors


def _not_negative(spec: Object, *fields: str) -> list[FieldError]:
    return [
        invalid_value(f"spec.{field}", spec[field], NOT_NEGATIVE)
        for field in fields
        if spec.get(field, 0) < 0
    ]


def job_errors(job: Object) -> list[FieldError]:
    """A Job: counts, index mode, selector of its own making, pods that can end."""
    spec: Object = job["spec"]
    errors = _not_negative(spec, "parallelism", "completions", "backoffLimit")
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        errors.append(required("spec.completions", "when completion mode is Indexed"))
    own = {"matchLabels": {CONTROLLER_UID: job["metadata"]["uid"]}}
    if not spec.get("manualSelector") and spec.get("selector") != own:
        words = "`selector` not auto-generated"
        errors.append(invalid_value("spec.selector", spec.get("selector"), words))
    errors += template_errors(job)
    if spec["template"]["spec"].get("restartPolicy") not in ("Never", "OnFailure"):
        words = 'valid values: "OnFailure", "Never"'
        errors.append(required("spec.template.spec.restartPolicy", words))
    return errors


def budget_errors(budget: Object) -> list[FieldError]:
    """A PodDisruptionBudget: one bound, a number or a percentage."""
    spec: Object = budget.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        words = "minAvailable and maxUnavailable cannot be both set"
        return [invalid_value("spec", shown, words)]
    errors: list[FieldError] = []
    for field in ("minAvailable", "maxUnavailable"):
        bound = spec.get(field)
        if isinstance(bound, int) and bound < 0:
            errors.append(invalid_value(f"spec.{field}", bound, NOT_NEGATIVE))
        elif isinstance(bound, str) and not re.fullmatch(r"[0-9]+%", bound):
            errors.append(invalid_value(f"spec.{field}", bound, PERCENT_WORDS))
    return errors + selector_errors(spec.get("selector"), "spec.selector")
