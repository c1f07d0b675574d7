"""Discovery: which groups, versions and resources there are, in both forms, and the version."""

from __future__ import annotations

from fairlead.lab.http import Reply, Request, accepted, json_reply
from fairlead.lab.objects import Object
from fairlead.lab.openapi import openapi
from fairlead.lab.resources import BY_KIND, RESOURCES, VERBS, Resource

AGGREGATED = "APIGroupDiscoveryList"
SUBRESOURCE_KINDS = {
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
}
VERSION: Object = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3+fairlead",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "fairlead/lab",
}


def answer(request: Request) -> Reply | None:
    """The answer to a question about the API itself; None for every other path."""
    if request.method != "GET":
        return None
    path = request.path.rstrip("/") or "/"
    match path.split("/")[1:]:
        case ["version"]:
            return json_reply(VERSION)
        case ["healthz" | "livez" | "readyz"]:
            return Reply(200, b"ok", "text/plain; charset=utf-8")
        case ["openapi", "v2" | "v3", *_]:
            return openapi(path)
        case ["api"]:
            return _list_of_versions(request)
        case ["apis"]:
            return _list_of_groups(request)
        case ["api", "v1"]:
            return json_reply(_resources("", "v1"))
        case ["apis", group] if group in _groups():
            return json_reply(_head("APIGroup") | _group(group))
        case ["apis", group, version] if (group, version) in _group_versions():
            return json_reply(_resources(group, version))
        case _:
            return None


def _head(kind: str) -> Object:
    return {"kind": kind, "apiVersion": "v1"}


def _groups() -> list[str]:
    return sorted({each.group for each in RESOURCES if each.group})


def _group_versions() -> set[tuple[str, str]]:
    return {(each.group, each.version) for each in RESOURCES}


def _group(group: str) -> Object:
    versions = sorted({each.version for each in RESOURCES if each.group == group})
    named = [{"groupVersion": f"{group}/{each}", "version": each} for each in versions]
    return {"name": group, "versions": named, "preferredVersion": named[0]}


def _list_of_versions(request: Request) -> Reply:
    form = _aggregated(request)
    if form:
        return _aggregate(form, [""])
    return json_reply({"kind": "APIVersions", "versions": ["v1"]})


def _list_of_groups(request: Request) -> Reply:
    form = _aggregated(request)
    if form:
        return _aggregate(form, _groups())
    return json_reply(_head("APIGroupList") | {"groups": [_group(each) for each in _groups()]})


def _aggregated(request: Request) -> str:
    """The version of the aggregated form that the client takes first, if any."""
    for each in accepted(request.accept):
        if each.as_ == AGGREGATED and each.version in ("v2", "v2beta1"):
            return each.version
        if not each.as_:
            break
    return ""


def _aggregate(form: str, groups: list[str]) -> Reply:
    items: list[Object] = []
    for group in groups:
        metadata: Object = {"name": group} if group else {}
        resources = [_discovered(each) for each in RESOURCES if each.group == group]
        version: Object = {"version": "v1", "resources": resources, "freshness": "Current"}
        items.append({"metadata": metadata, "versions": [version]})
    value: Object = {
        "kind": AGGREGATED,
        "apiVersion": f"apidiscovery.k8s.io/{form}",
        "metadata": {},
        "items": items,
    }
    content_type = f"application/json;g=apidiscovery.k8s.io;v={form};as={AGGREGATED}"
    return json_reply(value, content_type=content_type)


def _discovered(resource: Resource) -> Object:
    found: Object = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(_verbs(resource)),
    }
    if resource.short:
        found["shortNames"] = list(resource.short)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [
            {
                "subresource": each,
                "responseKind": _kind(*_subresource_kind(resource, each)),
                "verbs": list(_subresource_verbs(each)),
            }
            for each in resource.subresources
        ]
    return found


def _kind(group: str, version: str, kind: str) -> Object:
    return {"group": group, "version": version, "kind": kind}


def _subresource_kind(resource: Resource, subresource: str) -> tuple[str, str, str]:
    own = (resource.group, resource.version, resource.kind)
    return SUBRESOURCE_KINDS.get(subresource, own)


def _verbs(resource: Resource) -> tuple[str, ...]:
    if resource is BY_KIND["v1", "Namespace"]:
        return tuple(each for each in VERBS if each != "deletecollection")
    return VERBS


def _subresource_verbs(subresource: str) -> tuple[str, ...]:
    if subresource in ("binding", "eviction"):
        return ("create",)
    return ("update",) if subresource == "finalize" else ("get", "patch", "update")


def _resources(group: str, version: str) -> Object:
    listed: list[Object] = []
    for resource in RESOURCES:
        if (resource.group, resource.version) != (group, version):
            continue
        own: Object = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(_verbs(resource)),
        }
        if resource.short:
            own["shortNames"] = list(resource.short)
        if resource.categories:
            own["categories"] = list(resource.categories)
        listed.append(own)
        listed.extend(_listed_subresource(resource, each) for each in resource.subresources)
    name = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": name,
        "resources": listed,
    }


def _listed_subresource(resource: Resource, subresource: str) -> Object:
    group, version, kind = _subresource_kind(resource, subresource)
    found: Object = {
        "name": f"{resource.plural}/{subresource}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": kind,
        "verbs": list(_subresource_verbs(subresource)),
    }
    if (group, version) != (resource.group, resource.version):
        found |= {"group": group, "version": version}
    return found
