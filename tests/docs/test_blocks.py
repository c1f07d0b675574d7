"""The blocks of the documents that can be run without a cluster, run as a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import fairlead.framework.stages as stages

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "tests" / "fixtures" / "seeds"
FAIRLEAD = Path(sys.executable).parent / "fairlead"


def fairlead(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(FAIRLEAD), *arguments], capture_output=True, text=True)


def test_the_first_configuration_loads() -> None:
    config = str(SEEDS / "config-1-most-allocated.yaml")
    checked = fairlead("config", "check", config)
    assert checked.returncode == 0, checked.stderr
    shown = fairlead("config", "show", config)
    assert shown.returncode == 0, shown.stderr
    assert "my-custom-scheduler" in shown.stdout
    assert "NodeResourcesFit" in shown.stdout


def test_the_second_ends_at_the_missing_kubeconfig() -> None:
    config = str(SEEDS / "config-2-kubeconfig.yaml")
    ended = fairlead("run", "--leader-elect=false", "--config", config)
    missing = "stat /etc/srv/kubernetes/kube-scheduler/kubeconfig: no such file or directory"
    assert ended.returncode == 1
    assert missing in ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ("config-3-custom-plugins.yaml", 'ScorePlugin "MyCustomPluginA" does not exist'),
        ("config-4-low-cpu.yaml", 'FilterPlugin "LowCpuScheduler" does not exist'),
    ],
)
def test_a_plugin_that_is_not_there_is_named(block: str, words: str) -> None:
    checked = fairlead("config", "check", str(SEEDS / block))
    assert checked.returncode == 1
    assert words in checked.stdout + checked.stderr
    assert "Traceback" not in checked.stderr


def test_the_config_map_holds_the_first_configuration() -> None:
    config_map = yaml.safe_load((SEEDS / "plugin-demo/06.yaml").read_text())
    text = config_map["data"]["my-scheduler-config.yaml"]
    assert text.strip() == (SEEDS / "config-1-most-allocated.yaml").read_text().strip()


def test_a_flag_that_kube_scheduler_does_not_have_is_refused() -> None:
    """A scheduler is named by its profiles; kube-scheduler 1.36 refuses this flag as well."""
    _, *arguments = (SEEDS / "custom-plugins/04.sh").read_text().split()
    refused = fairlead("run", *arguments)
    assert refused.returncode == 2
    assert "--scheduler-name" in refused.stderr


@pytest.mark.parametrize("block", ["09.go", "10.go", "11.go", "14.go"])
def test_the_extension_points_are_there_by_name(block: str) -> None:
    """The blocks are plugin-demo/09.go, plugin-demo/10.go, plugin-demo/11.go, plugin-demo/14.go."""
    text = (SEEDS / "plugin-demo" / block).read_text()
    named = re.findall(r"^type (\w+)Plugin interface", text, re.MULTILINE)
    assert named
    assert [name for name in named if not hasattr(stages, name)] == []


def test_blinking_light_is_the_first_example() -> None:
    """What plugin-demo/12.go and plugin-demo/13.go do in Go, the first example does in Python.

    How it is run, and with what output, is in the test of the examples.
    """
    score, normalize = ((SEEDS / "plugin-demo" / block).read_text() for block in ("12.go", "13.go"))
    assert "func ScoreNode" in score
    assert "func NormalizeScores" in normalize
    example = ROOT / "examples" / "01-first-plugin"
    text = "\n".join(file.read_text() for file in example.rglob("*.py"))
    assert "class BlinkingLight" in text
    assert {"score", "normalize_score"} <= set(re.findall(r"def (\w+)\(", text))
