"""Objects and requests as the tests of the embedded cluster send them."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.lab.cluster import Cluster
from fairlead.lab.http import Reply, Request

Object = dict[str, Any]


def pod(name: str, namespace: str = "default", **spec: Any) -> Object:
    containers = [{"name": "main", "image": "registry.example/app:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": containers} | spec,
    }


def labelled(value: Object, **labels: str) -> Object:
    return value | {"metadata": value["metadata"] | {"labels": labels}}


def workload(kind: str, api_version: str, name: str, **spec: Any) -> Object:
    """A ReplicaSet, Deployment or Job with a template; Jobs need no selector."""
    policy = {"restartPolicy": "Never"} if kind == "Job" else {}
    containers = [{"name": "main", "image": "registry.example/app:1"}]
    template: Object = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": containers} | policy,
    }
    selector: Object = {} if kind == "Job" else {"selector": {"matchLabels": {"app": name}}}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"template": template} | selector | spec,
    }


def ask(
    cluster: Cluster,
    method: str,
    path: str,
    body: Any = None,
    *,
    content_type: str = "application/json",
    accept: str = "application/json",
    **query: str,
) -> tuple[int, Any]:
    """One request without a socket: the code, and the body from JSON."""
    raw = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
    request = Request(method, path, query, raw, content_type, accept)
    reply = cluster.api.answer(request)
    assert isinstance(reply, Reply)
    return reply.code, msgspec.json.decode(reply.body)


def bind(cluster: Cluster, name: str, node: str, **metadata: Any) -> tuple[int, Any]:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name} | metadata,
        "target": {"kind": "Node", "name": node},
    }
    return ask(cluster, "POST", f"/api/v1/namespaces/default/pods/{name}/binding", body)
