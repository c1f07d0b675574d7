"""`fairlead run`: the scheduler."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import click

from fairlead.cli.options import (
    fail,
    known_classes,
    kubeconfig_path,
    log_options,
    plugin_options,
    read_configuration,
)
from fairlead.cli.reference import reference_options
from fairlead.config.errors import ConfigError
from fairlead.config.release import Release
from fairlead.extensions.folder import PluginLoadError
from fairlead.framework.status import PluginError
from fairlead.kube.errors import KubeError
from fairlead.kube.kubeconfig import load_kubeconfig
from fairlead.observe.logs import configure, get_logger
from fairlead.profiles import missing_plugins
from fairlead.run import Process, StartError, stop_on_signals

log = get_logger(__name__)

ELECTION = (
    "leader election is not supported yet: set leaderElection.leaderElect to false in the"
    " configuration, or pass --leader-elect=false, and run one scheduler per schedulerName"
)


@click.command(epilog="Exit codes: 0 asked to stop; 1 it could not start or go on; 2 wrong usage.")
@plugin_options
@click.option("--kubeconfig", metavar="FILE", help="How to reach the cluster and as whom.")
@click.option("--context", metavar="NAME", help="The context of the kubeconfig to use.")
@click.option("--master", metavar="URL", help="The address of the API server, if another.")
@click.option(
    "--leader-elect",
    type=bool,
    default=None,
    metavar="BOOL",
    help="Overrules leaderElection.leaderElect of the configuration.",
)
@reference_options
@log_options
def run(
    config_file: Path | None,
    plugin_dirs: tuple[Path, ...],
    kubeconfig: str | None,
    context: str | None,
    master: str | None,
    leader_elect: bool | None,
    release: Release,
    verbosity: int,
    logging_format: str,
) -> None:
    """Run the scheduler on a cluster.

    \b
    It places the pods whose spec.schedulerName is that of a profile of the
    configuration (without one: default-scheduler), until SIGTERM or Ctrl-C.

    \b
      fairlead run --config scheduler.yaml
      fairlead run --config scheduler.yaml --plugin-dir plugins/ -v=2

    The cluster is found by --kubeconfig, else by clientConnection.kubeconfig of the
    configuration, else by $KUBECONFIG, ~/.kube/config, or the pod's service account.
    """
    configure("json" if logging_format == "json" else "text", verbosity)
    try:
        configuration = read_configuration(config_file, release)
        path = None if master and not kubeconfig else kubeconfig_path(kubeconfig, configuration)
        election = configuration.leader_election.leader_elect
        if election if leader_elect is None else leader_elect:
            fail(ELECTION)
        classes = known_classes(plugin_dirs)
        access = load_kubeconfig(path, context, master)

        async def until_stopped() -> None:
            process = Process(configuration, classes, access, release=release)
            if missing := missing_plugins(configuration, process.core.profiles):
                log.warning("Plugins are enabled that this version does not have", plugins=missing)
            stop_on_signals(process)
            await process.run()

        start(until_stopped)
    except (ConfigError, PluginLoadError, PluginError, KubeError, StartError) as problem:
        fail(problem)


def start(work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run it to its end, on uvloop where there is one; of several failures the first is told."""
    try:
        try:
            import uvloop
        except ImportError:
            asyncio.run(work())
        else:
            uvloop.run(work())
    except BaseExceptionGroup as group:
        raise first_of(group) from None


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    problem = group.exceptions[0]
    return first_of(problem) if isinstance(problem, BaseExceptionGroup) else problem
