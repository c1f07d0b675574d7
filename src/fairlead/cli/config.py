"""`fairlead config`: what is wrong with a configuration, and what it amounts to."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from fairlead.cli.reference import reference_options
from fairlead.config.errors import ConfigError, Problem
from fairlead.config.loading import Examination, examine, kubeconfig_fault, load, read_file
from fairlead.config.plugins import ProfilePlugins, check_groups, check_profiles
from fairlead.config.release import RELEASE_1_36, Release
from fairlead.config.survey import (
    election_faults,
    overfill_warnings,
    plugin_faults,
    unknown_names,
)

Points = Mapping[str, frozenset[str]]
_Callback = TypeVar("_Callback", bound=Callable[..., Any])

EXIT_FAULTY: Final = 1
_SHOWN_ORDER: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
)
"""The extension points as a pod meets them."""


class Verdict(msgspec.Struct, frozen=True):
    """What `config check` has found out about a file."""

    error: str | None
    """What kube-scheduler would end with; None if it would start."""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def config() -> None:
    """Check and show a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1).

    Both commands read the same file that kube-scheduler and fairlead take as --config, fill in
    the same defaults and find the same faults. Neither needs a cluster.
    """


def known_plugins(plugin_dir: Path | None) -> Points:
    """The extension points of every plugin that a configuration may name.

    The files of the folder are run, as the scheduler would run them; one that cannot be is an
    error of the command, not of the configuration.
    """
    built_in = RELEASE_1_36.catalogue
    if plugin_dir is None:
        return built_in
    from fairlead.extensions.folder import PluginLoadError, plugin_points

    try:
        own = plugin_points(plugin_dir)
    except PluginLoadError as error:
        raise click.ClickException(str(error)) from None
    for name in own.keys() & built_in.keys():
        words = f"plugin {name!r} is built in already; give it another name"
        raise click.ClickException(f"{plugin_dir}: {words}")
    return {**built_in, **own}


def _common(callback: _Callback) -> _Callback:
    callback = reference_options(callback)
    callback = click.option(
        "--plugin-dir",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A folder of your own plugins, whose names are then known too.",
    )(callback)
    return click.argument("file", type=click.Path(path_type=Path))(callback)


@config.command()
@_common
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    help="text: a line for each fault; json: the same for programs.",
)
def check(file: Path, plugin_dir: Path | None, output: str, release: Release) -> None:
    """Say everything that is wrong with FILE.

    The first line is what kube-scheduler itself would say. The lines after it name every fault
    with its place and, where a name is not known, the one that was probably meant.

    \b
    Exit status:
      0  the file is right: prints "ok" (warnings go to standard error)
      1  a scheduler would not start with it, or it (or a plugin) cannot be read
      2  the command line is wrong

    \b
    Example:
      fairlead config check scheduler.yaml && kubectl apply -f scheduler-configmap.yaml
    """
    verdict, examination = _judge(file, known_plugins(plugin_dir), release)
    located = [_locate(problem, examination) for problem in verdict.problems]
    warnings = [_locate(problem, examination) for problem in verdict.warnings]
    if output == "json":
        click.echo(json.dumps(_as_json(verdict, located, warnings), indent=2, ensure_ascii=False))
    else:
        for line in _lines(str(file), verdict, located):
            click.echo(line)
        for warning in warnings:
            click.echo(f"warning: {_line(str(file), warning)}", err=True)
    if verdict.error is not None:
        raise SystemExit(EXIT_FAULTY)


def _judge(file: Path, points: Points, release: Release) -> tuple[Verdict, Examination | None]:
    try:
        examination = examine(read_file(file), release)
    except ConfigError as error:
        return Verdict(str(error), error.problems), None
    found = examination.config
    if found is None:
        return Verdict(examination.error, examination.problems), examination
    faults = plugin_faults(found, points)
    kubeconfig = kubeconfig_fault(found)
    election = election_faults(found)
    error, profiles = examination.error, ()
    if error is None and kubeconfig is not None:
        error = kubeconfig.message
    try:
        profiles = check_profiles(found, points.get)
        check_groups(profiles)
    except ConfigError as refused:
        error = error or str(refused)
    if error is None and election:
        error = election[0].message
    problems = (
        *examination.problems,
        *([kubeconfig] if kubeconfig is not None else ()),
        *faults,
        *election,
    )
    warnings = (*overfill_warnings(profiles), *unknown_names(found, points))
    return Verdict(error, problems, warnings), examination


def _locate(problem: Problem, examination: Examination | None) -> Problem:
    if problem.line or not problem.path or examination is None:
        return problem
    return msgspec.structs.replace(problem, line=examination.line_of(problem.path))


def _lines(file: str, verdict: Verdict, problems: Sequence[Problem]) -> list[str]:
    if verdict.error is None:
        return ["ok"]
    details = [_line(file, problem) for problem in problems]
    return [verdict.error, *dict.fromkeys(details)]


def _line(file: str, problem: Problem) -> str:
    where = f"{file}:{problem.line}" if problem.line else file
    named = problem.path and problem.path not in problem.message
    path = f"{problem.path}: " if named else ""
    return f"{where}: {path}{problem.message}{_hint(problem)}"


def _hint(problem: Problem) -> str:
    """What was probably meant."""
    meant = nearest(problem.given, problem.known) if problem.given else ""
    if meant:
        return f' (did you mean "{meant}"?)'
    if problem.given and problem.message.endswith("does not exist"):
        return " (if it is a plugin of your own: --plugin-dir DIR makes it known)"
    if "cannot unmarshal bool" in problem.message and problem.message.endswith("type string"):
        return " (YAML reads yes, no, on, off, y and n as true or false: put it in quotes)"
    if "cannot unmarshal number" in problem.message and problem.message.endswith("type string"):
        return " (a text that looks like a number needs quotes)"
    return ""


def nearest(given: str, known: Sequence[str]) -> str:
    """The known name that is most like the given one, whatever its case; empty if none is."""
    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(given.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else ""


def _as_json(
    verdict: Verdict, problems: Sequence[Problem], warnings: Sequence[Problem]
) -> dict[str, Any]:
    def listed(items: Sequence[Problem]) -> list[dict[str, Any]]:
        return [
            {
                "message": item.message,
                "path": item.path,
                "line": item.line,
                "didYouMean": nearest(item.given, item.known) if item.given else "",
            }
            for item in items
        ]

    return {
        "ok": verdict.error is None,
        "error": verdict.error or "",
        "problems": listed(problems),
        "warnings": listed(warnings),
    }


@config.command()
@_common
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    help="table: a table for each profile; json, yaml: the same for programs.",
)
def show(file: Path, plugin_dir: Path | None, output: str, release: Release) -> None:
    """Show which plugins run where, and by what weight.

    Defaults and multiPoint are expanded. The plugins of an extension point are called from top to
    bottom. The weight is that by which a scorer's 0 to 100 points are multiplied; a plugin listed
    under `score` without a weight weighs 1, whatever it weighs by default.

    \b
    Example:
      fairlead config show scheduler.yaml
      fairlead config show scheduler.yaml -o json | jq '."default-scheduler".score'
    """
    try:
        profiles = check_profiles(load(read_file(file), release), known_plugins(plugin_dir).get)
    except ConfigError as error:
        click.echo(str(error), err=True)
        click.echo(f"All of its faults: fairlead config check {file}", err=True)
        raise SystemExit(EXIT_FAULTY) from None
    if output == "table":
        click.echo("\n\n".join(_table(profile) for profile in profiles))
        return
    plain = {profile.scheduler_name: _plain(profile) for profile in profiles}
    if output == "json":
        click.echo(json.dumps(plain, indent=2))
    else:
        click.echo(msgspec.yaml.encode(plain).decode().rstrip("\n"))


def _table(profile: ProfilePlugins) -> str:
    rows = [("EXTENSION POINT", "PLUGIN", "WEIGHT")]
    rows += [
        (point, plugin.name, str(plugin.weight) if plugin.weight else "")
        for point in _SHOWN_ORDER
        for plugin in profile.points[point]
    ]
    widths = [max(len(row[column]) for row in rows) + 3 for column in (0, 1)]
    lines = [
        f"{point.ljust(widths[0])}{name.ljust(widths[1])}{weight}".rstrip()
        for point, name, weight in rows
    ]
    return "\n".join((f"Profile {profile.scheduler_name}", "", *lines))


def _plain(profile: ProfilePlugins) -> dict[str, list[dict[str, Any]]]:
    return {
        point: [
            {"name": plugin.name, **({"weight": plugin.weight} if plugin.weight else {})}
            for plugin in profile.points[point]
        ]
        for point in _SHOWN_ORDER
        if profile.points[point]
    }
