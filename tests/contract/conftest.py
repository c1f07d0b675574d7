"""The two API servers that every contract test asks: the embedded one and a real one."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import urllib.request
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvloop

from fairlead.kube.access import ClusterAccess
from fairlead.kube.client import Client
from fairlead.kube.errors import AlreadyExists
from fairlead.kube.kubeconfig import load_kubeconfig
from fairlead.kube.resource import NAMESPACES, Resource
from fairlead.lab.cluster import Cluster
from fairlead.lab.kubelet import Timing
from fairlead.lab.resources import BY_PATH
from tests.contract.api import SERVICE_ACCOUNTS, Api, unique
from tests.control_plane.plane import ControlPlane

SERVERS = ["lab", pytest.param("real", marks=pytest.mark.e2e)]


class Server(NamedTuple):
    """One of the two; `forget_history` makes all versions up to now too old."""

    access: ClusterAccess
    forget_history: Callable[[Resource], None]


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Both loops for the protocol that is our own; aiohttp is tested on both by its authors."""
    loops = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    return loops if "test_posts" in item.nodeid else {"uvloop": uvloop.new_event_loop}


def compact(plane: ControlPlane) -> None:
    """Has etcd forget, as it does every five minutes in a cluster's life."""
    arguments = Path(f"/proc/{plane.pid('etcd')}/cmdline").read_text().split("\0")
    flag = "--listen-client-urls="
    etcd = next(word.removeprefix(flag) for word in arguments if word.startswith(flag))

    def ask(path: str, body: object) -> Any:
        data = json.dumps(body).encode()
        with urllib.request.urlopen(f"{etcd}/v3/kv/{path}", data=data, timeout=10) as answer:
            return json.load(answer)

    revision = ask("range", {"key": base64.b64encode(b"x").decode()})["header"]["revision"]
    ask("compaction", {"revision": revision, "physical": True})


@pytest.fixture(params=SERVERS)
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """Only this fixture knows which of the two it is."""
    if request.param == "real":
        plane = request.getfixturevalue("real_plane")
        yield Server(load_kubeconfig(str(plane.kubeconfig)), lambda _: compact(plane))
        return
    # Like the real server's, its nodes have no kubelet that would do anything in a test's time.
    asleep = Timing(start_seconds=3600, stop_seconds=3600)
    async with Cluster(timing=asleep) as cluster:
        kubeconfig = cluster.write_kubeconfig(tmp_path / "kubeconfig")

        def forget(resource: Resource) -> None:
            key = resource.group, resource.version, resource.plural
            cluster.store.forget_history(BY_PATH[key])

        yield Server(load_kubeconfig(str(kubeconfig)), forget)


@pytest.fixture
def access(server: Server) -> ClusterAccess:
    return server.access


@pytest.fixture
def forget_history(server: Server) -> Callable[[Resource], None]:
    return server.forget_history


@pytest.fixture
async def api(access: ClusterAccess) -> AsyncIterator[Api]:
    async with Client(access) as client:
        name = unique("contract")
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(NAMESPACES, namespace)
        # Where no controller makes one, no pod is admitted without it.
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        with contextlib.suppress(AlreadyExists):
            await client.create(SERVICE_ACCOUNTS, account, name)
        yield Api(client, name)
