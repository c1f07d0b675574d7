"""The embedded API: one request in, one reply or stream out.

`ApiServer.answer` knows paths, parameters and representations; the rules of writing are the
registry's. It never awaits, so requests are carried out one after another, each as a whole.
"""

from __future__ import annotations

import msgspec

from fairlead.lab import binding, discovery, scale, tables
from fairlead.lab.applying import applied
from fairlead.lab.decoding import parse, retyped, typed
from fairlead.lab.deletion import DeleteOptions
from fairlead.lab.forms import as_shown, as_stored, shown_by
from fairlead.lab.http import Reply, Request, Stream, accepted, json_reply, speaks_json
from fairlead.lab.listing import page, revision_of
from fairlead.lab.objects import Object
from fairlead.lab.patches import APPLY_PATCH, patched
from fairlead.lab.paths import Target, target_of
from fairlead.lab.registry import NAMESPACES, Registry
from fairlead.lab.selectors import both, field_selector, label_selector
from fairlead.lab.status import (
    ApiError,
    bad_request,
    failure,
    forbidden_field,
    invalid,
    invalid_kind,
    invalid_value,
    method_not_allowed,
    success,
    unsupported,
)
from fairlead.lab.store import Entry
from fairlead.lab.watchhub import Selection, Watch, WatchOptions, headed

REPRESENTATIONS = "application/json"
POLICIES = ("Foreground", "Background", "Orphan")


class ApiServer:
    """The read and write paths of every served resource."""

    def __init__(self, registry: Registry) -> None:
        """Serve what `registry` writes and its store holds."""
        self.registry = registry
        self.store = registry.store

    def answer(self, request: Request) -> Reply | Stream:
        """The answer to any request; refusals are replies too."""
        try:
            known = discovery.answer(request)
            return known if known is not None else self._answer(request)
        except ApiError as refusal:
            return json_reply(refusal.status, refusal.code)

    def _answer(self, request: Request) -> Reply | Stream:
        target = target_of(request.path)
        if target.subresource:
            return self._subresource(request, target)
        match request.method, bool(target.name):
            case "GET", True if not _watching(request):
                return self._one(request, target, self._found(target))
            case "GET", _:
                return (
                    self._watch(request, target)
                    if _watching(request)
                    else self._list(request, target)
                )
            case "POST", False if bool(target.namespace) == target.resource.namespaced:
                return self._create(request, target)
            case "PUT", True:
                return self._update(request, target)
            case "PATCH", True:
                return self._patch(request, target)
            case "DELETE", True:
                return self._delete(request, target)
            case "DELETE", False:
                return self._delete_all(request, target)
            case _:
                raise method_not_allowed()

    def _found(self, target: Target) -> Entry:
        return self.registry.get(target.resource, target.namespace, target.name)

    def _one(self, request: Request, target: Target, entry: Entry, code: int = 200) -> Reply:
        if _wants_table(request):
            metadata = {"resourceVersion": entry.object["metadata"].get("resourceVersion", "")}
            return self._table(request, target, [entry], metadata, code)
        body = entry.body(target.resource, shown_by(target.resource))
        return Reply(code, headed(target.resource, body) + b"\n")

    def _selection(self, request: Request, target: Target) -> Selection:
        labels = label_selector(request.query.get("labelSelector", ""))
        fields = field_selector(request.query.get("fieldSelector", ""), target.resource)
        if target.name:
            named = field_selector(f"metadata.name={target.name}", target.resource)
            fields = both(fields, named)
        return Selection(target.namespace, both(labels, fields))

    def _list(self, request: Request, target: Target) -> Reply:
        selection = self._selection(request, target)
        found = page(self.store, target.resource, selection, request.query)
        if _wants_table(request):
            return self._table(request, target, found.entries, found.metadata)
        return Reply(200, found.body(target.resource))

    def _table(
        self,
        request: Request,
        target: Target,
        entries: list[Entry],
        metadata: Object,
        code: int = 200,
    ) -> Reply:
        include = request.query.get("includeObject", "")
        now = self.registry.now()
        return json_reply(tables.table(target.resource, entries, metadata, now, include), code)

    def _watch(self, request: Request, target: Target) -> Stream:
        options = _watch_options(request.query, self.registry)
        selection = self._selection(request, target)
        show = None
        if _wants_table(request):
            include = request.query.get("includeObject", "")
            show = tables.TableStream(target.resource, self.registry.now, include).show
        return Stream(Watch(self.store, target.resource, selection, options, show))

    def _body(self, request: Request, target: Target) -> Object:
        resource = target.resource
        given = parse(request.body, request.content_type, resource.kind)
        value = typed(given, resource.group, resource.version, resource.kind, _strict(request))
        return as_stored(resource, value)

    def _create(self, request: Request, target: Target) -> Reply:
        value = self._body(request, target)
        entry = self.registry.create(target.resource, target.namespace, value, _dry(request.query))
        return self._one(request, target, entry, 201)

    def _update(self, request: Request, target: Target) -> Reply:
        entry, created = self.registry.update(
            target.resource,
            target.namespace,
            target.name,
            self._body(request, target),
            target.subresource,
            _dry(request.query),
        )
        return self._one(request, target, entry, 201 if created else 200)

    def _patch(self, request: Request, target: Target) -> Reply:
        resource = target.resource
        if request.content_type.partition(";")[0].strip() == APPLY_PATCH:
            entry, created = applied(self.registry, request, target)
            return self._one(request, target, entry, 201 if created else 200)
        shown = as_shown(resource, self._found(target).object)
        headed_value = {"kind": resource.kind, "apiVersion": resource.api_version} | shown
        changed = patched(headed_value, request.body, request.content_type, resource)
        self._check_identity(target, shown["metadata"], changed.get("metadata"))
        value = as_stored(
            resource,
            typed(changed, resource.group, resource.version, resource.kind, _strict(request)),
        )
        entry, _ = self.registry.update(
            resource,
            target.namespace,
            target.name,
            value,
            target.subresource,
            _dry(request.query),
        )
        return self._one(request, target, entry)

    @staticmethod
    def _check_identity(target: Target, held: Object, metadata: object) -> None:
        given = metadata.get("uid") if isinstance(metadata, dict) else None
        if given not in (None, held["uid"]):
            wrong = invalid_value("metadata.uid", given, "field is immutable")
            raise invalid(target.resource, target.name, [wrong])

    def _delete(self, request: Request, target: Target) -> Reply:
        options = _delete_options(request)
        entry, gone = self.registry.delete(
            target.resource, target.namespace, target.name, options, bool(options.dry_run)
        )
        if target.resource.returns_deleted or not gone:
            return self._one(request, target, entry)
        metadata = entry.object["metadata"]
        return json_reply(success(target.resource, target.name, metadata["uid"]))

    def _delete_all(self, request: Request, target: Target) -> Reply:
        if target.resource is NAMESPACES:
            raise method_not_allowed()
        options = _delete_options(request)
        found = page(self.store, target.resource, self._selection(request, target), request.query)
        for entry in found.entries:
            metadata = entry.object["metadata"]
            self.registry.delete(
                target.resource,
                metadata.get("namespace", ""),
                metadata["name"],
                options,
                bool(options.dry_run),
            )
        return Reply(200, found.body(target.resource))

    def _subresource(self, request: Request, target: Target) -> Reply:
        dry = _dry(request.query)
        match target.subresource, request.method:
            case (("status" | "finalize"), "GET"):
                return self._one(request, target, self._found(target))
            case (("status" | "finalize"), "PUT"):
                return self._update(request, target)
            case (("status" | "finalize"), "PATCH"):
                return self._patch(request, target)
            case "scale", "GET" | "PUT" | "PATCH":
                return json_reply(scale.answer(self.registry, request, target, dry))
            case "binding", "POST":
                given = parse(request.body, request.content_type, "Binding")
                value = typed(given, "", "v1", "Binding", _strict(request))
                binding.bind(self.registry, target.namespace, target.name, value)
                return json_reply(binding.SUCCESS, 201)
            case "eviction", "POST":
                given = parse(request.body, request.content_type, "Eviction")
                value = retyped(given, "policy", "v1", "Eviction", _strict(request))
                binding.evict(self.registry, target.namespace, target.name, value)
                return json_reply(binding.SUCCESS, 201)
            case _:
                raise method_not_allowed()


