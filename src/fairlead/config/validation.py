"""Checks a configuration that has its defaults, in kube-scheduler's order and words."""

from __future__ import annotations

from typing import Final

import msgspec

from fairlead.config import field
from fairlead.config.defaults import POINT_ATTRIBUTES, plugin_set
from fairlead.config.document import to_json
from fairlead.config.errors import Problem
from fairlead.config.golang import Duration, quote, quote_json
from fairlead.config.internal_json import internal_json
from fairlead.config.json_text import read_json
from fairlead.config.release import Release
from fairlead.config.types import (
    API_VERSION,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginConfig,
    PluginSet,
)
from fairlead.config.validation_args import CHECKS

_UNCHECKED_POINTS: Final = ("multiPoint", "placementGenerate", "placementScore")
"""Where kube-scheduler does not look for plugins that are gone."""


def validate(config: KubeSchedulerConfiguration, release: Release) -> list[Problem]:
    """All that is wrong with the values, in the order of kube-scheduler's own list."""
    problems: list[Problem] = []
    burst = config.client_connection.burst
    if burst < 0:
        problems.append(field.invalid("clientConnection.burst", burst, "must be non-negative"))
    problems += _check_election(config.leader_election)
    if config.parallelism <= 0:
        words = "should be an integer value greater than zero"
        problems.append(field.invalid("parallelism", config.parallelism, words))
    problems += _check_profiles(config.profiles, release)
    problems += _check_percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    first, last = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if first <= 0:
        problems.append(field.invalid("podInitialBackoffSeconds", first, "must be greater than 0"))
    if last < first:
        words = "must be greater than or equal to PodInitialBackoffSeconds"
        problems.append(field.invalid("podMaxBackoffSeconds", last, words))
    return problems + _check_extenders(config.extenders)


def _check_election(election: LeaderElectionConfiguration) -> list[Problem]:
    if not election.leader_elect:
        return []
    problems: list[Problem] = []
    for name, value in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        if value <= Duration(0):
            problems.append(_invalid_duration(name, value, "must be greater than zero"))
    if election.lease_duration <= election.renew_deadline:
        words = "must be greater than `RenewDeadline`"
        problems.append(_invalid_duration("leaseDuration", election.renew_deadline, words))
    if election.resource_lock != "leases":
        words = 'resourceLock value must be "leases"'
        lock = field.invalid("leaderElection.resourceLock", election.resource_lock, words)
        problems.append(
            msgspec.structs.replace(lock, given=election.resource_lock, known=("leases",))
        )
    return problems


def _invalid_duration(name: str, value: Duration, words: str) -> Problem:
    return field.invalid_json(f"leaderElection.{name}", quote_json(str(value)), words)


def _check_percentage(path: str, percentage: int | None) -> list[Problem]:
    if percentage is None or 0 <= percentage <= 100:
        return []
    return [field.invalid(path, percentage, "not in valid range [0-100]")]


def _check_profiles(profiles: tuple[KubeSchedulerProfile, ...], release: Release) -> list[Problem]:
    problems: list[Problem] = []
    names: set[str] = set()
    for i, profile in enumerate(profiles):
        path = f"profiles[{i}]"
        if not profile.scheduler_name:
            problems.append(field.required(f"{path}.schedulerName"))
        problems += _check_percentage(
            f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score
        )
        problems += _check_removed(f"{path}.plugins", profile, release)
        problems += _check_plugin_config(path, profile, release)
        if profile.scheduler_name in names:
            # kube-scheduler prints the place of the first one here, which comes out empty.
            where = f"{path}.schedulerName"
            problems.append(Problem(f"{where}: Duplicate value: {{}}", where))
        names.add(profile.scheduler_name)
    return problems + _check_queue_sort(profiles)


def _check_removed(path: str, profile: KubeSchedulerProfile, release: Release) -> list[Problem]:
    return [
        _removed(f"{path}.{point}.enabled[{i}]", plugin.name)
        for point in POINT_ATTRIBUTES
        if point not in _UNCHECKED_POINTS
        for i, plugin in enumerate(plugin_set(profile.plugins, point).enabled)
        if plugin.name in release.removed_plugins
    ]


def _removed(path: str, name: str) -> Problem:
    words = (
        f'was invalid in version "v1" (KubeSchedulerConfiguration is version {quote(API_VERSION)})'
    )
    return field.invalid(path, name, words)


