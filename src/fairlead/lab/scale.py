"""The scale subresource: the number of replicas of a workload, as autoscaling/v1 shows it."""

from __future__ import annotations

from fairlead.lab.decoding import parse, typed
from fairlead.lab.http import Request
from fairlead.lab.objects import Object, nested, with_value
from fairlead.lab.patches import merge_patch
from fairlead.lab.paths import Target
from fairlead.lab.registry import MODIFIED, Registry
from fairlead.lab.status import conflict, invalid_kind, invalid_value


def answer(registry: Registry, request: Request, target: Target, dry_run: bool) -> Object:
    """Show or change the scale of the workload that `target` names."""
    found = registry.get(target.resource, target.namespace, target.name)
    current = _scale_of(found.object)
    if request.method == "GET":
        return current
    given = parse(request.body, "application/json", "Scale")
    if request.method == "PATCH":
        given = merge_patch(current, given)
    wanted = typed(given, "autoscaling", "v1", "Scale")
    version = nested(wanted, "metadata", "resourceVersion")
    if version and version != found.object["metadata"]["resourceVersion"]:
        raise conflict(target.resource, target.name, MODIFIED)
    replicas: int = nested(wanted, "spec", "replicas", default=0)
    if replicas < 0:
        wrong = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid_kind("autoscaling", "Scale", target.name, [wrong])
    value = with_value(found.object, ("spec", "replicas"), replicas)
    if value != found.object:
        generation = found.object["metadata"].get("generation", 0) + 1
        value = with_value(value, ("metadata", "generation"), generation)
    return _scale_of(registry.replace(target.resource, found, value, dry_run).object)


def _scale_of(value: Object) -> Object:
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    selector: Object = nested(value, "spec", "selector", default={})
    replicas: int = nested(value, "spec", "replicas", default=0)
    labels: dict[str, str] = selector.get("matchLabels", selector)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: value["metadata"][key] for key in kept if key in value["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": nested(value, "status", "replicas", default=0),
            "selector": ",".join(f"{key}={each}" for key, each in sorted(labels.items())),
        },
    }
