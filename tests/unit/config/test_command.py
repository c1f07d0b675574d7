"""`fairlead config check` and `fairlead config show`, as a user calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from fairlead.cli.config import config, nearest
from fairlead.cli.main import main

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FAULTY = (
    HEAD
    + """\
Parallelism: 4
leaderElection: {resourceLock: lease}
profiles:
- schedulerName: yes
  plugins:
    scores: {}
    score:
      enabled:
      - name: ImageLocalty
      - name: NodeName
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: mostAllocated
"""
)


def call(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(config, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_a_file_that_is_right(file: Path) -> None:
    file.write_text(HEAD)
    result = call("check", file)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "ok\n", "")


def test_all_faults_with_line_and_nearest_name(file: Path) -> None:
    file.write_text(FAULTY)
    result = call("check", file)
    assert result.exit_code == 1
    bool_hint = "YAML reads yes, no, on, off, y and n as true or false: put it in quotes"
    first, *rest = result.stdout.splitlines()
    assert first == (
        "json: cannot unmarshal bool into Go struct field"
        " KubeSchedulerProfile.profiles.schedulerName of type string"
    )
    assert rest == [
        f'{file}:3: unknown field "Parallelism" (did you mean "parallelism"?)',
        f'{file}:8: unknown field "profiles[0].plugins.scores" (did you mean "score"?)',
        f"{file}:6: profiles[0].schedulerName: {first} ({bool_hint})",
        f'{file}:4: leaderElection.resourceLock: Invalid value: "lease": resourceLock value'
        ' must be "leases" (did you mean "leases"?)',
        f"{file}:17: profiles[0].pluginConfig[0].args.scoringStrategy.type: initializing plugin"
        ' "NodeResourcesFit": scoringStrategy.type: Unsupported value: "mostAllocated":'
        ' supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
        ' (did you mean "MostAllocated"?)',
        f'{file}:11: profiles[0].plugins.score.enabled[0]: ScorePlugin "ImageLocalty" does not'
        ' exist (did you mean "ImageLocality"?)',
        f'{file}:12: profiles[0].plugins.score.enabled[1]: plugin "NodeName" does not extend'
        " ScorePlugin plugin",
    ]


def test_faults_for_programs(file: Path) -> None:
    file.write_text(FAULTY)
    result = call("check", file, "-o", "json")
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert not found["ok"]
    assert found["error"].startswith("json: cannot unmarshal bool")
    assert found["problems"][0] == {
        "message": 'unknown field "Parallelism"',
        "path": "Parallelism",
        "line": 3,
        "didYouMean": "parallelism",
    }


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ["Object 'Kind' is missing in ''", ":1: kind: Object 'Kind' is missing"]),
        (
            HEAD + "\tprofiles: []\n",
            [
                "yaml: line 3: found a tab character that violates indentation",
                ":3: yaml: line 3: found a tab character that violates indentation",
            ],
        ),
    ],
)
def test_text_that_is_no_configuration(file: Path, text: str, lines: list[str]) -> None:
    file.write_text(text)
    result = call("check", file)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [lines[0], f"{file}{lines[1]}"]


def test_an_old_version(file: Path) -> None:
    file.write_text(HEAD.replace("/v1", "/v1beta3"))
    result = call("check", file)
    assert result.exit_code == 1
    assert '(did you mean "kubescheduler.config.k8s.io/v1"?)' in result.stdout


def test_exit_codes(tmp_path: Path) -> None:
    missing = tmp_path / "no.yaml"
    for command in ("check", "show"):
        result = call(command, missing)
        assert result.exit_code == 1
        assert f"open {missing}: no such file or directory" in result.output
        assert call(command).exit_code == 2
        assert call(command, missing, "--no-such-option").exit_code == 2


def test_filters_that_are_missed(file: Path) -> None:
    file.write_text(
        HEAD
        + "profiles:\n- plugins:\n    filter:\n      disabled:\n      - name: NodeResourcesFit\n"
        "      - name: TaintToleratio\n"
    )
    result = call("check", file)
    assert (result.exit_code, result.stdout) == (0, "ok\n")
    assert result.stderr.splitlines() == [
        f'warning: {file}:5: profiles[0].plugins.filter: profile "default-scheduler" does not run'
        " the Filter of NodeResourcesFit: nodes may be overfilled",
        f"warning: {file}:8: profiles[0].plugins.filter.disabled[1]: there is no plugin"
        ' "TaintToleratio" to disable (did you mean "TaintToleration"?)',
    ]
    file.write_text(HEAD + "profiles: [{plugins: {filter: {disabled: [{name: '*'}]}}}]")
    warned = call("check", file).stderr
    for name in ("NodeResourcesFit", "TaintToleration", "NodeUnschedulable"):
        assert f"does not run the Filter of {name}: nodes may be overfilled" in warned


def test_a_leader_that_could_not_be_elected(file: Path) -> None:
    file.write_text(HEAD + "leaderElection: {renewDeadline: 2s, retryPeriod: 2s}\n")
    result = call("check", file)
    assert result.exit_code == 1
    words = "renewDeadline must be greater than retryPeriod*JitterFactor"
    assert result.stdout.splitlines() == [
        f"couldn't create leader elector: {words}",
        f"{file}:3: leaderElection.renewDeadline: couldn't create leader elector: {words}",
    ]


def test_show_is_a_table(file: Path) -> None:
    file.write_text(
        HEAD + "profiles:\n- schedulerName: one\n  plugins:\n    score: {disabled: [{name: '*'}]}\n"
        "- schedulerName: two\n  plugins: {score: {enabled: [{name: NodeAffinity, weight: 5}]}}\n"
    )
    result = call("show", file)
    assert result.exit_code == 0
    one, two = result.stdout.split("\n\nProfile two\n\n")
    assert one.splitlines()[:4] == [
        "Profile one",
        "",
        "EXTENSION POINT   PLUGIN                            WEIGHT",
        "preEnqueue        SchedulingGates",
    ]
    assert "\nscore " not in one
    assert "\nscore             NodeAffinity                      5\n" in two


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_show_for_programs(file: Path, output: str, read: Callable[[str], Any]) -> None:
    file.write_text(HEAD)
    result = call("show", file, "-o", output)
    shown = read(result.stdout)["default-scheduler"]
    assert shown["queueSort"] == [{"name": "PrioritySort"}]
    assert shown["score"][0] == {"name": "TaintToleration", "weight": 3}
    assert "permit" not in shown


def test_show_refuses_what_does_not_start(file: Path) -> None:
    file.write_text(FAULTY)
    result = call("show", file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[1] == f"All of its faults: fairlead config check {file}"


OWN = """\
class Blink:
    name = "Blink"

    def score(self, state, pod, node):
        return 0
