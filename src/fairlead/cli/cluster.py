"""`fairlead cluster`: the embedded cluster alone, for kubectl or any other client."""

from __future__ import annotations

import errno
import signal
import tempfile
from pathlib import Path

import click

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free one",
    help="Port of the API on 127.0.0.1.",
)
@click.option(
    "--nodes",
    type=click.IntRange(0, 10_000),
    default=3,
    show_default=True,
    help="Ready nodes to begin with (4 CPUs, 16 GiB and 110 pods each).",
)
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the kubeconfig; else in a folder of its own that goes with the cluster.",
)
def cluster(port: int, nodes: int, kubeconfig: Path | None) -> None:
    """Serve a small Kubernetes API from this process until Ctrl-C.

    Nodes start bound pods and end them, Jobs, ReplicaSets and Deployments make pods; nothing
    schedules. Objects live in memory and are gone afterwards. The API asks nobody who he is, so
    it listens on 127.0.0.1 alone.

    \b
    Exit status:
      0  ended by Ctrl-C or SIGTERM
      1  the port is in use, or the kubeconfig cannot be written
      2  the command line is wrong

    \b
    Example:
      fairlead cluster --nodes 10 --port 8070 --kubeconfig cluster.yaml
    """
    import asyncio

    with tempfile.TemporaryDirectory(prefix="fairlead-") as folder:
        path = kubeconfig or Path(folder) / "kubeconfig"
        asyncio.run(_serve(port, nodes, path))


async def _serve(port: int, nodes: int, path: Path) -> None:
    from fairlead.lab.cluster import Cluster

    embedded = Cluster(port=port, nodes=nodes)
    try:
        async with embedded:
            _announce(embedded.server, embedded.write_kubeconfig(path), nodes)
            await _interrupted()
    except OSError as problem:
        raise click.ClickException(_words(problem, port)) from None


def _words(problem: OSError, port: int) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"port {port} on 127.0.0.1 is in use; choose another with --port, or 0 for any"
    if problem.errno == errno.EACCES and problem.filename is None:
        return f"port {port} on 127.0.0.1 may not be used: {problem.strerror}"
    return f"the cluster cannot start: {problem}"


def _announce(server: str, path: Path, nodes: int) -> None:
    click.echo(f"Embedded cluster with {nodes} nodes at {server}")
    click.echo(f"  export KUBECONFIG={path}")
    click.echo("  kubectl get nodes")
    click.echo("Ctrl-C ends it.")


async def _interrupted() -> None:
    """Return at Ctrl-C or SIGTERM."""
    import asyncio

    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for each in SIGNALS:
        loop.add_signal_handler(each, stop.set)
    try:
        await stop.wait()
    finally:
        for each in SIGNALS:
            loop.remove_signal_handler(each)
