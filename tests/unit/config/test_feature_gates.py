"""`--feature-gates`: what kube-scheduler 1.36.3 says to each of these, recorded from it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from fairlead.cli.main import main
from fairlead.config.errors import ConfigError
from fairlead.config.feature_gates import catalogue, with_feature_gates
from fairlead.config.release import RELEASE_1_36

REFUSED = {
    "Nope=true": "unrecognized feature gate: Nope",
    "=true": "unrecognized feature gate: ",
    "Nope": "missing bool value for Nope",
    "StorageCapacityScoring=maybe": "invalid value of StorageCapacityScoring=maybe, err: "
    'strconv.ParseBool: parsing "maybe": invalid syntax',
    "StorageCapacityScoring=": "invalid value of StorageCapacityScoring=, err: "
    'strconv.ParseBool: parsing "": invalid syntax',
    "KubeletPSI=false": "cannot set feature gate KubeletPSI to false, feature is locked to true",
    "SidecarContainers=false,DynamicResourceAllocation=false": "[cannot set feature gate "
    "SidecarContainers to false, feature is locked to true, cannot set feature gate "
    "DynamicResourceAllocation to false, feature is locked to true]",
    "other:StorageCapacityScoring=true": "component not registered: other",
    "a:b:c=true": "component not registered: a",
    "PodLevelResources=false": "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on"
    " features that are disabled: [PodLevelResources]",
    "WorkloadAwarePreemption=true,DRADeviceTaintRules=true": "WorkloadAwarePreemption is enabled,"
    " but depends on features that are disabled: [GangScheduling]",
}
TAKEN = (
    "",
    ",",
    "SchedulerQueueingHints=true",
    "AllBeta=false",
    "DRADeviceTaints=false",
    "StorageCapacityScoring=true,StorageCapacityScoring=false",
)


@pytest.mark.parametrize("flag", REFUSED)
def test_it_is_refused_in_the_same_words(flag: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        with_feature_gates(RELEASE_1_36, [flag])
    assert str(refusal.value) == REFUSED[flag]


@pytest.mark.parametrize("flag", TAKEN)
def test_it_is_taken(flag: str) -> None:
    with_feature_gates(RELEASE_1_36, [flag])


@pytest.mark.parametrize(
    "flags",
    [
        ["StorageCapacityScoring=true"],
        ["kube:StorageCapacityScoring=T"],
        [" StorageCapacityScoring = 1 "],
        ["StorageCapacityScoring=false", "StorageCapacityScoring=true"],
    ],
)
def test_a_feature_that_changes_verdicts_is_part_of_the_release(flags: list[str]) -> None:
    assert not RELEASE_1_36.enabled("StorageCapacityScoring")
    assert with_feature_gates(RELEASE_1_36, flags).enabled("StorageCapacityScoring")


def test_a_plugin_leaves_the_defaults_with_its_feature() -> None:
    without = with_feature_gates(RELEASE_1_36, ["AllBeta=false"])
    names = {plugin.name for plugin in RELEASE_1_36.default_plugins}
    assert names - {plugin.name for plugin in without.default_plugins} == {"NodeDeclaredFeatures"}


def test_the_defaults_are_those_of_the_catalogue() -> None:
    defaults = {name: group.default for group in catalogue().groups for name in group.names}
    assert dict(RELEASE_1_36.feature_gates).items() <= defaults.items()


def test_groups_of_pods_are_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match="GenericWorkload cannot be on: pod groups are not supp"):
        with_feature_gates(RELEASE_1_36, ["GenericWorkload=true"])


def test_the_command_says_it_in_one_line(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("config") / "c.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    refused = CliRunner().invoke(main, ["config", "check", "--feature-gates=Nope=true", str(file)])
    assert refused.exit_code == 1
    assert refused.stderr == "fairlead: unrecognized feature gate: Nope\n"
    shown = CliRunner().invoke(main, ["config", "show", "--feature-gates=AllBeta=false", str(file)])
    assert shown.exit_code == 0
    assert "NodeDeclaredFeatures" not in shown.stdout


@pytest.mark.parametrize(
    "plugin", ["GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"]
)
def test_a_plugin_for_groups_is_known_by_name_and_refused(
    plugin: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("config") / "c.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: {plugin}}}]}}}}}}]\n"
    )
    checked = CliRunner().invoke(main, ["config", "check", str(file)])
    assert checked.exit_code == 1
    words = f'plugin "{plugin}" is for groups of pods, which are not supported'
    assert words in checked.stdout.splitlines()[0]
