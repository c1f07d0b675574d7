"""What goes wrong around the program: one line that says what to do, the exit code, no traceback.

0 is "asked to stop", 1 "it could not start or go on", 2 "wrong usage".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import fairlead.run
from fairlead.cli.main import main
from fairlead.config.loading import load
from fairlead.kube.access import ClusterAccess
from fairlead.profiles import BUILT_IN
from fairlead.run import Process, StartError
from tests.unit.cli.ports import free_port, full_port, taken_port

FAIRLEAD = str(Path(sys.executable).parent / "fairlead")
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
"""
WITH_PLUGIN = (
    CONFIG + "profiles: [{schedulerName: x, plugins: {filter: {enabled: [{name: Mine}]}}}]\n"
)
NOBODY = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def nothing_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No kubeconfig of the machine, relative paths as a user writes them, no log left behind."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("ok.yaml").write_text(CONFIG)
    Path("mine.yaml").write_text(WITH_PLUGIN)
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def told(*arguments: str, code: int = 1) -> str:
    """The one line that the command ends with."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    lines = [line for line in result.stderr.splitlines() if "version does not have" not in line]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("fairlead: ")
    return lines[0].removeprefix("fairlead: ")


@pytest.mark.parametrize("command", ["run", "demo"])
class TestConfigurations:
    """Of `run` and of `demo`, which take the same ones."""

    def test_one_that_is_not_there(self, command: str) -> None:
        assert told(command, "--config", "no.yaml") == "open no.yaml: no such file or directory"

    def test_a_folder_in_its_place(self, command: str) -> None:
        assert told(command, "--config", ".") == "read .: is a directory"

    def test_one_that_is_no_yaml(self, command: str) -> None:
        Path("broken.yaml").write_text("a: [")
        assert told(command, "--config", "broken.yaml").startswith("broken.yaml: yaml: line 1: ")

    def test_a_field_that_does_not_exist(self, command: str) -> None:
        Path("field.yaml").write_text(CONFIG + "parallelsim: 3\n")
        line = told(command, "--config", "field.yaml")
        assert line.startswith("field.yaml: ")
        assert 'unknown field "parallelsim"' in line

    def test_several_mistakes_are_still_one_line(self, command: str) -> None:
        Path("many.yaml").write_text(CONFIG + "parallelism: -1\npodInitialBackoffSeconds: -1\n")
        line = told(command, "--config", "many.yaml")
        assert "parallelism" in line
        assert "podInitialBackoffSeconds" in line

    def test_a_plugin_that_nobody_has(self, command: str) -> None:
        more = ("--master", NOBODY) if command == "run" else ()
        line = told(command, "--config", "mine.yaml", *more)
        assert line.endswith('FilterPlugin "Mine" does not exist')

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("import nosuch", "mine.py:1: ModuleNotFoundError: No module named 'nosuch'"),
            ("def x(:\n", "mine.py:1: SyntaxError: "),
            ("raise SystemExit(3)", "mine.py:1: SystemExit: 3"),
            ("class Mine:\n    name = 'Mine'\n", "no extension point"),
            (
                """
                class Mine:
                    name = "Mine"
                    def __init__(self):
                        raise ValueError("two\\nlines")
                    def filter(self, pod, node, state): ...
                """,
                "plugin 'Mine' failed in its constructor: ValueError: two lines (",
            ),
            (
                """
                class Mine:
                    name = "Mine"
                    def events_to_register(self):
                        return ["Pod"]
                    def filter(self, pod, node, state): ...
                """,
                "plugin 'Mine' failed in EventsToRegister: ValueError: ",
            ),
        ],
        ids=["import", "syntax", "exit", "points", "constructor", "events"],
    )
    def test_a_plugin_that_cannot_be_had(self, command: str, text: str, words: str) -> None:
        Path("plugins").mkdir()
        Path("plugins/mine.py").write_text(textwrap.dedent(text))
        more = ("--master", NOBODY) if command == "run" else ()
        assert words in told(command, "--config", "mine.yaml", "--plugin-dir", "plugins", *more)

    def test_a_folder_of_plugins_that_is_not_there(self, command: str) -> None:
        line = told(command, "--config", "ok.yaml", "--plugin-dir", "nowhere")
        assert line == "nowhere: no such folder of plugins"


def test_leader_election_is_refused_with_what_to_set() -> None:
    Path("elect.yaml").write_text(CONFIG.replace("false", "true"))
    line = told("run", "--config", "elect.yaml")
    assert "set leaderElection.leaderElect to false" in line
    assert told("run") == line  # it is kube-scheduler's default
    assert told("run", "--config", "ok.yaml", "--leader-elect=true") == line
    over = told("run", "--config", "elect.yaml", "--leader-elect=false", "--master", NOBODY)
    assert "connection refused" in over


def test_no_kubeconfig_at_all() -> None:
    line = told("run", "--config", "ok.yaml")
    assert "name a kubeconfig with --kubeconfig or KUBECONFIG" in line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "stat kubeconfig: no such file or directory"),
        ("a: [", 'error loading config file "kubeconfig": '),
        ("apiVersion: v1\nkind: Config\n", "no context chosen: current-context is empty"),
        (
            "clusters: [{name: c, cluster: {}}]\n"
            "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n",
            'no server found for cluster "c"',
        ),
        (
            "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1',"
            " certificate-authority: no.crt}}]\n"
            "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n",
            "no.crt",
        ),
    ],
    ids=["missing", "no yaml", "empty", "no server", "no authority"],
)
def test_a_kubeconfig_that_leads_nowhere(text: str | None, words: str) -> None:
    if text is not None:
        Path("kubeconfig").write_text(text)
    assert words in told("run", "--config", "ok.yaml", "--kubeconfig", "kubeconfig")


def test_an_authority_that_is_no_certificate() -> None:
    Path("ca.crt").write_text("no certificate")
    Path("kubeconfig").write_text(
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1',"
        " certificate-authority: ca.crt}}]\n"
        "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"
    )
    assert "certificate" in told("run", "--config", "ok.yaml", "--kubeconfig", "kubeconfig")


def test_a_cluster_that_refuses_connections() -> None:
    master = f"http://127.0.0.1:{free_port()}"
    line = told("run", "--config", "ok.yaml", "--master", master)
    assert line == (
        f"cannot reach the API server at {master}: connection refused;"
        " is it running, and is the server in the kubeconfig right?"
    )


def test_a_name_that_nobody_has() -> None:
    line = told("run", "--config", "ok.yaml", "--master", "http://nowhere.invalid")
    assert "no such host; check the server in the kubeconfig" in line


def test_an_address_that_is_none() -> None:
    line = told("run", "--config", "ok.yaml", "--master", "http://127.0.0.1:port")
    assert line.startswith("--master: host must be a URL or a host:port pair")


@pytest.mark.parametrize("port", [taken_port, full_port], ids=["silent", "swallows packets"])
async def test_a_cluster_that_does_not_answer_is_not_waited_for_long(
    port: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fairlead.run.PATIENCE <= 10
    monkeypatch.setattr(fairlead.run, "PATIENCE", 0.3)
    assert callable(port)
    with port() as number:
        access = ClusterAccess(server=f"http://127.0.0.1:{number}")
        process = Process(load(CONFIG), BUILT_IN, access)
        async with asyncio.timeout(5):
            with pytest.raises(StartError, match="no answer in time; check the network"):
                await process.run()


@contextlib.asynccontextmanager
async def web(status: str, body: str) -> AsyncIterator[ClusterAccess]:
    """A server that says the same to everybody."""
    answer = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer.encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield ClusterAccess(server=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


FORBIDDEN = """{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
"message": "nodes is forbidden: User \\"eve\\" cannot list resource \\"nodes\\"", "code": 403}"""


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        ("200 OK", "<html>hello</html>", "does not answer as a Kubernetes API server: "),
        ("404 Not Found", "nothing here", "does not answer as a Kubernetes API server: "),
        ("302 Found", "elsewhere", "does not answer as a Kubernetes API server: "),
        ("401 Unauthorized", "Unauthorized", "does not know us (Unauthorized); check the cred"),
        ("403 Forbidden", FORBIDDEN, 'missing permission: nodes is forbidden: User "eve" cannot'),
    ],
)
async def test_a_server_that_says_something_else(status: str, body: str, words: str) -> None:
    async with web(status, body) as access:
        process = Process(load(CONFIG), BUILT_IN, access)
        with pytest.raises(StartError) as ended:
            await process.run()
    assert words in str(ended.value)
    assert "\n" not in str(ended.value)


def test_wrong_usage_is_two() -> None:
    for arguments in (("--nosuch",), ("-v", "loud"), ("--logging-format", "xml"), ("more",)):
        result = CliRunner().invoke(main, ["run", *arguments])
        assert result.exit_code == 2
        assert "Usage: fairlead run" in result.stderr


@pytest.mark.parametrize("name", ["run", "demo", "cluster"])
def test_the_help_names_the_exit_codes(name: str) -> None:
    shown = " ".join(CliRunner().invoke(main, [name, "--help"]).output.split())
    assert re.search(r"Exit (codes|status): 0 .*\b1 .*\b2 .*(wrong|usage)", shown)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_the_first_question_ends_it(number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)  # a process that never asks is a failure, not a test without end
        master = f"http://127.0.0.1:{listening.getsockname()[1]}"
        process = subprocess.Popen(
            [FAIRLEAD, "run", "--config", "ok.yaml", "--master", master],
            stderr=subprocess.PIPE,
            text=True,
        )
        asking, _ = listening.accept()
        with asking:
            process.send_signal(number)
            _, err = process.communicate(timeout=8)
    assert process.returncode == 0, err
    assert "Traceback" not in err


STUBBORN = """
import asyncio, uvloop
from fairlead.run import stop_on_signals

class Stubborn:
    def stop(self):
        print("stopping", flush=True)

async def work():
    stop_on_signals(Stubborn())
    print("ready", flush=True)
    await asyncio.sleep(60)

{run}(work())
"""


@pytest.mark.parametrize("run", ["asyncio.run", "uvloop.run"])
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(run: str, second: signal.Signals) -> None:
    program = [sys.executable, "-c", STUBBORN.format(run=run)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for expected in ("ready\n", "stopping\n"):
        assert process.stdout.readline() == expected
        process.send_signal(signal.SIGTERM if expected == "ready\n" else second)
    _, err = process.communicate(timeout=8)
    assert process.returncode == -second
    assert err == ""
