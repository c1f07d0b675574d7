"""The examples, run as their README says, with the output that they promise."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fairlead import __version__
from fairlead.cli.workloads import LIGHTS
from fairlead.config.loading import load_file
from fairlead.extensions.folder import load_folder

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FIRST = EXAMPLES / "01-first-plugin"
GENERATED = re.compile(r"\b(web|batch)-[a-z0-9]{5}\b *")


def commands(page: Path) -> list[list[str]]:
    """The indented lines of a page that call `fairlead`."""
    found = re.findall(r"^    (fairlead .*)$", page.read_text(), re.MULTILINE)
    return [shlex.split(line) for line in found]


def likeness(text: str) -> Counter[str]:
    """The lines, in any order, without what differs from run to run: the ends of generated names,
    and which of the machines that are alike got which of the pods that are."""
    text = re.sub(r"^(  web-\w+ +)node-[123]\b", r"\1node-N", text, flags=re.MULTILINE)
    return Counter(GENERATED.sub(r"\1-XXXXX ", text).splitlines())


def fairlead(*arguments: str, folder: Path = EXAMPLES) -> str:
    program = str(Path(sys.executable).parent / "fairlead")
    done = subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_first_example_runs_as_its_page_says() -> None:
    (demo,) = (line for line in commands(FIRST / "README.md") if line[1] == "demo")
    shown = fairlead(*demo[1:])
    assert likeness(shown) == likeness((FIRST / "expected.txt").read_text())


def test_what_is_expected_is_of_this_version() -> None:
    assert (FIRST / "expected.txt").read_text().startswith(f"Fairlead {__version__} ")


def test_the_demo_alone_is_the_first_example() -> None:
    assert likeness(fairlead("demo", "--once")) == likeness((FIRST / "expected.txt").read_text())


def test_the_words_of_its_page_are_those_of_its_code() -> None:
    page = (FIRST / "README.md").read_text()
    (plugin,) = load_folder(FIRST).items()
    name, kind = plugin
    assert f"# A first plugin: {name}" in page
    methods = re.findall(r"^- `(\w+)`", page, re.MULTILINE)
    assert methods == [each for each in vars(kind) if not each.startswith("_") and each != "name"]
    code = (FIRST / "blinking_light.py").read_text()
    assert LIGHTS in page
    assert LIGHTS in code
    (profile,) = (
        each
        for each in load_file(FIRST / "scheduler.yaml").profiles
        if each.scheduler_name == "blinking-scheduler"
    )
    assert profile.scheduler_name in page
    weight = re.search(r"weight (\d+)", page)
    assert weight is not None
    assert f"weight: {weight[1]}" in (FIRST / "scheduler.yaml").read_text()


@pytest.mark.parametrize("page", sorted(EXAMPLES.glob("*/README.md")), ids=lambda p: p.parent.name)
def test_the_files_that_commands_name_are_there(page: Path) -> None:
    for line in commands(page):
        named = [word for word in line if "/" in word or word.endswith(page.parent.name)]
        assert named
        assert [word for word in named if not (EXAMPLES / word).exists()] == []


@pytest.mark.parametrize("page", sorted(EXAMPLES.glob("*/README.md")), ids=lambda p: p.parent.name)
def test_the_code_that_a_page_shows_is_the_code_of_its_files(page: Path) -> None:
    """Whatever stands in a fenced block is a part of a file beside the page."""
    blocks = re.findall(r"^```\w+\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    files = [file.read_text() for file in page.parent.iterdir() if file.suffix in (".py", ".yaml")]
    assert [block for block in blocks if not any(block in text for text in files)] == []


def test_the_plugin_on_the_first_page_is_that_of_the_first_example() -> None:
    (shown,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert shown in (FIRST / "blinking_light.py").read_text()


def test_the_configuration_is_valid_with_the_plugin() -> None:
    config, folder = str(FIRST / "scheduler.yaml"), str(FIRST)
    fairlead("config", "check", config, "--plugin-dir", folder, folder=ROOT)
