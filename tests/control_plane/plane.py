"""One running control plane: etcd and kube-apiserver, and on request the rest.

    with ControlPlane(directory) as plane:
        kubectl("--kubeconfig", plane.kubeconfig, "get", "nodes")

Everything listens on free ports of 127.0.0.1; the data lies in memory where the machine has
/dev/shm, and is gone after `stop`. The programs die with the process that started them, however
that one ends, unless it asked to leave them behind (`detached`).

Writes: the directory (kubeconfigs, certificates, a log and a PID for each program).
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.control_plane.programs import program, stages

ADMIN = "control-plane-admin"
SCHEDULER = "control-plane-scheduler"
EXTRAS = ("kube-controller-manager", "kwok")


class NotReadyError(Exception):
    """A program ended or did not answer; the message has the end of its log."""


class ControlPlane:
    """A real Kubernetes API on this machine.

    `kubeconfig` is cluster-admin's, `scheduler_kubeconfig` has the rights that Kubernetes gives to
    kube-scheduler and no more. A `default` ServiceAccount is there, since no pod is admitted
    without one. Nodes are not tainted for conditions that nobody reports.
    """

    def __init__(
        self,
        directory: Path,
        *,
        extras: tuple[str, ...] = (),
        apiserver_arguments: tuple[str, ...] = (),
        detached: bool = False,
    ) -> None:
        self.directory = directory.absolute()
        self.kubeconfig = self.directory / "admin.kubeconfig"
        self.scheduler_kubeconfig = self.directory / "scheduler.kubeconfig"
        self.server = ""
        self.token = ADMIN
        self.authority = self.directory / "certs" / "apiserver.crt"
        self._extras = extras
        self._apiserver_arguments = apiserver_arguments
        self._detached = detached
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._data: Path | None = None

    def __enter__(self) -> ControlPlane:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Return when the API answers; stop everything again if it does not."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self._detached:
            atexit.register(self.stop)
        try:
            etcd = self._start_etcd()
            self._start_apiserver(etcd)
            self._make_service_account()
            if "kube-controller-manager" in self._extras:
                self._start_controller_manager()
            if "kwok" in self._extras:
                self._start_kwok()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the programs and drop the data; harmless when repeated."""
        atexit.unregister(self.stop)
        for process in reversed(self._processes.values()):
            process.kill()
            process.wait()
        self._processes.clear()
        if self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
            self._data = None

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def remember(self) -> None:
        """Leave behind what `forget` needs to end a detached control plane."""
        known = {
            "data": str(self._data),
            "programs": {name: process.pid for name, process in self._processes.items()},
        }
        (self.directory / "plane.json").write_text(json.dumps(known))

    # --- the programs --------------------------------------------------------------------------

    def _start_etcd(self) -> str:
        memory = Path("/dev/shm")
        parent = memory if os.access(memory, os.W_OK) else self.directory
        self._data = Path(tempfile.mkdtemp(prefix="fairlead-etcd-", dir=parent))
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._run(
            "etcd",
            f"--data-dir={self._data}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            f"--quota-backend-bytes={8 << 30}",
            "--log-level=error",
        )
        return client

    def _start_apiserver(self, etcd: str) -> None:
        key = self.directory / "service-account.key"
        make_key = ["openssl", "genrsa", "-out", str(key), "2048"]
        subprocess.run(make_key, check=True, capture_output=True)
        tokens = self.directory / "tokens.csv"
        tokens.write_text(
            f'{ADMIN},admin,admin,"system:masters"\n{SCHEDULER},system:kube-scheduler,scheduler,""\n'
        )
        port = free_port()
        self._run(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self.directory / 'certs'}",
            "--service-cluster-ip-range=10.0.0.0/16",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://control-plane.fairlead.invalid",
            "--disable-admission-plugins=TaintNodesByCondition",
            "--max-requests-inflight=3000",
            "--max-mutating-requests-inflight=3000",
            "--allow-privileged",
            *self._apiserver_arguments,
        )
        self.server = f"https://127.0.0.1:{port}"
        self._wait_ready("kube-apiserver")
        self.kubeconfig.write_text(self._kubeconfig(ADMIN))
        self.scheduler_kubeconfig.write_text(self._kubeconfig(SCHEDULER))

    def _make_service_account(self) -> None:
        """The controller manager would make it too, a second too late for the first pod."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        try:
            self.request("POST", "/api/v1/namespaces/default/serviceaccounts", account)
        except urllib.error.HTTPError as error:
            if error.code != 409:  # the controller manager was faster
                raise

    def _start_controller_manager(self) -> None:
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self.directory / 'service-account.key'}",
            f"--root-ca-file={self.authority}",
            f"--cert-dir={self.directory / 'controller-manager-certs'}",
            f"--secure-port={free_port()}",
            "--leader-elect=false",
            "--use-service-account-credentials=false",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        )

    def _start_kwok(self) -> None:
        self._run(
            "kwok",
            f"--kubeconfig={self.kubeconfig}",
            "--manage-all-nodes=true",
            "--node-ip=10.99.0.1",
            "--node-lease-duration-seconds=40",
            f"--config={stages()}",
            f"--server-address=127.0.0.1:{free_port()}",
        )

    # --- what they have in common ---------------------------------------------------------------

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(program(name)), *arguments]
        tie = shutil.which("setpriv")  # it becomes the program, so the PID is the program's
        if tie and not self._detached:
            command = [tie, "--pdeathsig", "KILL", "--", *command]
        with (self.directory / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def request(self, method: str, path: str, body: object = None) -> Any:
        """One request as cluster-admin: for setting the stage, not for what is tested."""
        request = urllib.request.Request(
            self.server + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"},
        )
        trust = ssl.create_default_context(cafile=str(self.authority))
        with urllib.request.urlopen(request, context=trust, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text.startswith(b"{") else text.decode()

    def _wait_ready(self, name: str, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while True:
            ended = [n for n, process in self._processes.items() if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                guilty = ended[0] if ended else name
                how = "has ended" if ended else f"was not ready after {seconds:.0f} s"
                log = (self.directory / f"{guilty}.log").read_text(errors="replace")
                raise NotReadyError(f"{guilty} {how}:\n{log[-2000:]}")
            try:
                self.request("GET", "/readyz")
            except OSError:  # no certificate yet, no listener yet, or not ready yet
                time.sleep(0.1)
            else:
                return

    def _kubeconfig(self, token: str) -> str:
        cluster = {"server": self.server, "certificate-authority": str(self.authority)}
        name = "control-plane"
        return json.dumps(  # which is YAML too
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": name, "cluster": cluster}],
                "users": [{"name": name, "user": {"token": token}}],
                "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
                "current-context": name,
            },
            indent=1,
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def forget(directory: Path) -> None:
    """End the detached control plane that lives in this directory, if one does."""
    notes = directory / "plane.json"
    if not notes.exists():
        return
    known = json.loads(notes.read_text())
    for name, pid in reversed(known["programs"].items()):
        try:
            running = Path(f"/proc/{pid}/exe").readlink().name
        except OSError:
            continue
        if running == program(name).name:  # the number may be another program's by now
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(known["data"], ignore_errors=True)
    notes.unlink()
