"""The command itself: its table, its version, and what it does not import."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from fairlead import __version__
from fairlead.cli.main import COMMANDS, main


def test_the_version() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.output == f"fairlead {__version__}\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_there(name: str) -> None:
    module, _, attribute = COMMANDS[name].target.partition(":")
    assert isinstance(getattr(import_module(module), attribute), click.Command)
    help_text = CliRunner().invoke(main, [name, "--help"])
    assert help_text.exit_code == 0
    assert help_text.output.startswith(f"Usage: fairlead {name} ")


def test_help_names_every_command() -> None:
    shown = CliRunner().invoke(main, ["--help"]).output
    for name, entry in COMMANDS.items():
        assert f"  {name}" in shown
        assert entry.summary in shown


def test_a_mistyped_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["confg"])
    assert result.exit_code == 2
    assert "No such command 'confg'" in result.stderr


def test_arguments_reach_the_command() -> None:
    result = CliRunner().invoke(main, ["config", "check", "/no/such/file", "-o", "json"])
    assert result.exit_code == 1
    assert '"error": "open /no/such/file: no such file or directory"' in result.stdout


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from fairlead.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print(sorted({'numpy', 'aiohttp', 'msgspec', 'yaml'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairlead", "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"fairlead {__version__}\n"
