"""Loading: what a text becomes, and the order in which its faults count."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.config.args import (
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
)
from fairlead.config.errors import ConfigError
from fairlead.config.golang import Duration
from fairlead.config.loading import examine, kubeconfig_fault, load, load_file
from fairlead.config.types import KubeSchedulerConfiguration, PluginConfig

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def refusal(text: str | bytes) -> str:
    with pytest.raises(ConfigError) as raised:
        load(text)
    return str(raised.value)


def args_of(config: KubeSchedulerConfiguration, name: str) -> object:
    return next(e.args for e in config.profiles[0].plugin_config if e.name == name)


def test_an_empty_configuration_has_all_defaults() -> None:
    config = load(HEAD)
    assert config.parallelism == 16
    assert config.percentage_of_nodes_to_score == 0
    assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (1, 10)
    assert config.enable_profiling
    assert config.enable_contention_profiling
    election = config.leader_election
    assert (election.leader_elect, election.resource_lock) == (True, "leases")
    assert (election.resource_namespace, election.resource_name) == (
        "kube-system",
        "kube-scheduler",
    )
    assert [str(d) for d in (election.lease_duration, election.renew_deadline)] == ["15s", "10s"]
    assert election.retry_period == Duration.of(2)
    client = config.client_connection
    assert (client.qps, client.burst) == (50, 100)
    assert client.content_type == "application/vnd.kubernetes.protobuf"
    assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]
    assert config.profiles[0].percentage_of_nodes_to_score is None


def test_every_plugin_with_arguments_gets_its_defaults_in_order_of_name() -> None:
    config = load(HEAD)
    assert [entry.name for entry in config.profiles[0].plugin_config] == [
        "DefaultPreemption",
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
    ]
    preemption = args_of(config, "DefaultPreemption")
    assert isinstance(preemption, DefaultPreemptionArgs)
    assert preemption.kind == "DefaultPreemptionArgs"
    assert preemption.min_candidate_nodes_percentage == 10
    fit = args_of(config, "NodeResourcesFit")
    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.scoring_strategy.type == "LeastAllocated"
    assert [(r.name, r.weight) for r in fit.scoring_strategy.resources] == [
        ("cpu", 1),
        ("memory", 1),
    ]
    spread = args_of(config, "PodTopologySpread")
    assert isinstance(spread, PodTopologySpreadArgs)
    assert spread.defaulting_type == "System"
    volumes = args_of(config, "VolumeBinding")
    assert isinstance(volumes, VolumeBindingArgs)
    assert volumes.bind_timeout_seconds == 600


def test_a_zero_is_not_always_unset() -> None:
    config = load(HEAD + "clientConnection: {qps: 0, burst: 0}\npercentageOfNodesToScore: 0\n")
    assert (config.client_connection.qps, config.client_connection.burst) == (50, 100)
    text = HEAD + (
        "profiles:\n- percentageOfNodesToScore: 0\n  pluginConfig:\n"
        "  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 0}}\n"
        "  - {name: NodeResourcesBalancedAllocation, args: {resources: [{name: a/b}]}}\n"
    )
    config = load(text)
    assert config.profiles[0].percentage_of_nodes_to_score == 0
    affinity = args_of(config, "InterPodAffinity")
    assert isinstance(affinity, InterPodAffinityArgs)
    assert affinity.hard_pod_affinity_weight == 0
    balanced = args_of(config, "NodeResourcesBalancedAllocation")
    assert isinstance(balanced, NodeResourcesBalancedAllocationArgs)
    assert [(r.name, r.weight) for r in balanced.resources] == [("a/b", 1)]


@pytest.mark.parametrize(
    ("text", "contention"),
    [
        ("", True),
        ("enableProfiling: false", None),
        ("enableProfiling: false\nenableContentionProfiling: true", True),
        ("enableContentionProfiling: false", False),
    ],
)
def test_contention_profiling_follows_profiling(text: str, contention: bool | None) -> None:
    assert bool(load(HEAD + text).enable_contention_profiling) is bool(contention)


def test_json_and_yaml_are_the_same() -> None:
    value = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 4,
    }
    assert load(json.dumps(value)) == load(HEAD + "parallelism: 4\n")


def test_arguments_of_other_plugins_stay_as_they_are() -> None:
    text = HEAD + "profiles:\n- pluginConfig:\n  - {name: Mine, args: {b: [1, yes], a: 1.5}}\n"
    args = load(text).profiles[0].plugin_config[0].args
    assert isinstance(args, msgspec.Raw)
    assert msgspec.json.decode(args) == {"a": 1.5, "b": [1, True]}
    empty = load(HEAD + "profiles: [{pluginConfig: [{name: Mine}]}]").profiles[0]
    assert empty.plugin_config[0] == PluginConfig(name="Mine")


@pytest.mark.parametrize(
    ("profiles", "name"),
    [("null", "default-scheduler"), ("[]", "default-scheduler"), ("[null]", "default-scheduler")],
)
def test_a_single_profile_need_not_be_named(profiles: str, name: str) -> None:
    assert [p.scheduler_name for p in load(f"{HEAD}profiles: {profiles}").profiles] == [name]


def test_a_name_that_is_empty_is_not_unset() -> None:
    assert refusal(HEAD + "profiles: [{schedulerName: ''}]") == (
        "profiles[0].schedulerName: Required value"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("leaderElection: {leaseDuration: ~}", 'time: invalid duration ""'),
        (
            "parallelism: yes",
            "json: cannot unmarshal bool into Go struct field"
            " KubeSchedulerConfiguration.parallelism of type int32",
        ),
        (
            "enableProfiling: 5",
            "json: cannot unmarshal number into Go struct field"
            " KubeSchedulerConfiguration.DebuggingConfiguration.enableProfiling of type bool",
        ),
        (
            "profiles: {}",
            "json: cannot unmarshal object into Go struct field"
            " KubeSchedulerConfiguration.profiles of type []v1.KubeSchedulerProfile",
        ),
        (
            "clientConnection: {qps: 1e40}",
            "json: cannot unmarshal number 1e+40 into Go struct"
            " field ClientConnectionConfiguration.clientConnection.qps of type float32",
        ),
        ("extenders: [{tlsConfig: {certData: 'a*b='}}]", "illegal base64 data at input byte 1"),
    ],
)
def test_values_of_the_wrong_type(text: str, words: str) -> None:
    assert refusal(HEAD + text) == words


def test_a_wrong_type_counts_before_an_unknown_field_and_that_before_a_wrong_value() -> None:
    wrong_value = "parallelism: 0\n"
    assert refusal(HEAD + wrong_value).startswith("parallelism: Invalid value")
    unknown = wrong_value + "colour: red\n"
    assert refusal(HEAD + unknown) == 'strict decoding error: unknown field "colour"'
    wrong_type = unknown + "percentageOfNodesToScore: many\n"
    assert "cannot unmarshal string" in refusal(HEAD + wrong_type)
    broken = wrong_type + "leaderElection: {retryPeriod: '5'}\n"
    assert refusal(HEAD + broken) == 'time: missing unit in duration "5"'


def test_all_strict_errors_are_in_one_text() -> None:
    text = (
        HEAD + "a: 1\na: 2\nprofiles: [{b: 1, pluginConfig: [{name: NodeAffinity, args: {c: 1}}]}]"
    )
    assert refusal(text) == (
        "strict decoding error: yaml: unmarshal errors:\n"
        '  line 4: key "a" already set in map, unknown field "a", unknown field "profiles[0].b",'
        " decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin"
        ' NodeAffinity: strict decoding error: unknown field "c"'
    )


def test_examine_finds_what_load_stops_before() -> None:
    text = HEAD + "parallelism: 0\ncolour: red\nprofiles:\n- plugin: {}\n- {}\n"
    found = examine(text)
    assert found.error == (
        'strict decoding error: unknown field "colour", unknown field "profiles[0].plugin"'
    )
    assert [(problem.line, problem.path) for problem in found.problems] == [
        (4, "colour"),
        (6, "profiles[0].plugin"),
        (3, "parallelism"),
        (6, "profiles[0].schedulerName"),
        (7, "profiles[1].schedulerName"),
        (7, "profiles[1].schedulerName"),
    ]
    assert "plugins" in found.problems[1].known


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "no.yaml"
    with pytest.raises(ConfigError) as raised:
        load_file(missing)
    assert str(raised.value) == f"open {missing}: no such file or directory"
    with pytest.raises(ConfigError) as raised:
        load_file(tmp_path)
    assert str(raised.value) == f"read {tmp_path}: is a directory"


def test_a_file_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + "parallelism: 3")
    assert load_file(file).parallelism == 3


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "kubeconfig"
    config = load(f"{HEAD}clientConnection: {{kubeconfig: {missing}}}")
    fault = kubeconfig_fault(config)
    assert fault is not None
    assert fault.message == f"stat {missing}: no such file or directory"
    missing.touch()
    assert kubeconfig_fault(config) is None
    assert kubeconfig_fault(load(HEAD)) is None


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
FIELDS = st.sampled_from(
    ["profiles", "extenders", "leaderElection", "clientConnection", "parallelism", "apiVersion"]
)


@given(st.dictionaries(FIELDS, TREES))
def test_hostile_values_are_no_crash(fields: dict[str, object]) -> None:
    head = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    with suppress(ConfigError):
        load(json.dumps(head | fields))


@given(st.text())
def test_hostile_text_is_no_crash(text: str) -> None:
    with suppress(ConfigError):
        load(text)
