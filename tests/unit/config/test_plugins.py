"""Which plugins run where: merging with the defaults, multiPoint, weights, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.config.args import NodeResourcesFitArgs
from fairlead.config.errors import ConfigError
from fairlead.config.loading import load
from fairlead.config.plugins import (
    ProfilePlugins,
    check_profiles,
    expand,
    validate_args,
    with_extenders,
)
from fairlead.config.release import EXTENSION_POINTS, RELEASE_1_36
from fairlead.config.types import KubeSchedulerConfiguration

POINTS_OF = RELEASE_1_36.points_of
OWN = {"Blink": frozenset({"score"}), "Sort": frozenset({"queueSort", "filter"})}


def points_of(name: str) -> frozenset[str] | None:
    return OWN.get(name) or POINTS_OF(name)


def config(*profiles: Any, **fields: Any) -> KubeSchedulerConfiguration:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return load(json.dumps(head | {"profiles": list(profiles)} | fields))


def expanded(**plugins: Any) -> ProfilePlugins:
    return expand(config({"plugins": plugins}).profiles[0], points_of)


def enabled(*entries: str | dict[str, Any]) -> dict[str, Any]:
    return {"enabled": [{"name": e} if isinstance(e, str) else e for e in entries]}


def disabled(*names: str) -> dict[str, Any]:
    return {"disabled": [{"name": name} for name in names]}


def refusal(*profiles: Any, **fields: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        check_profiles(config(*profiles, **fields), points_of)
    return str(raised.value)


def test_the_defaults() -> None:
    plugins = expanded()
    assert set(plugins.points) == set(EXTENSION_POINTS)
    assert plugins.scheduler_name == "default-scheduler"
    assert plugins.names("queueSort") == ("PrioritySort",)
    assert plugins.names("postFilter") == ("DynamicResources", "DefaultPreemption")
    assert plugins.names("permit") == ()
    assert plugins.weights() == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    assert {name for name, has in RELEASE_1_36.catalogue.items() if has} == {
        *plugins.all_names(),
        "GangScheduling",
        "TopologyPlacementGenerator",
        "PodGroupPodsCount",
    }


def test_a_scorer_without_a_weight_loses_its_default_weight() -> None:
    assert expanded(score=enabled("TaintToleration")).weights()["TaintToleration"] == 1
    assert expanded(multiPoint=enabled("TaintToleration")).weights()["TaintToleration"] == 1
    heavy = {"name": "TaintToleration", "weight": 7}
    assert expanded(multiPoint=enabled(heavy)).weights()["TaintToleration"] == 7


def test_a_default_that_is_named_in_multi_point_keeps_its_place() -> None:
    before = expanded().names("score")
    assert expanded(multiPoint=enabled({"name": "NodeAffinity", "weight": 9})).names("score") == (
        before
    )


def test_one_that_is_disabled_and_enabled_goes_to_the_end() -> None:
    both = enabled("NodeName") | disabled("NodeName")
    assert expanded(multiPoint=both).names("filter")[-1] == "NodeName"


def test_what_a_point_lists_overrides_and_goes_first() -> None:
    plugins = expanded(score=enabled("ImageLocality", "Blink", "NodeAffinity"))
    names = plugins.names("score")
    assert names[:2] == ("ImageLocality", "NodeAffinity")
    assert names[-1] == "Blink"
    assert sorted(names[:-1]) == sorted(expanded().names("score"))


def test_what_a_point_disables() -> None:
    assert "NodeName" not in expanded(filter=disabled("NodeName")).names("filter")
    assert expanded(score=disabled("*")).names("score") == ()
    only = expanded(score=disabled("*") | enabled("Blink"))
    assert only.names("score") == ("Blink",)
    assert only.weights() == {"Blink": 1}
    assert "ImageLocality" in expanded(filter=disabled("*")).names("score")


def test_an_own_plugin_comes_by_multi_point() -> None:
    plugins = expanded(multiPoint=enabled({"name": "Blink", "weight": 4}))
    assert plugins.names("score")[-1] == "Blink"
    assert plugins.weights()["Blink"] == 4


PREFIX = "initializing profiles: creating profile for scheduler name default-scheduler: "


@pytest.mark.parametrize(
    ("plugins", "words"),
    [
        ({"score": enabled("Foo")}, 'ScorePlugin "Foo" does not exist'),
        ({"multiPoint": enabled("Foo")}, 'PreFilterPlugin "Foo" does not exist'),
        ({"filter": enabled("Blink")}, 'plugin "Blink" does not extend FilterPlugin plugin'),
        (
            {"score": enabled("Blink", "Blink")},
            'plugin "Blink" already registered as "ScorePlugin"',
        ),
        (
            {"multiPoint": enabled("Blink", "Blink")},
            'plugin "Blink" already registered as "ScorePlugin"',
        ),
        (
            {"queueSort": disabled("*")},
            "only one queue sort plugin required for profile with scheduler name"
            ' "default-scheduler", but got 0',
        ),
        (
            {"multiPoint": enabled("Sort")},
            "only one queue sort plugin required for profile with scheduler name"
            ' "default-scheduler", but got 2',
        ),
        (
            {"multiPoint": disabled("DefaultBinder")},
            "at least one bind plugin is needed for profile with scheduler name"
            ' "default-scheduler"',
        ),
        (
            {"score": enabled({"name": "Blink", "weight": -1})},
            "score plugins: total score of Score plugins could overflow",
        ),
    ],
)
def test_what_keeps_a_profile_from_being_built(plugins: dict[str, Any], words: str) -> None:
    assert refusal({"plugins": plugins}) == PREFIX + words


def test_arguments_are_looked_at_before_names() -> None:
    profile = {
        "plugins": {"score": enabled("Foo")},
        "pluginConfig": [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}
        ],
    }
    assert refusal(profile).startswith(
        PREFIX + 'initializing plugin "NodeResourcesFit": scoringStrategy.type: Unsupported value'
    )
    profile["plugins"] = {"multiPoint": disabled("NodeResourcesFit")}
    assert "NodeResourcesFit" not in check_profiles(config(profile), points_of)[0].all_names()


def test_arguments_of_others_are_not_looked_at() -> None:
    assert validate_args("Blink", None) == []
    assert validate_args("NodeResourcesFit", NodeResourcesFitArgs()) == []


def test_profiles_share_one_queue_sort() -> None:
    sorts = disabled("PrioritySort") | enabled("Sort")
    one = {"schedulerName": "a", "plugins": {"multiPoint": sorts}}
    assert refusal(one, {"schedulerName": "b"}) == (
        'initializing profiles: different queue sort plugins for profile "b":'
        ' "PrioritySort", first: "Sort"'
    )
    sort = [{"name": "PrioritySort", "args": {"a": 1}}]
    assert refusal({"schedulerName": "a", "pluginConfig": sort}, {"schedulerName": "b"}) == (
        'initializing profiles: different queue sort plugin args for profile "b"'
    )


def test_extenders_replace_the_ignored_resources() -> None:
    extender = {
        "urlPrefix": "http://x",
        "managedResources": [
            {"name": "example.com/a", "ignoredByScheduler": True},
            {"name": "example.com/b"},
        ],
    }
    fit = [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/c"]}}]
    changed = with_extenders(config({"pluginConfig": fit}, extenders=[extender]))
    args = changed.profiles[0].plugin_config[0].args
    assert isinstance(args, NodeResourcesFitArgs)
    assert args.ignored_resources == ("example.com/a",)
    without = {"plugins": {"multiPoint": disabled("NodeResourcesFit")}}
    assert refusal(without, extenders=[extender]) == (
        "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
    )


def test_an_extender_is_trusted_one_way() -> None:
    tls = {"urlPrefix": "https://x", "tlsConfig": {"insecure": True, "caFile": "/ca.pem"}}
    assert refusal({}, extenders=[tls]) == (
        "couldn't build extenders: specifying a root certificates file"
        " with the insecure flag is not allowed"
    )


def test_an_error_says_where() -> None:
    with pytest.raises(ConfigError) as raised:
        check_profiles(config({}, {"schedulerName": "b"}), points_of)
    assert raised.value.problems[0].message == "profiles[0].schedulerName: Required value"


def test_the_place_of_an_unknown_plugin() -> None:
    profile = {"schedulerName": "b", "plugins": {"score": enabled("Blink", "Foo")}}
    with pytest.raises(ConfigError) as raised:
        check_profiles(config({"schedulerName": "a"}, profile), points_of)
    assert [problem.path for problem in raised.value.problems] == [
        "profiles[1].plugins.score.enabled[1]"
    ]
