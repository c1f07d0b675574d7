"""Create, update, patch and delete with the API server's rules, whatever the transport.

Objects go in and out in their stored form, without kind and apiVersion. The store is one writer's:
nothing here awaits, so a read and the write that depends on it are one step.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from fairlead.lab import admission, validation
from fairlead.lab.defaults import set_defaults
from fairlead.lab.deletion import (
    DeleteOptions,
    check_preconditions,
    finalizers_for,
    grace_period,
    must_be_deletable,
    terminating,
    with_finalizers,
)
from fairlead.lab.objects import Object, nested, random_suffix, random_uid, timestamp, with_value
from fairlead.lab.resources import BY_PATH, Resource
from fairlead.lab.status import (
    already_exists,
    bad_request,
    conflict,
    failure,
    forbidden,
    invalid,
    invalid_value,
    not_found,
    precondition_failed,
    unqualified_invalid,
)
from fairlead.lab.store import Entry, Store

NAMESPACES = BY_PATH["", "v1", "namespaces"]
SERVICE_ACCOUNTS = BY_PATH["", "v1", "serviceaccounts"]
FIXED = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "generateName",
    "selfLink",
)
MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class Registry:
    """The write side of the embedded cluster over one store."""

    def __init__(self, store: Store, now: Callable[[], float], rng: random.Random) -> None:
        """`now` gives the time of the cluster, `rng` its names and uids."""
        self.store = store
        self.now = now
        self.rng = rng

    def get(self, resource: Resource, namespace: str, name: str) -> Entry:
        """The newest version of an object, or 404."""
        entry = self.store.get(resource, namespace, name)
        if entry is None:
            raise not_found(resource, name)
        return entry

    def create(
        self, resource: Resource, namespace: str, value: Object, dry_run: bool = False
    ) -> Entry:
        """Complete, validate and store a new object; `value` is consumed."""
        metadata = self._metadata_for_create(resource, namespace, value, dry_run)
        self._namespace_must_take(resource, namespace)
        set_defaults(resource.stored_as, value)
        self._prepare_create(resource, value)
        name: str = metadata["name"]
        errors = validation.created(resource, value)
        if errors:
            raise invalid(resource, name, errors)
        if self.store.get(resource, namespace, name) is not None:
            raise already_exists(resource, name)
        if dry_run:
            return Entry(value, self.store.revision)
        entry = self.store.put(resource, value)
        if resource is NAMESPACES:
            self._furnish(name)
        return entry

    def _metadata_for_create(
        self, resource: Resource, namespace: str, value: Object, dry_run: bool
    ) -> Object:
        metadata: Object = value.setdefault("metadata", {})
        if resource.namespaced:
            given = metadata.setdefault("namespace", namespace)
            if given != namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on "
                    "the request"
                )
        else:
            metadata.pop("namespace", None)
        if metadata.get("resourceVersion") and not dry_run:
            raise failure(
                500, "InternalError", "resourceVersion should not be set on objects to be created"
            )
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"][:58] + random_suffix(self.rng)
        metadata.setdefault("name", "")
        for field in (*FIXED[1:5], "managedFields", "resourceVersion", "selfLink"):
            metadata.pop(field, None)
        metadata["uid"] = random_uid(self.rng)
        metadata["creationTimestamp"] = timestamp(self.now())
        if resource.counts_generations:
            metadata["generation"] = 1
        return metadata

    def _namespace_must_take(self, resource: Resource, namespace: str) -> None:
        if not resource.namespaced:
            return
        entry = self.store.get(NAMESPACES, "", namespace)
        admission.must_be_creatable(namespace, None if entry is None else entry.object)
        assert entry is not None
        if nested(entry.object, "metadata", "deletionTimestamp"):
            refusal = forbidden(
                resource,
                "",
                f"unable to create new content in namespace {namespace} because it is being "
                "terminated",
            )
            cause = f"namespace {namespace} is being terminated"
            refusal.status["details"]["causes"] = [
                {"reason": "NamespaceTerminating", "message": cause, "field": "metadata.namespace"}
            ]
            raise refusal

    def _prepare_create(self, resource: Resource, value: Object) -> None:
        match resource.stored_as:
            case "pods":
                admission.admit_pod(value, self.store, self.rng, self.now())
            case "persistentvolumeclaims":
                value["status"] = {"phase": "Pending"}
                admission.admit_claim(value, self.store)
                admission.protect(resource.stored_as, value)
            case "persistentvolumes":
                value["status"] = {
                    "phase": "Pending",
                    "lastPhaseTransitionTime": timestamp(self.now()),
                }
                admission.protect(resource.stored_as, value)
            case "namespaces":
                value["status"] = {"phase": "Active"}
                value["spec"] = {"finalizers": ["kubernetes"]}
            case "jobs.batch":
                value["status"] = {}
                admission.select_by_controller_uid(value)
            case "services":
                admission.give_cluster_ip(value, self.store)
            case "deployments.apps":
                value["status"] = {}
            case "replicasets.apps" | "replicationcontrollers":
                value["status"] = {"replicas": 0}
            case "statefulsets.apps":
                value["status"] = {"replicas": 0, "availableReplicas": 0}
            case "volumeattachments.storage.k8s.io":
                value["status"] = {"attached": False}
            case "resourceclaims.resource.k8s.io":
                value["status"] = {}
            case _:
                pass

    def _furnish(self, namespace: str) -> None:
        """Give a new namespace its ServiceAccount at once, so that pods can follow directly."""
        self.create(SERVICE_ACCOUNTS, namespace, {"metadata": {"name": "default"}})

    def update(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        value: Object,
        subresource: str = "",
        dry_run: bool = False,
    ) -> tuple[Entry, bool]:
        """Replace an object (or its status); the flag says whether it was created by that."""
        metadata: Object = value.setdefault("metadata", {})
        if metadata.setdefault("name", name) != name:
            raise bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL "
                f"({name})"
            )
        if resource.namespaced and metadata.setdefault("namespace", namespace) != namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
        found = self.store.get(resource, namespace, name)
        if found is None:
            if not resource.created_by_update or subresource:
                raise not_found(resource, name)
            metadata.pop("resourceVersion", None)
            return self.create(resource, namespace, value, dry_run), True
        self._check_version(resource, found, metadata)
        set_defaults(resource.stored_as, value)
        if resource.stored_as == "pods":
            admission.tolerate_failures(value["spec"])
        merged = self._merge_update(resource, found.object, value, subresource)
        errors = validation.updated(resource, merged, found.object, subresource)
        if errors:
            raise invalid(resource, name, errors)
        return self._write(resource, found, merged, dry_run), False

    def _check_version(self, resource: Resource, found: Entry, metadata: Object) -> None:
        held: Object = found.object["metadata"]
        version = metadata.get("resourceVersion")
        if not version and resource.needs_version_to_update:
            wrong = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise unqualified_invalid(resource, held["name"], [wrong])
        if version and version != held["resourceVersion"]:
            raise conflict(resource, held["name"], MODIFIED)
        if metadata.get("uid", held["uid"]) != held["uid"]:
            raise precondition_failed(resource, held, "uid", metadata["uid"])

    def _merge_update(
        self, resource: Resource, old: Object, value: Object, subresource: str
    ) -> Object:
        """What the update may change of `old`; the rest stays."""
        held: Object = old["metadata"]
        metadata: Object = {
            key: each for key, each in value["metadata"].items() if key not in FIXED
        } | {key: held[key] for key in FIXED if key in held}
        metadata["resourceVersion"] = held["resourceVersion"]
        metadata.pop("managedFields", None)
        merged = value | {"metadata": metadata}
        if subresource == "status":
            metadata.pop("ownerReferences", None)
            if "ownerReferences" in held:
                metadata["ownerReferences"] = held["ownerReferences"]
            merged = old | {"metadata": metadata, "status": value.get("status", {})}
        elif "status" in resource.subresources and resource.plural != "namespaces":
            merged.pop("status", None)
            if "status" in old:
                merged["status"] = old["status"]
        elif resource.plural == "namespaces":
            merged |= {"status": old["status"], "spec": old["spec"]}
        if resource.counts_generations and _meant(merged) != _meant(old):
            metadata["generation"] = held.get("generation", 0) + 1
        return merged

    def _write(self, resource: Resource, found: Entry, value: Object, dry_run: bool) -> Entry:
        if value == found.object:
            return found
        if dry_run:
            return Entry(value, found.revision)
        metadata: Object = value["metadata"]
        ended = "deletionTimestamp" in metadata and not metadata.get("finalizers")
        waits = nested(value, "spec", "finalizers") if resource is NAMESPACES else None
        if ended and not metadata.get("deletionGracePeriodSeconds") and not waits:
            self.store.put(resource, value)
            return self.store.remove(resource, (metadata.get("namespace", ""), metadata["name"]))
        return self.store.put(resource, value)

    def replace(
        self, resource: Resource, found: Entry, value: Object, dry_run: bool = False
    ) -> Entry:
        """Write a new version that the cluster itself made of `found`, without validation."""
        return self._write(resource, found, value, dry_run)

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        options: DeleteOptions | None = None,
        dry_run: bool = False,
    ) -> tuple[Entry, bool]:
        """Delete an object or mark it as going; the flag says whether it is gone."""
        must_be_deletable(resource, name)
        options = options or DeleteOptions()
        found = self.get(resource, namespace, name)
        wanted = options.preconditions
        check_preconditions(resource, found, wanted.uid, wanted.resource_version)
        value = found.object
        finalizers = finalizers_for(resource, value, options)
        graceful = resource.plural == "pods"
        grace = grace_period(value, options) if graceful else 0
        if resource is NAMESPACES:
            marked = terminating(value, 0, self.now())
            marked = with_value(marked, ("metadata", "deletionGracePeriodSeconds"), None)
            marked = with_value(marked, ("status", "phase"), "Terminating")
            return self._write(resource, found, marked, dry_run), False
        held = nested(value, "metadata", "deletionGracePeriodSeconds")
        if held and options.grace_period_seconds is None:
            return found, False
        if grace == 0 and not finalizers:
            last = terminating(value, 0, self.now()) if graceful else value
            if dry_run:
                return Entry(last, found.revision), True
            return self.store.remove(resource, (namespace, name), last), True
        marked = with_finalizers(terminating(value, grace, self.now()), finalizers)
        return self._write(resource, found, marked, dry_run), False


def _meant(value: Object) -> Object:
    """The part of an object that counts generations: all but metadata and status."""
    return {key: each for key, each in value.items() if key not in ("metadata", "status")}
