"""PreFilter: one look at the pod, before any node.

Every plugin is asked in order. `UnschedulableAndUnresolvable` ends it; `Unschedulable` is kept
until all were asked, since preemption needs what they note; sets of node names are intersected.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fairlead.framework.instance import PluginInstance
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Status, crash, said, unresolvable
from fairlead.model.podinfo import PodInfo

Outcome = PreFilterResult | Status | None


@dataclass(slots=True)
class PreFiltered:
    """What the PreFilter plugins said together."""

    skipped: set[PluginInstance] = field(default_factory=set[PluginInstance])
    node_names: frozenset[str] | None = None
    narrowing: list[str] = field(default_factory=list[str])
    refusal: Status | None = None
    refused_by: str = ""

    @property
    def failed(self) -> bool:
        """A plugin could not answer: neither yes nor no."""
        return self.refusal is not None and not self.refusal.code.rejected


def ask(instance: PluginInstance, pod: PodInfo, state: CycleState) -> Outcome:
    try:
        outcome: Any = instance.pre_filter(pod, state)
        if outcome is None or isinstance(outcome, PreFilterResult):
            return outcome
        return said(instance.name, "PreFilter", outcome)
    except Exception as problem:
        raise crash(instance.name, "PreFilter", problem) from problem


def pre_filter(
    plugins: Iterable[PluginInstance], pod: PodInfo, state: CycleState, own: CycleState
) -> PreFiltered:
    """Ask these plugins about the pod; those that do not sign pods note things in `own`."""
    found = PreFiltered()
    for instance in plugins:
        outcome = ask(instance, pod, state if instance.kept else own)
        if outcome is None:
            continue
        if isinstance(outcome, PreFilterResult):
            if narrow(found, instance, outcome.node_names):
                return found
        elif outcome.code == Code.SKIP:
            found.skipped.add(instance)
        elif outcome.code != Code.SUCCESS:
            found.refusal, found.refused_by = outcome, instance.name
            if outcome.code != Code.UNSCHEDULABLE:
                return found
    return found


def narrow(found: PreFiltered, instance: PluginInstance, names: frozenset[str]) -> bool:
    """Intersect with what is left; True if nothing is."""
    found.narrowing.append(instance.name)
    found.node_names = names if found.node_names is None else found.node_names & names
    if found.node_names:
        return False
    found.narrowing.sort()
    together = "] simultaneously"
    if len(found.narrowing) == 1:
        reason = f"node(s) didn't satisfy plugin {found.narrowing[0]}"
    else:
        reason = f"node(s) didn't satisfy plugin(s) [{' '.join(found.narrowing)}{together}"
    found.refusal, found.refused_by = unresolvable(reason), ""
    return True
