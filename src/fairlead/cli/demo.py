"""`fairlead demo`: an embedded cluster and the scheduler on it, in one process, to look at."""

import asyncio
import errno
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import click

from fairlead import __version__
from fairlead.cli.options import (
    fail,
    known_classes,
    log_options,
    plugin_options,
    read_configuration,
)
from fairlead.cli.run import start
from fairlead.cli.workloads import NODES, TOO_BIG, node, workloads
from fairlead.config.errors import ConfigError
from fairlead.config.types import KubeSchedulerConfiguration
from fairlead.extensions.folder import PluginLoadError
from fairlead.framework.status import PluginError
from fairlead.kube.errors import KubeError
from fairlead.kube.kubeconfig import load_kubeconfig
from fairlead.lab.cluster import Cluster
from fairlead.model.podinfo import PodInfo
from fairlead.observe.logs import configure
from fairlead.run import Listeners, Process, StartError, stop_on_signals

PATIENCE = 60.0
COLUMNS = "  {:<14} {:<10} {}"


@dataclass(slots=True)
class Stage:
    """What has happened so far, and what is still to come."""

    once: bool
    wanted: int = 0
    bound: set[str] = field(default_factory=set[str])
    pending: set[str] = field(default_factory=set[str])
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def on_bound(self, pod: PodInfo, node_name: str) -> None:
        self.bound.add(pod.name)
        self.pending.discard(pod.name)
        say(COLUMNS.format(pod.name, node_name, pod.scheduler_name))
        self._look()

    def on_failed(self, pod: PodInfo, message: str) -> None:
        if pod.name not in self.pending:
            say(COLUMNS.format(pod.name, "-", message))
        self.pending.add(pod.name)
        self._look()

    def _look(self) -> None:
        if len(self.bound - {TOO_BIG}) >= self.wanted and TOO_BIG in self.bound | self.pending:
            self.done.set()

    @property
    def summary(self) -> str:
        """What the demo has shown; a configuration may have left out what keeps a pod waiting."""
        placed = f"{len(self.bound)} pods placed"
        if TOO_BIG in self.bound:
            return f"{placed}; {TOO_BIG} too, for this configuration does not look at resources."
        return f"{placed}; {TOO_BIG} stays pending, as it must."


def say(line: str) -> None:
    """Print a line, unless nobody reads any more: that is no reason to stop."""
    try:
        click.echo(line)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.command(epilog="Exit codes: 0 all placed, or asked to stop; 1 failed; 2 wrong usage.")
@click.option("--once", is_flag=True, help="End when everything that fits is placed.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free one",
    help="Port of the embedded API on 127.0.0.1.",
)
@plugin_options
@log_options
def demo(
    once: bool,
    port: int,
    config_file: Path | None,
    plugin_dirs: tuple[Path, ...],
    verbosity: int,
    logging_format: str,
) -> None:
    """Show pods being placed, on a cluster inside of this process.

    \b
    Four nodes, a ReplicaSet, a Job, a pod for a plugin of your own, and a pod
    that is too big: you see where each goes, and why one stays pending. The
    cluster answers kubectl until Ctrl-C.

    \b
      fairlead demo
      fairlead demo --once
      fairlead demo --config scheduler.yaml --plugin-dir plugins/

    Without --config it runs examples/01-first-plugin: BlinkingLight, ten lines
    of Python, places the pod "lamp" where the most lights blink.
    """
    # Between its own lines the demo shows warnings, and what is asked for with -v.
    configure("json" if logging_format == "json" else "text", verbosity or -1)
    example = example_folder()
    try:
        if config_file is None:
            config_file, plugin_dirs = example / "scheduler.yaml", (example, *plugin_dirs)
        configuration = read_configuration(config_file)
        classes = known_classes(plugin_dirs)
        with tempfile.TemporaryDirectory(prefix="fairlead-") as folder:
            kubeconfig = Path(folder) / "kubeconfig"
            start_demo(configuration, classes, kubeconfig, port, once, config_file)
    except (ConfigError, PluginLoadError, PluginError, KubeError, StartError) as problem:
        fail(problem)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            fail(f"port {port} on 127.0.0.1 is in use; choose another with --port")
        fail(problem)


def start_demo(
    configuration: KubeSchedulerConfiguration,
    classes: dict[str, type],
    kubeconfig: Path,
    port: int,
    once: bool,
    config_file: Path,
) -> None:
    async def show() -> None:
        async with Cluster(port=port) as cluster:
            for name, zone, lights in NODES:
                cluster.create(node(name, zone, lights))
            cluster.write_kubeconfig(kubeconfig)
            stage = Stage(once)
            listeners = Listeners(stage.on_bound, stage.on_failed)
            access = load_kubeconfig(str(kubeconfig))
            process = Process(configuration, classes, access, listeners=listeners)
            listeners.ready = lambda: submit(cluster, process, stage)
            stop_on_signals(process)
            say(f"Fairlead {__version__} on an embedded cluster of {len(NODES)} nodes\n")
            say(COLUMNS.format("POD", "NODE", "PLACED BY, OR WHY NOT"))
            async with asyncio.TaskGroup() as group:
                finishing = group.create_task(finish(stage, process, kubeconfig, config_file))
                await process.run()
                finishing.cancel()

    start(show)


def submit(cluster: Cluster, process: Process, stage: Stage) -> None:
    """Create the workloads, now that somebody is there to place them."""
    names = list(process.core.profiles)
    objects, stage.wanted = workloads(names[0], names[-1])
    for each in objects:
        cluster.create(each)


async def finish(stage: Stage, process: Process, kubeconfig: Path, config_file: Path) -> None:
    """Say how to go on once all is placed, or that it never was."""
    try:
        async with asyncio.timeout(PATIENCE):
            await stage.done.wait()
    except TimeoutError:
        process.stop()
        raise StartError(
            f"only {len(stage.bound)} of {stage.wanted} pods found a node in {PATIENCE:g} s"
        ) from None
    if stage.once:
        say(f"\n{stage.summary}")
        process.stop()
        return
    say(
        "\nThe cluster stays up until Ctrl-C. In another terminal:\n"
        f"  export KUBECONFIG={kubeconfig}\n"
        "  kubectl get pods -o wide\n"
        f"  kubectl describe pod {TOO_BIG}\n"
        "Then change the plugin, or write your own:\n"
        f"  fairlead config show {config_file} --plugin-dir {config_file.parent}"
    )


def example_folder() -> Path:
    """The first example: in the wheel beside the package, in a checkout at its root."""
    package = Path(__file__).parent.parent
    for folder in (package / "examples", package.parent.parent / "examples"):
        if (folder / "01-first-plugin").is_dir():
            return folder / "01-first-plugin"
    raise StartError("the example that the demo runs is missing from this installation")
