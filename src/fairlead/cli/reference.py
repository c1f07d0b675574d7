"""What a scheduler is held to: the options that choose a Release, without any heavy import."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from fairlead.config.errors import ConfigError
from fairlead.config.feature_gates import with_feature_gates
from fairlead.config.release import RELEASE_1_36


def reference_options(command: Callable[..., Any]) -> Any:
    """`--feature-gates` and `--strict-reference`, handed to the command as one `release`."""

    @functools.wraps(command)
    def held_to(
        *arguments: object, feature_gates: tuple[str, ...], strict_reference: bool, **rest: object
    ) -> object:
        try:
            release = with_feature_gates(RELEASE_1_36, feature_gates)
        except ConfigError as problem:
            click.echo(f"fairlead: {problem}", err=True)
            raise SystemExit(1) from None
        return command(
            *arguments, release=release.strictly() if strict_reference else release, **rest
        )

    options: Any = held_to
    for option in (
        click.option(
            "--strict-reference",
            is_flag=True,
            help="Follow kube-scheduler to the letter, also where docs/differences.md names a"
            " better way.",
        ),
        click.option(
            "--feature-gates",
            multiple=True,
            metavar="A=true,B=false",
            help="Features to turn on or off, by the names and with the defaults of"
            f" kube-scheduler {RELEASE_1_36.version}.",
        ),
    ):
        options = option(options)
    return options
