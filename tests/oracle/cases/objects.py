"""Kubernetes objects and scheduler configurations."""

from __future__ import annotations

from typing import Any

from .basics import CPU, MEMORY, Dice, Json, Need, quantities, scaled, split


def meta(kind: str, name: str, namespace: str | None = None, **fields: Any) -> Json:
    uid = "-".join(filter(None, (kind.lower(), namespace, name)))
    out: Json = {"name": name, "uid": uid}
    if namespace:
        out["namespace"] = namespace
    return out | {key: value for key, value in fields.items() if value}


def thing(
    api: str,
    kind: str,
    name: str,
    namespace: str | None = None,
    *,
    metadata: Json | None = None,
    **parts: Any,
) -> Json:
    """Make an object; parts that are None are left out."""
    out: Json = {
        "apiVersion": api,
        "kind": kind,
        "metadata": meta(kind, name, namespace, **(metadata or {})),
    }
    return out | {key: part for key, part in parts.items() if part is not None}


def container(d: Dice, name: str, need: Need | None = None, **fields: Any) -> Json:
    """A container that requests these amounts, with limits where the API wants them."""
    out: Json = {"name": name, "image": fields.pop("image", "registry.example/app:1.0")}
    if need:
        resources: Json = {"requests": quantities(d, need)}
        fixed = {r: amount for r, amount in need.items() if "/" in r or r.startswith("hugepages-")}
        loose = (
            {r: amount * 2 for r, amount in need.items() if r not in fixed} if d.chance(0.2) else {}
        )
        if fixed or loose:
            resources["limits"] = {
                **{r: resources["requests"][r] for r in fixed},
                **quantities(d, loose),
            }
        out["resources"] = resources
    return out | fields


SHAPES = ("plain", "many", "init", "sidecar", "overhead", "pod-level", "restartable-last")


def shaped(d: Dice, need: Need, shape: str) -> Json:
    """Make a pod spec that in total requests exactly the given amounts."""
    pod_level = {r: amount for r, amount in need.items() if r in (CPU, MEMORY)}
    if shape == "many":
        parts = split(d, need, d.randint(2, 4))
        return {"containers": [container(d, f"c{i}", part) for i, part in enumerate(parts)]}
    if shape == "init":
        steps = [need, *(scaled(need, d.random()) for _ in range(d.randint(0, 2)))]
        d.shuffle(steps)
        return {
            "initContainers": [container(d, f"init{i}", step) for i, step in enumerate(steps)],
            "containers": [container(d, "main", scaled(need, d.choice((0.25, 0.5, 1))))],
        }
    if shape in ("sidecar", "restartable-last"):
        # The first part runs beside the rest for the whole life of the pod.
        beside, rest = split(d, need, 2)
        side = container(d, "side", beside, restartPolicy="Always")
        setup = container(d, "setup", rest)
        main = container(d, "main", rest if d.chance(0.5) else scaled(rest, 0.5))
        if shape == "sidecar":
            return {"initContainers": [side, setup], "containers": [main]}
        return {"initContainers": [setup, side], "containers": [container(d, "main", rest)]}
    if shape == "overhead":
        extra, rest = split(d, pod_level, 2)
        fixed = {r: amount for r, amount in need.items() if r not in pod_level}
        return {
            "runtimeClassName": "sandbox",
            "overhead": quantities(d, extra),
            "containers": [container(d, "main", rest | fixed)],
        }
    if shape == "pod-level" and pod_level:
        inner = scaled(need, d.random()) | {
            r: amount for r, amount in need.items() if r not in pod_level
        }
        spec: Json = {
            "resources": {"requests": quantities(d, pod_level)},
            "containers": [container(d, "main", inner)],
        }
        if d.chance(0.3):
            spec["containers"].append(container(d, "idle"))
        return spec
    return {"containers": [container(d, "main", need)]}


def pod(
    d: Dice,
    name: str,
    namespace: str = "default",
    *,
    need: Need | None = None,
    shape: str = "plain",
    labels: Json | None = None,
    metadata: Json | None = None,
    status: Json | None = None,
    **spec: Any,
) -> Json:
    """A pod; further arguments are fields of its spec, left out if None."""
    body = {"schedulerName": "default-scheduler"} | shaped(d, need or {}, shape)
    body |= {key: value for key, value in spec.items() if value is not None}
    return thing(
        "v1",
        "Pod",
        name,
        namespace,
        metadata=(metadata or {}) | {"labels": labels},
        spec=body,
        status=status,
    )


def timestamp(seconds: int) -> str:
    """A moment on the first of March, a number of seconds after midnight."""
    return f"2026-03-01T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}Z"


def owner(kind: str, name: str, api: str = "apps/v1", namespace: str = "default") -> list[Json]:
    return [
        {
            "apiVersion": api,
            "kind": kind,
            "name": name,
            "uid": f"{kind.lower()}-{namespace}-{name}",
            "controller": True,
        }
    ]


def pod_reference(target: Json) -> list[Json]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": target["metadata"]["name"],
            "uid": target["metadata"]["uid"],
            "controller": True,
        }
    ]


def expression(key: str, operator: str, *values: str) -> Json:
    out: Json = {"key": key, "operator": operator}
    return out | {"values": list(values)} if values else out


def node_terms(*requirements: Json) -> Json:
    """Make a node selector of requirements that all must be met."""
    return {"nodeSelectorTerms": [{"matchExpressions": list(requirements)}]}


def labelled(**labels: str) -> Json:
    """Make a label selector."""
    return {"matchLabels": labels}


def terms(required: Any, preferred: Any) -> Json | None:
    """Make one kind of affinity."""
    out = {}
    if required:
        out["requiredDuringSchedulingIgnoredDuringExecution"] = required
    if preferred:
        out["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    return out or None


def affinity(**kinds: tuple[Any, Any]) -> Json | None:
    """An affinity; each of its kinds is given as (required, preferred)."""
    return {kind: part for kind, pair in kinds.items() if (part := terms(*pair))} or None


CONFIG_API = "kubescheduler.config.k8s.io/v1"


def arguments(plugin: str, **fields: Any) -> Json:
    return {"name": plugin, "args": {"apiVersion": CONFIG_API, "kind": f"{plugin}Args"} | fields}


def profile(
    *plugin_config: Json,
    name: str = "default-scheduler",
    plugins: Json | None = None,
    **fields: Any,
) -> Json:
    out: Json = {"schedulerName": name} | fields
    if plugins:
        out["plugins"] = plugins
    if plugin_config:
        out["pluginConfig"] = list(plugin_config)
    return out


def configuration(*profiles: Json, **fields: Any) -> Json:
    out: Json = {"apiVersion": CONFIG_API, "kind": "KubeSchedulerConfiguration"} | fields
    return out | {"profiles": list(profiles)} if profiles else out
