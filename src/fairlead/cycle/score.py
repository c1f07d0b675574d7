"""Score: every plugin's raw score of the nodes that are left, normalised and weighed."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from fairlead.cluster.columns import Int64
from fairlead.cycle.kept import Kept, out_of_range
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import NodeSet, Rows
from fairlead.framework.profile import Profile
from fairlead.framework.stages import MAX_NODE_SCORE
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, crash, failed, said
from fairlead.model.podinfo import PodInfo


def pre_score(
    scorers: Collection[PluginInstance],
    profile: Profile,
    pod: PodInfo,
    nodes: NodeSet,
    state: CycleState,
) -> set[PluginInstance]:
    """Ask PreScore of these plugins; those that have nothing to score are returned."""
    skipped: set[PluginInstance] = set()
    for instance in profile.pre_score:
        if instance not in scorers:
            continue
        try:
            outcome: Any = instance.pre_score(pod, nodes, state)
            status = None if outcome is None else said(instance.name, "PreScore", outcome)
        except Exception as problem:
            raise crash(instance.name, "PreScore", problem) from problem
        if status is None or status.code == Code.SUCCESS:
            continue
        if status.code != Code.SKIP:
            raise failed(instance.name, "PreScore", status.message)
        skipped.add(instance)
    return skipped


def indifferent(
    scorers: Collection[PluginInstance], pod: PodInfo, state: CycleState
) -> set[PluginInstance]:
    """The scorers without PreScore that give no node anything for this pod."""
    found: set[PluginInstance] = set()
    for instance in scorers:
        if instance.indifferent is not None:
            try:
                if instance.indifferent(pod, state):
                    found.add(instance)
            except Exception as problem:
                raise crash(instance.name, "Score", problem) from problem
    return found


def normalized(
    instance: PluginInstance, pod: PodInfo, raw: Int64 | int, size: int, state: CycleState
) -> Int64:
    """The scores of the nodes that are left, between 0 and 100."""
    scores = np.full(size, raw, np.int64) if isinstance(raw, int) else raw
    if instance.normalize_score is not None:
        scores = instance.ask_normalize(pod, scores, state)
    if scores.size:
        for bound in (int(scores.min()), int(scores.max())):
            if not 0 <= bound <= MAX_NODE_SCORE:
                raise out_of_range(instance.name, bound)
    return scores


def score_nodes(
    scorers: Sequence[PluginInstance],
    pod: PodInfo,
    rows: Rows,
    state: CycleState,
    handle: Handle,
    kept: Mapping[PluginInstance, Kept] | None = None,
) -> dict[str, Int64]:
    """The weighted scores of each plugin for the rows; what is in `kept` is not asked again."""
    scores: dict[str, Int64] = {}
    for instance in scorers:
        known = (kept or {}).get(instance)
        if known is None:
            raw = instance.ask_score_nodes(pod, handle.nodes(rows), state)
        else:
            raw = known.raw(rows)
        notes = state if known is None else known.state
        scores[instance.name] = normalized(instance, pod, raw, len(rows), notes) * instance.weight
    return scores
