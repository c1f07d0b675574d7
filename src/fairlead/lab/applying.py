"""Server-side apply, as far as it needs no record of who owns which field.

An object that is not there is created. One that is there and already says what is applied stays as
it is. Anything else needs managed fields, which the embedded cluster does not keep: it refuses
rather than guess which fields the applier gave up.
"""

from __future__ import annotations

from fairlead.lab.decoding import parse, typed
from fairlead.lab.forms import as_shown, as_stored
from fairlead.lab.http import Request
from fairlead.lab.paths import Target
from fairlead.lab.registry import Registry
from fairlead.lab.schema import schema
from fairlead.lab.status import bad_request, failure
from fairlead.lab.store import Entry
from fairlead.lab.strategic import strategic_merge


def applied(registry: Registry, request: Request, target: Target) -> tuple[Entry, bool]:
    """Carry out a server-side apply; the flag says whether it created the object."""
    if not request.query.get("fieldManager"):
        raise bad_request(
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required '
            "for apply patch"
        )
    resource = target.resource
    given = parse(request.body, "application/yaml", resource.kind)
    strict = request.query.get("fieldValidation") == "Strict"
    dry_run = request.query.get("dryRun") == "All"
    wanted = typed(given, resource.group, resource.version, resource.kind, strict)
    wanted.setdefault("metadata", {}).setdefault("name", target.name)
    found = registry.store.get(resource, target.namespace, target.name)
    if found is None and not target.subresource:
        value = as_stored(resource, wanted)
        return registry.create(resource, target.namespace, value, dry_run), True
    held = as_shown(resource, registry.get(resource, target.namespace, target.name).object)
    if found is not None and strategic_merge(held, wanted, schema().of(resource)) == held:
        return found, False
    raise failure(
        405,
        "MethodNotAllowed",
        "the embedded cluster keeps no managed fields: server-side apply cannot change an object "
        "that exists (use client-side apply)",
        {},
    )
