"""What the commands that run a scheduler share: its options, and how they fail."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from fairlead.config.errors import ConfigError
from fairlead.config.loading import kubeconfig_fault, load, load_file
from fairlead.config.release import RELEASE_1_36, Release
from fairlead.config.types import KubeSchedulerConfiguration
from fairlead.extensions.folder import with_folders
from fairlead.profiles import BUILT_IN

Command = TypeVar("Command", bound=Callable[..., Any])

EMPTY = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Level(click.ParamType[int]):
    """A verbosity, as Go's flags take it too: `-v 2`, `-v2`, `-v=2`, `--v=2`."""

    name = "level"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        text = str(value).removeprefix("=")
        if not text.isdecimal():
            self.fail(f"{text!r} is not a level such as 2", param, ctx)
        return int(text)


def plugin_options(command: Command) -> Command:
    """`--config` and `--plugin-dir`, as `run` and `demo` take them."""
    for option in (
        click.option(
            "--plugin-dir",
            "plugin_dirs",
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="DIR",
            help="Know the plugin classes of all .py files in DIR by their names. The configuration"
            " enables them as it does any other. May be given more than once.",
        ),
        click.option(
            "--config",
            "config_file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1).",
        ),
    ):
        command = option(command)
    return command


def log_options(command: Command) -> Command:
    for option in (
        click.option(
            "--logging-format",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="How log lines look; they go to stderr.",
        ),
        click.option(
            "-v",
            "--v",
            "verbosity",
            type=Level(),
            default=0,
            metavar="LEVEL",
            help="How much to log: 2 tells of every pod, 5 of nearly everything.",
        ),
    ):
        command = option(command)
    return command


def fail(problem: object) -> NoReturn:
    """One line on stderr, exit code 1: the user's surroundings are not what they must be."""
    text = " ".join(line.strip() for line in str(problem).splitlines() if line.strip())
    click.echo(f"fairlead: {text or type(problem).__name__}", err=True)
    raise SystemExit(1)


def read_configuration(
    file: Path | None, release: Release = RELEASE_1_36
) -> KubeSchedulerConfiguration:
    """The configuration, or the defaults. Raises ConfigError in kube-scheduler's words.

    Its words name no file where they name a line: then the file is put before them.
    """
    if file is None:
        return load(EMPTY, release)
    try:
        return load_file(file, release)
    except ConfigError as problem:
        if str(file) in str(problem):
            raise
        raise ConfigError(f"{file}: {problem}", problem.problems) from None


def known_classes(folders: Sequence[Path]) -> dict[str, type]:
    """The built-in plugins and those of the folders. Raises PluginLoadError."""
    return with_folders(BUILT_IN, tuple(folders))


def kubeconfig_path(flag: str | None, configuration: KubeSchedulerConfiguration) -> str | None:
    """Which kubeconfig counts: the flag, the configuration, $KUBECONFIG, ~/.kube/config.

    None means the pod's own service account. Raises ConfigError if the configuration names a file
    that is not there.
    """
    if flag:
        return flag
    fault = kubeconfig_fault(configuration)
    if fault is not None:
        raise ConfigError(fault.message, [fault])
    if configuration.client_connection.kubeconfig:
        return configuration.client_connection.kubeconfig
    if from_environment := os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]:
        return from_environment
    own = Path.home() / ".kube" / "config"
    return str(own) if own.exists() else None
