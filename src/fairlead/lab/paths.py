"""Paths of the API: which resource, namespace, object and subresource a request means."""

from __future__ import annotations

import msgspec

from fairlead.lab.resources import BY_PATH, Resource
from fairlead.lab.status import ApiError, failure, not_served

CORE = "/api/v1/"
GROUPS = "/apis/"


class Target(msgspec.Struct, frozen=True):
    """What a path names."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def target_of(path: str) -> Target:
    """What `path` names, or a 404 that says what is not served."""
    if path.startswith(CORE):
        group, version, rest = "", "v1", path.removeprefix(CORE).split("/")
    elif path.startswith(GROUPS) and path.count("/") >= 4:
        group, version, *rest = path.removeprefix(GROUPS).split("/")
    else:
        raise not_served(path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and (group or not _of_namespace(rest[2])):
        namespace, rest = rest[1], rest[2:]
    resource = BY_PATH.get((group, version, rest[0]))
    if resource is None or not rest[0]:
        raise not_served(path)
    name = rest[1] if len(rest) > 1 else ""
    subresource = "/".join(rest[2:])
    if bool(namespace) != resource.namespaced and (namespace or name):
        raise not_served(path)
    if subresource and subresource not in resource.subresources:
        raise _no_subresource(resource, subresource, path)
    return Target(resource, namespace, name, subresource)


def _of_namespace(word: str) -> bool:
    return word in ("status", "finalize")


def _no_subresource(resource: Resource, subresource: str, path: str) -> ApiError:
    if resource.plural == "pods" and subresource in ("log", "exec", "attach", "portforward"):
        return failure(
            405,
            "MethodNotAllowed",
            f"the embedded cluster runs no containers: pods/{subresource} is not served",
            {},
        )
    return not_served(path)
