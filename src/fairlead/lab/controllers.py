"""The controllers that a cluster cannot do without: Jobs, ReplicaSets, Deployments, and the rest.

Every event leaves a note of what to look at; `settle` works the notes off. Reconciling is
synchronous and reads the newest state, so a note too many costs time and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairlead.lab import deployments, disruption, garbage, jobs, protection, replicasets
from fairlead.lab.objects import Object, controller_of, key_of, nested
from fairlead.lab.owners import STORED, Owners
from fairlead.lab.registry import NAMESPACES, Registry
from fairlead.lab.resources import BY_KIND, Resource
from fairlead.lab.store import Event, Key

Reconcile = Callable[[Registry, Owners, Key], None]
Note = tuple[str, Key]

RECONCILE: dict[str, Reconcile] = {
    "namespaces": garbage.empty_namespace,
    "jobs.batch": jobs.reconcile,
    "replicasets.apps": replicasets.reconcile,
    "deployments.apps": deployments.reconcile,
    "poddisruptionbudgets.policy": disruption.reconcile,
    "persistentvolumeclaims": protection.release_claim,
    "persistentvolumes": protection.release_volume,
}
PAUSE_SECONDS = 0.01
ROUNDS = 1000


class Controllers:
    """All controllers of one cluster."""

    def __init__(self, registry: Registry) -> None:
        """Controllers that note what happens; `run` or `settle` acts on it."""
        self._registry = registry
        self._owners = Owners(registry.store)
        self._notes: dict[Note, None] = {}
        self._gone: dict[str, None] = {}
        self._suspects: dict[tuple[str, Key], Resource] = {}
        self._wake = asyncio.Event()
        self._leave = [self._subscribed(each) for each in STORED]
        for resource in STORED:
            for entry in registry.store.entries(resource):
                self._note(resource, entry.object)

    def _subscribed(self, resource: Resource) -> Callable[[], None]:
        def take(event: Event) -> None:
            self._owners.note(resource, event)
            if event.type == "DELETED":
                self._gone[event.entry.object["metadata"]["uid"]] = None
                self._suspect_owners(event.entry.object)
            self._note(resource, event.entry.object)

        return self._registry.store.subscribe(resource, take)

    def _note(self, resource: Resource, value: Object) -> None:
        metadata: Object = value["metadata"]
        if resource.stored_as in RECONCILE:
            self._notes[resource.stored_as, key_of(value)] = None
        namespace: str = metadata.get("namespace", "")
        owner = controller_of(value)
        if owner is not None:
            owned_by = BY_KIND.get((owner.get("apiVersion", ""), owner.get("kind", "")))
            if owned_by is not None and owned_by.stored_as in RECONCILE:
                self._notes[owned_by.stored_as, (namespace, owner["name"])] = None
        if metadata.get("ownerReferences") or metadata.get("finalizers"):
            self._suspects[resource.stored_as, key_of(value)] = resource
        if resource.stored_as == "pods":
            self._note_budgets(namespace)
            self._note_claims(value, namespace)
        if namespace:
            self._note_namespace(namespace)
        self._wake.set()

    def _suspect_owners(self, value: Object) -> None:
        """An owner may wait for just this dependent before it goes itself."""
        for owner in nested(value, "metadata", "ownerReferences", default=[]):
            resource = BY_KIND.get((owner.get("apiVersion", ""), owner.get("kind", "")))
            if resource is not None:
                namespace = value["metadata"].get("namespace", "") if resource.namespaced else ""
                self._suspects[resource.stored_as, (namespace, owner.get("name", ""))] = resource

    def _note_budgets(self, namespace: str) -> None:
        for entry in self._registry.store.entries(disruption.BUDGETS, namespace):
            self._notes[disruption.BUDGETS.stored_as, key_of(entry.object)] = None

    def _note_claims(self, pod: Object, namespace: str) -> None:
        for volume in pod["spec"].get("volumes", ()):
            claim: str | None = nested(volume, "persistentVolumeClaim", "claimName")
            if claim:
                self._notes[protection.CLAIMS.stored_as, (namespace, claim)] = None

    def _note_namespace(self, namespace: str) -> None:
        entry = self._registry.store.get(NAMESPACES, "", namespace)
        if entry is not None and nested(entry.object, "metadata", "deletionTimestamp"):
            self._notes[NAMESPACES.stored_as, ("", namespace)] = None

    def settle(self) -> None:
        """Work until nothing is left to do."""
        for _ in range(ROUNDS):
            if not (self._notes or self._gone or self._suspects):
                return
            self._round()
        raise RuntimeError("the controllers do not come to rest")

    def _round(self) -> None:
        notes, self._notes = self._notes, {}
        gone, self._gone = self._gone, {}
        suspects, self._suspects = self._suspects, {}
        for uid in gone:
            jobs.release_pods(self._registry, self._owners, uid)
            garbage.collect_dependents(self._registry, self._owners, uid)
        for (_, key), resource in suspects.items():
            garbage.look_at(self._registry, self._owners, resource, key)
        for stored_as, key in notes:
            RECONCILE[stored_as](self._registry, self._owners, key)

    async def run(self) -> None:
        """Work for ever, whenever something has happened."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._round()
            await asyncio.sleep(PAUSE_SECONDS)

    def close(self) -> None:
        """Take no more notes."""
        for leave in self._leave:
            leave()