def _watching(request: Request) -> bool:
    return request.query.get("watch", "") in ("1", "true", "True")


def _strict(request: Request) -> bool:
    return request.query.get("fieldValidation") == "Strict"


def _dry(query: dict[str, str]) -> bool:
    return query.get("dryRun") == "All"


def _wants_table(request: Request) -> bool:
    """Whether the first representation that the client takes and we have is a Table."""
    for each in accepted(request.accept):
        if not speaks_json(each.media):
            continue
        if each.as_ == "Table" and each.group == "meta.k8s.io":
            return True
        if not each.as_:
            return False
    raise failure(
        406,
        "NotAcceptable",
        f"406: Not Acceptable\n\nAvailable representations: {REPRESENTATIONS}",
        {},
    )


def _delete_options(request: Request) -> DeleteOptions:
    options = DeleteOptions()
    if request.body:
        given = parse(request.body, request.content_type, "DeleteOptions")
        try:
            options = msgspec.convert(given, DeleteOptions)
        except msgspec.ValidationError as problem:
            raise bad_request(f"DeleteOptions cannot be handled: {problem}") from None
    query = request.query
    if "gracePeriodSeconds" in query:
        options.grace_period_seconds = _whole(query["gracePeriodSeconds"])
    options.propagation_policy = query.get("propagationPolicy", options.propagation_policy)
    if _dry(query):
        options.dry_run = ["All"]
    if options.propagation_policy not in (None, *POLICIES):
        wrong = unsupported("propagationPolicy", options.propagation_policy, [*POLICIES, "nil"])
        raise invalid_kind("meta.k8s.io", "DeleteOptions", "", [wrong])
    return options


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _watch_options(query: dict[str, str], registry: Registry) -> WatchOptions:
    initial: bool | None = None
    match = query.get("resourceVersionMatch", "")
    errors = []
    if "sendInitialEvents" in query:
        initial = query["sendInitialEvents"] in ("1", "true")
        if match != "NotOlderThan":
            errors.append(
                forbidden_field(
                    "resourceVersionMatch",
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                )
            )
    elif match:
        errors.append(
            forbidden_field(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        )
    if errors:
        raise invalid_kind("meta.k8s.io", "ListOptions", "", errors)
    seconds = float(_whole(query.get("timeoutSeconds", "0") or "0"))
    if seconds <= 0:
        seconds = 1800.0 * (1.0 + registry.rng.random())
    return WatchOptions(
        revision=revision_of(query),
        bookmarks=query.get("allowWatchBookmarks", "") in ("1", "true"),
        initial_events=initial,
        seconds=seconds,
    )
