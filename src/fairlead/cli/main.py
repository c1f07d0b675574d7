"""The command `fairlead`: a table of its commands, each imported only when it is called.

`fairlead --help` and a mistyped command thus answer at once, without the scheduler's libraries.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import click

from fairlead import __version__

HELP: Final = """A Kubernetes scheduler that people extend in Python.

\b
To begin with:
  fairlead demo                 pods being placed, on a cluster inside of the process
  fairlead run --config FILE    the scheduler, on your cluster
  fairlead config check FILE    what is wrong with a KubeSchedulerConfiguration
  fairlead config show FILE     which plugins run where, and with what weight

Every command explains itself: fairlead COMMAND --help
"""


class Entry(NamedTuple):
    """Where a command lives, and its line in the help."""

    target: str
    """`module:attribute` of a click command."""
    summary: str


COMMANDS: Final[Mapping[str, Entry]] = MappingProxyType(
    {
        "demo": Entry("fairlead.cli.demo:demo", "Watch pods being placed, without a cluster."),
        "cluster": Entry("fairlead.cli.cluster:cluster", "Serve an embedded cluster alone."),
        "run": Entry("fairlead.cli.run:run", "Run the scheduler on a cluster."),
        "config": Entry("fairlead.cli.config:config", "Check and show configurations."),
    }
)


def _lazy(name: str, entry: Entry) -> click.Command:
    """A command that hands its arguments on to the real one, which is imported only then."""

    @click.pass_context
    def forward(context: click.Context, arguments: tuple[str, ...]) -> None:
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        with command.make_context(name, list(arguments), parent=context.parent) as real:
            command.invoke(real)

    return click.Command(
        name,
        callback=forward,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        add_help_option=False,
        short_help=entry.summary,
    )


main: Final = click.Group(
    "fairlead",
    help=HELP,
    commands={name: _lazy(name, entry) for name, entry in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, prog_name="fairlead", message="%(prog)s %(version)s")(main)