def _check_plugin_config(
    path: str, profile: KubeSchedulerProfile, release: Release
) -> list[Problem]:
    problems: list[Problem] = []
    seen: set[str] = set()
    for i, entry in enumerate(profile.plugin_config):
        where = f"{path}.pluginConfig[{i}]"
        if entry.name in seen:
            problems.append(field.duplicate(where, entry.name))
        seen.add(entry.name)
        if entry.name in release.removed_plugins:
            problems.append(_removed(where, entry.name))
        elif entry.name in CHECKS:
            problems += CHECKS[entry.name](f"{where}.args", entry.args)
    return problems


def _check_queue_sort(profiles: tuple[KubeSchedulerProfile, ...]) -> list[Problem]:
    """All profiles share one queue, and hence must sort it alike."""
    problems: list[Problem] = []
    first = profiles[0].plugins.queue_sort
    if len(first.enabled) > 1:
        where = "profiles[0].plugins.queueSort.Enabled"
        words = "only one queue sort plugin can be enabled"
        problem = field.invalid(where, len(first.enabled), words)
        problems.append(
            msgspec.structs.replace(problem, path="profiles[0].plugins.queueSort.enabled")
        )
    name = first.enabled[0].name if first.enabled else ""
    args = _last_args(profiles[0].plugin_config, name) if name else None
    for i, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != first:
            where = f"profiles[{i}].plugins.queueSort"
            shown = _show_set(profile.plugins.queue_sort)
            problems.append(field.invalid_json(where, shown, "must be the same for all profiles"))
        for entry in profile.plugin_config:
            if entry.name == name and not _same_args(entry, args):
                where = f"profiles[{i}].pluginConfig.args"
                words = "queueSort must be the same for all profiles"
                problems.append(field.invalid_json(where, _show_args(entry), words))
    return problems


def _last_args(entries: tuple[PluginConfig, ...], name: str) -> PluginConfig | None:
    found = [entry for entry in entries if entry.name == name]
    return found[-1] if found else None


def _same_args(entry: PluginConfig, other: PluginConfig | None) -> bool:
    if isinstance(entry.args, msgspec.Raw):
        return (
            other is not None
            and isinstance(other.args, msgspec.Raw)
            and (bytes(entry.args) == bytes(other.args))
        )
    return entry.args == (other.args if other is not None else None)


def _show_args(entry: PluginConfig) -> str:
    if isinstance(entry.args, msgspec.Raw):
        return to_json(read_json(bytes(entry.args)))
    return "null" if entry.args is None else internal_json(entry.args)


def _show_set(plugins: PluginSet) -> str:
    """The set with Go's own field names, since kube-scheduler prints its internal type."""

    def shown(names: tuple[tuple[str, int], ...]) -> str:
        items = [f'{{"Name":{quote_json(name)},"Weight":{weight}}}' for name, weight in names]
        return f"[{','.join(items)}]" if items else "null"

    enabled = shown(tuple((plugin.name, plugin.weight) for plugin in plugins.enabled))
    disabled = shown(tuple((plugin.name, plugin.weight) for plugin in plugins.disabled))
    return f'{{"Enabled":{enabled},"Disabled":{disabled}}}'


def _check_extenders(extenders: tuple[Extender, ...]) -> list[Problem]:
    problems: list[Problem] = []
    managed: set[str] = set()
    for i, extender in enumerate(extenders):
        if extender.prioritize_verb and extender.weight <= 0:
            words = "must have a positive weight applied to it"
            problems.append(field.invalid(f"extenders[{i}].weight", extender.weight, words))
        for j, resource in enumerate(extender.managed_resources):
            where = f"extenders[{i}].managedResources[{j}].name"
            problems += _check_managed(where, resource.name)
            if resource.name in managed:
                words = "duplicate extender managed resource name"
                problems.append(field.invalid(where, resource.name, words))
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        problems.append(field.invalid("extenders", found, "only one extender can implement bind"))
    return problems


def _check_managed(path: str, name: str) -> list[Problem]:
    faults = field.label_key_faults(name)
    if faults:
        return [field.invalid_json(path, quote_json(name), fault) for fault in faults]
    if not field.is_extended_resource(name):
        return [field.invalid(path, name, "is an invalid extended resource name")]
    return []
