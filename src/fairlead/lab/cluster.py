"""The embedded cluster: a small Kubernetes API in this process, with nodes that run pods.

    async with Cluster(nodes=3) as cluster:
        cluster.write_kubeconfig(path)

Objects can also be read and written directly (`create`, `get`, `items`, `delete`), by the same
rules as over HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Self

from fairlead.clock import SystemClock, WallClock
from fairlead.lab.apiserver import ApiServer
from fairlead.lab.controllers import Controllers
from fairlead.lab.decoding import typed
from fairlead.lab.deletion import DeleteOptions
from fairlead.lab.forms import as_stored
from fairlead.lab.furniture import furnish, node
from fairlead.lab.httpserver import HttpServer
from fairlead.lab.kubelet import Kubelet, Timing
from fairlead.lab.objects import Object
from fairlead.lab.registry import Registry
from fairlead.lab.resources import BY_KIND, Resource, resource_named
from fairlead.lab.store import HISTORY, Entry, Store

KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: fairlead
  cluster:
    server: {server}
users:
- name: fairlead
  user: {{}}
contexts:
- name: fairlead
  context:
    cluster: fairlead
    user: fairlead
current-context: fairlead
"""


class Cluster:
    """An API server, its store and the programs that a cluster has beside it."""

    def __init__(
        self,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        nodes: int = 0,
        history: int = HISTORY,
        seed: int | None = None,
        clock: WallClock | None = None,
        timing: Timing | None = None,
    ) -> None:
        """A cluster with `nodes` ready nodes; it listens once it is entered.

        `history` is the number of events that each resource remembers for watches; `seed` fixes
        names and uids; `timing` says how long pods take on the nodes.
        """
        self._host = host
        self._port = port
        self._listening = False
        self.store = Store(history)
        now = (clock or SystemClock()).wall
        self.registry = Registry(self.store, now, random.Random(seed))
        self.api = ApiServer(self.registry)
        self._http = HttpServer(self.api)
        self.controllers = Controllers(self.registry)
        self.kubelet = Kubelet(self.registry, timing)
        self._working: asyncio.Task[None] | None = None
        furnish(self.registry)
        for number in range(1, nodes + 1):
            self.create(node(f"node-{number}", number, now=now()))

    async def __aenter__(self) -> Self:
        """Listen, and let nodes and controllers work."""
        self._port = await self._http.listen(self._host, self._port)
        self._listening = True
        self.kubelet.start()
        self._working = asyncio.create_task(self.controllers.run(), name="lab controllers")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop; the objects stay readable."""
        self.kubelet.stop()
        if self._working is not None:
            self._working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._working
            self._working = None
        await self._http.close()

    @property
    def server(self) -> str:
        """The URL of the API."""
        assert self._listening, "the cluster has not been entered"
        return f"http://{self._host}:{self._port}"

    def kubeconfig(self) -> str:
        """A kubeconfig for this cluster."""
        return KUBECONFIG.format(server=self.server)

    def write_kubeconfig(self, path: Path | str) -> Path:
        """Write the kubeconfig to `path`."""
        target = Path(path)
        target.write_text(self.kubeconfig())
        return target

    def create(self, value: Object) -> Object:
        """Create an object (with kind and apiVersion), as a POST would."""
        resource = BY_KIND[value["apiVersion"], value["kind"]]
        stored = as_stored(
            resource, typed(value, resource.group, resource.version, resource.kind, strict=True)
        )
        namespace = value["metadata"].get("namespace", "default") if resource.namespaced else ""
        return _whole(resource, self.registry.create(resource, namespace, stored))

    def get(self, resource: str, name: str, namespace: str = "default") -> Object | None:
        """An object by the plural of its resource (`pods`, `jobs.batch`); None if there is none."""
        found = resource_named(resource)
        entry = self.store.get(found, namespace if found.namespaced else "", name)
        return None if entry is None else _whole(found, entry)

    def items(self, resource: str, namespace: str = "") -> list[Object]:
        """All objects of a resource, in all namespaces or in one."""
        found = resource_named(resource)
        return [_whole(found, entry) for entry in self.store.entries(found, namespace)]

    def update(self, value: Object, subresource: str = "") -> Object:
        """Replace an object (or its status), as a PUT would."""
        resource = BY_KIND[value["apiVersion"], value["kind"]]
        stored = as_stored(resource, typed(value, resource.group, resource.version, resource.kind))
        metadata = value["metadata"]
        namespace = metadata.get("namespace", "default") if resource.namespaced else ""
        entry, _ = self.registry.update(resource, namespace, metadata["name"], stored, subresource)
        return _whole(resource, entry)

    def delete(
        self, resource: str, name: str, namespace: str = "default", grace: int | None = None
    ) -> None:
        """Delete an object, as a DELETE with background propagation would."""
        found = resource_named(resource)
        options = DeleteOptions(grace_period_seconds=grace, propagation_policy="Background")
        self.registry.delete(found, namespace if found.namespaced else "", name, options)


def _whole(resource: Resource, entry: Entry) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind} | entry.object
