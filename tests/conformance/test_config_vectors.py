"""Configurations, answered by the code of kube-scheduler and by ours: the same words, exactly.

`vectors/` has the questions of the oracle's families; `recorded/` has random configurations, right
and wrong, as YAML and as JSON, with what kube-scheduler said of them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlead.config.errors import ConfigError
from fairlead.config.loading import load
from fairlead.config.plugins import ProfilePlugins, check_profiles
from fairlead.config.release import RELEASE_1_36

HERE = Path(__file__).parent
FILES = sorted([*HERE.glob("vectors/*.jsonl.gz"), *HERE.glob("recorded/*.jsonl.gz")])
FEWEST = {"config-errors": 132, "strategies": 200, "configurations": 900}


def answer(config: Any) -> Mapping[str, Any]:
    """What our code says of a configuration, in the form of the recorded answers."""
    text = config if isinstance(config, str) else json.dumps(config)
    try:
        profiles = check_profiles(load(text), RELEASE_1_36.points_of)
    except ConfigError as error:
        return {"error": str(error)}
    return {"plugins": {profile.scheduler_name: listed(profile) for profile in profiles}}


def listed(profile: ProfilePlugins) -> Mapping[str, Any]:
    return {
        point: [{"name": p.name} | ({"weight": p.weight} if p.weight else {}) for p in plugins]
        for point, plugins in profile.points.items()
        if plugins
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_every_configuration_gets_the_same_answer(file: Path) -> None:
    different: list[str] = []
    asked = 0
    with gzip.open(file, "rt") as lines:
        for line in lines:
            vector = json.loads(line)
            case, wanted = vector["case"], vector["answer"]
            if "config" not in case:
                continue
            asked += 1
            ours = answer(case["config"])
            different += [
                f"{case['id']}: {ours.get(what)} instead of {wanted.get(what)}"
                for what in ("error", "plugins")
                if (what == "error" or what in wanted) and ours.get(what) != wanted.get(what)
            ]
    assert not different, "\n".join(different[:5])
    assert asked >= FEWEST.get(file.name.partition(".")[0], 0)


def test_the_families_are_there() -> None:
    assert {file.name.partition(".")[0] for file in FILES} >= set(FEWEST)
