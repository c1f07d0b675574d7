"""OpenAPI v3, as far as `kubectl apply` reads it: which kinds and parameters the server validates.

The documents name the paths and kinds and no schemas; kubectl then merges by its own types. There
is no v2 document: kubectl falls back to it only where v3 is missing.
"""

from __future__ import annotations

from fairlead.lab.http import Reply, json_reply
from fairlead.lab.objects import Object
from fairlead.lab.resources import RESOURCES, Resource
from fairlead.lab.status import not_served

VERSION = "v1.36.3"
BODY = {"application/json": {"schema": {"type": "object"}}}
PATCHES = ("application/json-patch+json", "application/merge-patch+json")


def openapi(path: str) -> Reply:
    """The index, or the document of one group and version."""
    prefix = "/openapi/v3"
    names = {_name(each): (each.group, each.version) for each in RESOURCES}
    if path == prefix:
        paths = {each: {"serverRelativeURL": f"{prefix}/{each}"} for each in names}
        return json_reply({"paths": paths})
    name = path.removeprefix(prefix + "/")
    if name not in names:
        raise not_served(path)
    served = [each for each in RESOURCES if (each.group, each.version) == names[name]]
    paths = dict(pair for each in served for pair in _paths(each).items())
    return json_reply(
        {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": VERSION},
            "paths": paths,
            "components": {"schemas": {}},
        }
    )


def _name(resource: Resource) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _paths(resource: Resource) -> dict[str, Object]:
    scope = "namespaces/{namespace}/" if resource.namespaced else ""
    whole = f"/{_name(resource)}/{scope}{resource.plural}"
    one = {
        "get": _operation(resource, "get"),
        "put": _operation(resource, "put", BODY),
        "delete": _operation(resource, "delete"),
        "patch": _operation(
            resource, "patch", {each: {"schema": {"type": "object"}} for each in PATCHES}
        ),
    }
    every = {
        "get": _operation(resource, "list"),
        "post": _operation(resource, "post", BODY),
        "delete": _operation(resource, "deletecollection"),
    }
    return {whole: every, f"{whole}/{{name}}": one}


def _operation(resource: Resource, action: str, body: Object | None = None) -> Object:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    operation: Object = {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": kind,
        "responses": {"200": {"description": "OK"}},
    }
    if body is not None:
        operation["requestBody"] = {"content": body}
        operation["parameters"] = [
            {"name": each, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for each in ("dryRun", "fieldManager", "fieldValidation")
        ]
    return operation
