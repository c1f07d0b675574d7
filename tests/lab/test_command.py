"""`fairlead cluster`, as a program of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

COMMAND = [sys.executable, "-m", "fairlead", "cluster"]


def test_it_serves_until_it_is_interrupted_and_cleans_up() -> None:
    with subprocess.Popen([*COMMAND, "--nodes", "2"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        first, second, third, last = (running.stdout.readline() for _ in range(4))
        server = first.split()[-1]
        kubeconfig = Path(second.split("KUBECONFIG=")[1].strip())
        with urllib.request.urlopen(f"{server}/api/v1/nodes", timeout=10) as answer:
            nodes = json.load(answer)["items"]
        assert [each["metadata"]["name"] for each in nodes] == ["node-1", "node-2"]
        assert server in kubeconfig.read_text()
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 0
    assert "kubectl get nodes" in third
    assert "Ctrl-C" in last
    assert not kubeconfig.exists()


def refused(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60)


def test_a_port_in_use_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = refused("--port", str(port))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"Error: port {port} on 127.0.0.1 is in use; choose another with --port, or 0 for any\n"
    )


def test_a_kubeconfig_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    ended = refused("--kubeconfig", str(tmp_path / "nowhere" / "config"))
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "No such file or directory" in ended.stderr