"""


def test_own_plugins_are_known_by_their_folder(file: Path, tmp_path: Path) -> None:
    file.write_text(HEAD + "profiles: [{plugins: {score: {enabled: [{name: Blink, weight: 3}]}}}]")
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "blink.py").write_text(OWN)
    without = call("check", file)
    assert without.exit_code == 1
    assert "--plugin-dir DIR makes it known" in without.stdout
    assert call("check", file, "--plugin-dir", folder).stdout == "ok\n"
    shown = call("show", file, "--plugin-dir", folder).stdout
    assert "\nscore             Blink                             3\n" in shown + "\n"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def broken(:\n", "blink.py:1: SyntaxError"),
        (OWN.replace('"Blink"', '"NodeName"'), "plugin 'NodeName' is built in already"),
    ],
)
def test_a_folder_that_is_of_no_use(file: Path, tmp_path: Path, source: str, words: str) -> None:
    file.write_text(HEAD)
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "blink.py").write_text(source)
    result = call("check", file, "--plugin-dir", folder)
    assert result.exit_code == 1
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


KUBECONFIG = "stat /etc/srv/kubernetes/kube-scheduler/kubeconfig: no such file or directory"
BUILDING = "initializing profiles: creating profile for scheduler name"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("config-1-most-allocated.yaml", None),
        ("config-2-kubeconfig.yaml", KUBECONFIG),
        (
            "config-3-custom-plugins.yaml",
            f'{BUILDING} default-scheduler: ScorePlugin "MyCustomPluginA" does not exist',
        ),
        (
            "config-4-low-cpu.yaml",
            f'{BUILDING} lowcpu-scheduler: FilterPlugin "LowCpuScheduler" does not exist',
        ),
    ],
)
def test_the_documents_configurations(name: str, error: str | None) -> None:
    result = call("check", SEEDS / name)
    assert result.exit_code == (1 if error else 0)
    assert result.stdout.splitlines()[0] == (error or "ok")


@pytest.mark.parametrize(
    ("given", "known", "found"),
    [
        ("Parallelism", ("parallelism", "profiles"), "parallelism"),
        ("NodeAfinity", ("NodeAffinity", "NodeName"), "NodeAffinity"),
        ("zzz", ("NodeAffinity",), ""),
    ],
)
def test_the_nearest_name(given: str, known: tuple[str, ...], found: str) -> None:
    assert nearest(given, known) == found


@pytest.mark.parametrize("arguments", [[], ["config"], ["config", "check"], ["config", "show"]])
def test_every_command_explains_itself(arguments: list[str]) -> None:
    for flag in ("-h", "--help"):
        result = CliRunner().invoke(main, [*arguments, flag])
        assert result.exit_code == 0
        assert result.stdout.startswith("Usage: ")
