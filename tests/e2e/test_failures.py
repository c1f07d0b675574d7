"""What a real API server refuses: one line on stderr that says what to do, exit code 1."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.control_plane.plane import ControlPlane

pytestmark = pytest.mark.e2e

FAIRLEAD = str(Path(sys.executable).parent / "fairlead")
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
"""
ROLES = "/apis/rbac.authorization.k8s.io/v1"
Change = Callable[[dict[str, Any]], None]


def told(plane: ControlPlane, folder: Path, change: Change) -> str:
    """The last line of a start with this change of the scheduler's kubeconfig."""
    config, kubeconfig = folder / "scheduler.yaml", folder / "kubeconfig"
    config.write_text(CONFIG)
    document = json.loads(plane.scheduler_kubeconfig.read_text())
    change(document)
    kubeconfig.write_text(json.dumps(document))
    done = subprocess.run(
        [FAIRLEAD, "run", "--config", str(config), "--kubeconfig", str(kubeconfig)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if "version does not have" not in line]
    assert len(lines) == 1, done.stderr
    return lines[0]


def with_token(token: str) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["users"][0]["user"] = {"token": token}

    return change


def account(plane: ControlPlane, name: str) -> str:
    """A ServiceAccount's token."""
    path = "/api/v1/namespaces/default/serviceaccounts"
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    plane.request("POST", path, body)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return plane.request("POST", f"{path}/{name}/token", asked)["status"]["token"]


def grant(plane: ControlPlane, name: str, rules: list[dict[str, list[str]]]) -> None:
    meta = {"metadata": {"name": name}}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    plane.request(
        "POST", f"{ROLES}/clusterroles", {**kind, **meta, "kind": "ClusterRole", "rules": rules}
    )
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "namespace": "default", "name": name}
    binding = {**kind, **meta, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]}
    plane.request("POST", f"{ROLES}/clusterrolebindings", binding)


def test_nobody_that_the_server_knows(real_plane: ControlPlane, tmp_path: Path) -> None:
    line = told(real_plane, tmp_path, with_token("nonsense"))
    assert line == (
        f"fairlead: the API server at {real_plane.server} does not know us (Unauthorized);"
        f" check the credentials in {tmp_path / 'kubeconfig'}"
    )


def test_an_account_without_any_rights(real_plane: ControlPlane, tmp_path: Path) -> None:
    line = told(real_plane, tmp_path, with_token(account(real_plane, "powerless")))
    assert "missing permission: nodes is forbidden: " in line
    assert "system:serviceaccount:default:powerless" in line
    assert line.endswith("bind the user to the ClusterRole system:kube-scheduler")


def test_an_account_that_may_look_but_not_bind(real_plane: ControlPlane, tmp_path: Path) -> None:
    token = account(real_plane, "spectator")
    look = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    grant(real_plane, "spectator", [look])
    line = told(real_plane, tmp_path, with_token(token))
    assert line == (
        "fairlead: missing permission to create pods/binding;"
        " bind the user to the ClusterRole system:kube-scheduler"
    )


def test_a_server_that_is_not_trusted(real_plane: ControlPlane, tmp_path: Path) -> None:
    def distrust(document: dict[str, Any]) -> None:
        del document["clusters"][0]["cluster"]["certificate-authority"]

    line = told(real_plane, tmp_path, distrust)
    assert "its certificate is not trusted" in line
    assert "check certificate-authority in the kubeconfig" in line


def test_a_server_of_another_name(real_plane: ControlPlane, tmp_path: Path) -> None:
    def rename(document: dict[str, Any]) -> None:
        document["clusters"][0]["cluster"]["tls-server-name"] = "elsewhere.example"

    assert "its certificate is not trusted" in told(real_plane, tmp_path, rename)


def test_http_where_https_is_spoken(real_plane: ControlPlane, tmp_path: Path) -> None:
    def plain(document: dict[str, Any]) -> None:
        cluster = document["clusters"][0]["cluster"]
        cluster["server"] = cluster["server"].replace("https:", "http:")

    line = told(real_plane, tmp_path, plain)
    assert "does not answer as a Kubernetes API server" in line
    assert "HTTPS" in line
