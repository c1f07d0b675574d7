"""The family about configurations that are wrong, or look wrong."""

from __future__ import annotations

from typing import Any

from .basics import CPU, GPU, ZONE, Dice, Json
from .objects import CONFIG_API, arguments, configuration, expression, profile
from .world import family


def with_plugins(**plugins: Any) -> Json:
    return configuration(profile(plugins=plugins))


def with_args(plugin: str, **fields: Any) -> Json:
    return configuration(profile(arguments(plugin, **fields)))


def enabled(*names: str, weight: int | None = None) -> Json:
    return {
        "enabled": [
            {"name": name} | ({"weight": weight} if weight is not None else {}) for name in names
        ]
    }


def disabled(*names: str) -> Json:
    return {"disabled": [{"name": name} for name in names]}


def strategy(kind: str | None, **fields: Any) -> Json:
    return with_args(
        "NodeResourcesFit", scoringStrategy=({"type": kind} if kind is not None else {}) | fields
    )


def ratio(*points: tuple[int, int]) -> Json:
    return strategy(
        "RequestedToCapacityRatio",
        requestedToCapacityRatio={"shape": [{"utilization": x, "score": y} for x, y in points]},
    )


def default_constraint(**fields: Any) -> Json:
    return {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"} | fields


def constraints(*items: Json, kind: str = "List") -> Json:
    return with_args("PodTopologySpread", defaultingType=kind, defaultConstraints=list(items))


def added(**fields: Any) -> Json:
    return with_args("NodeAffinity", addedAffinity=fields)


def required_expression(*values: Any) -> Json:
    return added(
        requiredDuringSchedulingIgnoredDuringExecution={
            "nodeSelectorTerms": [{"matchExpressions": [expression(*values)]}]
        }
    )


def extender(**fields: Any) -> Json:
    return {"urlPrefix": "http://extender.example:8888"} | fields


HEAD = f"apiVersion: {CONFIG_API}\nkind: KubeSchedulerConfiguration\n"
CONFIGURATIONS: dict[str, Json | str | list[Any]] = {
    "empty text": "",
    "no yaml": "profiles: [",
    "a list": "[]",
    "a tab": HEAD + "\tprofiles: []\n",
    "yaml that is fine": HEAD + "profiles:\n- schedulerName: default-scheduler\n",
    "duplicate key": HEAD + "parallelism: 4\nparallelism: 8\n",
    "no kind": f"apiVersion: {CONFIG_API}\n",
    "no version": "kind: KubeSchedulerConfiguration\n",
    "old version": configuration() | {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
    "unknown group": configuration() | {"apiVersion": "scheduler.example.com/v1"},
    "unknown kind": configuration() | {"kind": "SchedulerConfiguration"},
    "arguments alone": {"apiVersion": CONFIG_API, "kind": "NodeResourcesFitArgs"},
    "unknown field": configuration(parallel=4),
    "field in the wrong case": configuration(Parallelism=4),
    "unknown field in a profile": configuration(profile(weight=2)),
    "unknown extension point": with_plugins(scores=enabled("ImageLocality")),
    "text for a number": configuration(parallelism="many"),
    "number for a text": configuration(profile(name=5)),  # type: ignore[arg-type]
    "parallelism zero": configuration(parallelism=0),
    "parallelism negative": configuration(parallelism=-4),
    "percentage too high": configuration(percentageOfNodesToScore=101),
    "percentage negative": configuration(percentageOfNodesToScore=-1),
    "percentage of a profile too high": configuration(profile(percentageOfNodesToScore=200)),
    "percentages are fine": configuration(
        profile(percentageOfNodesToScore=0), percentageOfNodesToScore=100
    ),
    "backoff zero": configuration(podInitialBackoffSeconds=0),
    "backoff negative": configuration(podInitialBackoffSeconds=-1),
    "backoff shrinks": configuration(podInitialBackoffSeconds=10, podMaxBackoffSeconds=5),
    "no profiles": configuration(profiles=[]),
    "one profile without a name": configuration({}),
    "two profiles without a name": configuration({}, {}),
    "one of two profiles without a name": configuration(profile(), {}),
    "two profiles of one name": configuration(profile(), profile(name="x"), profile(name="x")),
    "different queue sorts": configuration(
        profile(), profile(name="x", plugins={"queueSort": disabled("*")})
    ),
    "two queue sorts": with_plugins(queueSort=enabled("PrioritySort", "PrioritySort")),
    "no queue sort": with_plugins(multiPoint=disabled("PrioritySort")),
    "queue sort disabled": with_plugins(queueSort=disabled("*")),
    "no binder": with_plugins(multiPoint=disabled("DefaultBinder")),
    "nothing but a binder": with_plugins(multiPoint=disabled("*") | enabled("DefaultBinder")),
    "nothing but the needful": with_plugins(
        multiPoint=disabled("*") | enabled("DefaultBinder", "PrioritySort")
    ),
    "unknown plugin": with_plugins(score=enabled("Coolness")),
    "unknown plugin everywhere": with_plugins(multiPoint=enabled("Coolness")),
    "unknown plugin disabled": with_plugins(
        score=disabled("Coolness"), multiPoint=disabled("Warmth")
    ),
    "plugin at the wrong point": with_plugins(filter=enabled("ImageLocality")),
    "plugin twice at a point": with_plugins(score=enabled("ImageLocality", "ImageLocality")),
    "plugin twice everywhere": with_plugins(multiPoint=enabled("ImageLocality", "ImageLocality")),
    "plugin enabled and disabled": with_plugins(
        score=enabled("ImageLocality") | disabled("ImageLocality")
    ),
    "plugin that is gone": with_plugins(filter=enabled("EBSLimits")),
    "plugin that is gone, configured": configuration(profile({"name": "AzureDiskLimits"})),
    "plugin name empty": with_plugins(score=enabled("")),
    "weight zero": with_plugins(score=enabled("ImageLocality", weight=0)),
    "weight negative": with_plugins(score=enabled("ImageLocality", weight=-1)),
    "weight huge": with_plugins(score=enabled("ImageLocality", weight=2**31 - 1)),
    "weights overflow": with_plugins(
        score=enabled("ImageLocality", "NodeAffinity", weight=2**31 - 1)
    ),
    "weight too large for its type": with_plugins(score=enabled("ImageLocality", weight=2**31)),
    "two configurations of a plugin": configuration(
        profile(arguments("NodeAffinity"), arguments("NodeAffinity"))
    ),
    "configuration of an unknown plugin": configuration(
        profile({"name": "Coolness", "args": {"degree": 3}})
    ),
    "arguments of another plugin": configuration(
        profile(arguments("InterPodAffinity") | {"name": "NodeAffinity"})
    ),
    "arguments without a kind": configuration(
        profile({"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 5}})
    ),
    "arguments of an unknown version": configuration(
        profile(
            {
                "name": "InterPodAffinity",
                "args": {
                    "apiVersion": "kubescheduler.config.k8s.io/v1beta2",
                    "kind": "InterPodAffinityArgs",
                },
            }
        )
    ),
    "arguments with an unknown field": with_args("InterPodAffinity", softPodAffinityWeight=3),
    "preemption negative": with_args("DefaultPreemption", minCandidateNodesPercentage=-1),
    "preemption above all": with_args("DefaultPreemption", minCandidateNodesPercentage=101),
    "preemption absolute negative": with_args("DefaultPreemption", minCandidateNodesAbsolute=-1),
    "preemption without candidates": with_args(
        "DefaultPreemption", minCandidateNodesPercentage=0, minCandidateNodesAbsolute=0
    ),
    "affinity weight negative": with_args("InterPodAffinity", hardPodAffinityWeight=-1),
    "affinity weight too high": with_args("InterPodAffinity", hardPodAffinityWeight=101),
    "added affinity without terms": added(
        requiredDuringSchedulingIgnoredDuringExecution={"nodeSelectorTerms": []}
    ),
    "added affinity with an unknown operator": required_expression("a", "Near", "b"),
    "added affinity with a bad key": required_expression("a b", "In", "c"),
    "added affinity with a bad value": required_expression("a", "In", "c d"),
    "added affinity without values": required_expression("a", "In"),
    "added affinity with values too many": required_expression("a", "Exists", "b"),
    "added affinity that compares text": required_expression("a", "Gt", "b"),
    "added affinity with a bad field": added(
        requiredDuringSchedulingIgnoredDuringExecution={
            "nodeSelectorTerms": [{"matchFields": [expression("metadata.namespace", "In", "x")]}]
        }
    ),
    "added preference with a bad key": added(
        preferredDuringSchedulingIgnoredDuringExecution=[
            {"weight": 5, "preference": {"matchExpressions": [expression("!", "Exists")]}}
        ]
    ),
    "added preference without weight": added(
        preferredDuringSchedulingIgnoredDuringExecution=[
            {"weight": 0, "preference": {"matchExpressions": [expression("a", "Exists")]}}
        ]
    ),
    "strategy without a type": strategy(None),
    "strategy unknown": strategy("BestAllocated"),
    "strategy in the wrong case": strategy("leastAllocated"),
    "strategy null": with_args("NodeResourcesFit", scoringStrategy=None),
    "strategy with a weight of zero": strategy(
        "LeastAllocated", resources=[{"name": CPU, "weight": 0}]
    ),
    "strategy with a negative weight": strategy(
        "LeastAllocated", resources=[{"name": CPU, "weight": -1}]
    ),
    "strategy with a weight too high": strategy(
        "MostAllocated", resources=[{"name": CPU, "weight": 101}]
    ),
    "strategy with an unnamed resource": strategy("MostAllocated", resources=[{"weight": 1}]),
    "strategy with a resource twice": strategy(
        "MostAllocated", resources=[{"name": CPU, "weight": 1}, {"name": CPU, "weight": 2}]
    ),
    "strategy with no resources": strategy("LeastAllocated", resources=[]),
    "strategy with points it does not use": strategy(
        "LeastAllocated", requestedToCapacityRatio={"shape": [{"utilization": 0, "score": 0}]}
    ),
    "ratio without points": strategy("RequestedToCapacityRatio"),
    "ratio with no points": ratio(),
    "ratio unsorted": ratio((50, 5), (40, 3)),
    "ratio with a point twice": ratio((50, 5), (50, 6)),
    "ratio beyond full": ratio((0, 0), (101, 10)),
    "ratio below empty": ratio((-1, 0), (100, 10)),
    "ratio with a score too high": ratio((0, 0), (100, 11)),
    "ratio with a negative score": ratio((0, -1), (100, 10)),
    "ratio with one point": ratio((100, 10)),
    "ignored resource with a bad name": with_args("NodeResourcesFit", ignoredResources=["a/b/c"]),
    "ignored resource without a name": with_args("NodeResourcesFit", ignoredResources=[""]),
    "ignored group with a slash": with_args(
        "NodeResourcesFit", ignoredResourceGroups=["example.com/gpu"]
    ),
    "balance with a weight": with_args(
        "NodeResourcesBalancedAllocation", resources=[{"name": CPU, "weight": 2}]
    ),
    "balance with a resource twice": with_args(
        "NodeResourcesBalancedAllocation",
        resources=[{"name": CPU, "weight": 1}, {"name": CPU, "weight": 1}],
    ),
    "spread by the system with constraints": constraints(default_constraint(), kind="System"),
    "spread of an unknown type": constraints(kind="Both"),
    "spread with constraints and no type": with_args(
        "PodTopologySpread", defaultConstraints=[default_constraint()]
    ),
    "spread without skew": constraints(default_constraint(maxSkew=0)),
    "spread with negative skew": constraints(default_constraint(maxSkew=-1)),
    "spread without a key": constraints(default_constraint(topologyKey="")),
    "spread with a bad key": constraints(default_constraint(topologyKey="a b")),
    "spread without an action": constraints(default_constraint(whenUnsatisfiable="")),
    "spread with an unknown action": constraints(default_constraint(whenUnsatisfiable="Maybe")),
    "spread with a selector": constraints(
        default_constraint(labelSelector={"matchLabels": {"a": "b"}})
    ),
    "spread with a constraint twice": constraints(
        default_constraint(), default_constraint(maxSkew=3)
    ),
    "spread with many faults": constraints(
        default_constraint(maxSkew=0, topologyKey="", whenUnsatisfiable="Maybe")
    ),
    "spread list empty": constraints(),
    "bind timeout negative": with_args("VolumeBinding", bindTimeoutSeconds=-1),
    "volume shape without its feature": with_args(
        "VolumeBinding", shape=[{"utilization": 0, "score": 0}]
    ),
    "device filter timeout negative": with_args("DynamicResources", filterTimeout="-5s"),
    "device filter timeout without a unit": with_args("DynamicResources", filterTimeout="5"),
    "device binding timeout too short": with_args("DynamicResources", bindingTimeout="500ms"),
    "device timeouts are fine": with_args(
        "DynamicResources", filterTimeout="0s", bindingTimeout="20s"
    ),
    "leader lock of an old kind": configuration(
        leaderElection={"leaderElect": True, "resourceLock": "endpoints"}
    ),
    "leader lease shorter than its renewal": configuration(
        leaderElection={
            "leaderElect": True,
            "leaseDuration": "5s",
            "renewDeadline": "10s",
            "retryPeriod": "2s",
        }
    ),
    "leader without a lock name": configuration(
        leaderElection={"leaderElect": True, "resourceName": ""}
    ),
    "client burst negative": configuration(clientConnection={"burst": -1}),
    "duration without a unit": configuration(leaderElection={"leaseDuration": "15"}),
    "extender without weight": configuration(extenders=[extender(prioritizeVerb="prioritize")]),
    "extender with weight": configuration(
        extenders=[extender(prioritizeVerb="prioritize", weight=2)]
    ),
    "two extenders that bind": configuration(
        extenders=[extender(bindVerb="bind"), extender(bindVerb="bind")]
    ),
    "extender of a plain resource": configuration(
        extenders=[extender(managedResources=[{"name": "cpu"}])]
    ),
    "extender of a badly named resource": configuration(
        extenders=[extender(managedResources=[{"name": "a b/c"}])]
    ),
    "extender of a resource twice": configuration(
        extenders=[extender(managedResources=[{"name": GPU}, {"name": GPU}])]
    ),
    "many faults": configuration(
        profile(arguments("InterPodAffinity", hardPodAffinityWeight=-1), name="x"),
        profile(name="x"),
        parallelism=0,
        percentageOfNodesToScore=300,
    ),
}


@family("config-errors")
def config_errors(d: Dice) -> Json:
    """These are not random: the case of a number is always the same."""
    name = list(CONFIGURATIONS)[d.index % len(CONFIGURATIONS)]
    return {"note": name, "config": CONFIGURATIONS[name], "listPlugins": True}
