"""PodTopologySpread: hard constraints filter, soft ones score; both from counts kept in step."""

from collections.abc import Hashable, Sequence

import numpy as np

from fairlead.cluster.columns import Int64
from fairlead.cluster.nodes import NodeInfo
from fairlead.config.args import PodTopologySpreadArgs
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, StageFailed, Status, error
from fairlead.model.podinfo import PodInfo
from fairlead.model.spread import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, TopologySpreadConstraint
from fairlead.plugins.pod_topology_spread.constraints import SYSTEM_DEFAULTS, ConstraintsOf
from fairlead.plugins.pod_topology_spread.demands import Demands, above, demands
from fairlead.plugins.pod_topology_spread.hints import SpreadHints
from fairlead.plugins.pod_topology_spread.wishes import Wishes
from fairlead.queue.events import Registration

PRE_FILTER = "PreFilterPodTopologySpread"
PRE_SCORE = "PreScorePodTopologySpread"
NOT_FOUND = error(f'reading "{PRE_FILTER}" from cycleState: not found')


class PodTopologySpread:
    """What it says of a node rests on all others, so nothing of it is kept from pod to pod."""

    name = "PodTopologySpread"

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self.handle = handle
        self.system_defaulted = args.defaulting_type != "List"
        defaults = SYSTEM_DEFAULTS if self.system_defaulted else listed(args)
        actions = {each.when_unsatisfiable for each in defaults}
        self.default_hard = DO_NOT_SCHEDULE in actions
        self.default_soft = SCHEDULE_ANYWAY in actions
        self.constraints = ConstraintsOf(defaults, handle)

    def events_to_register(self) -> Sequence[Registration]:
        return SpreadHints(self.constraints).registrations()

    def pre_filter(self, pod: PodInfo, state: CycleState) -> PreFilterResult | Status | None:
        if not pod.spread_constraints and not self.default_hard:
            return SKIP
        constraints = self.constraints.pod(pod)
        if constraints.hard_fault:
            what = "obtaining pod's hard topology spread constraints"
            return error(f"get constraints from pod: {what}: {constraints.hard_fault}")
        if not constraints.hard:
            return SKIP
        state.write(PRE_FILTER, demands(self.handle, pod, constraints.hard))
        return None

    def filter_reads(self, pod: PodInfo) -> Hashable:
        who = pod.namespace, frozenset(pod.labels.items()), pod.owner
        nodes = pod.node_selector, pod.required_node_affinity, pod.tolerations
        return *who, *nodes, pod.spread_constraints

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        if PRE_FILTER not in state:
            return NOT_FOUND
        return demanded(state).refuses(node)

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        if PRE_FILTER not in state:
            everywhere = np.ones(nodes.size, np.bool_)
            return nodes.reject(everywhere, *NOT_FOUND.reasons, code=NOT_FOUND.code)
        verdict: Verdicts | None = None
        for demand in reversed(demanded(state).each):
            verdict = above(demand.refused(nodes), verdict)
        return verdict

    def add_pod(
        self, pod: PodInfo, added: PodInfo, node: NodeInfo, state: CycleState
    ) -> Status | None:
        return counted(pod, added, node, state, 1)

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, state: CycleState
    ) -> Status | None:
        return counted(pod, removed, node, state, -1)

    def pre_score(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Status | None:
        own = bool(pod.spread_constraints)
        if not own and not self.default_soft:
            return SKIP
        constraints = self.constraints.pod(pod)
        if constraints.soft_fault:
            what = "obtaining pod's soft topology spread constraints"
            return error(f"calculating preScoreState: {what}: {constraints.soft_fault}")
        if not constraints.soft:
            return SKIP
        # With the system's defaults a node without a zone is still spread over by hostname.
        every_key = own or not self.system_defaulted
        wishes = Wishes(self.handle, pod, nodes, constraints.soft, every_key=every_key)
        state.write(PRE_SCORE, wishes)
        return None

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        return wished(state).score(node)

    def score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        return wished(state).scores(nodes)

    def normalize_score(self, pod: PodInfo, scores: Int64, state: CycleState) -> Int64:
        return wished(state).normalized(scores)


def demanded(state: CycleState) -> Demands:
    return state.read(PRE_FILTER)  # type: ignore[return-value]


def counted(
    pod: PodInfo, other: PodInfo, node: NodeInfo, state: CycleState, by: int
) -> Status | None:
    """Another pod has come to the node of a trial, or has left it."""
    if PRE_FILTER not in state:
        return NOT_FOUND
    notes: Demands = state.own(PRE_FILTER)
    notes.count(pod, other, node, by)
    return None


def wished(state: CycleState) -> Wishes:
    """What pre_score left; without that stage there is no score, as in kube-scheduler."""
    if PRE_SCORE not in state:
        raise StageFailed(f'error reading "{PRE_SCORE}" from cycleState: not found')
    return state.read(PRE_SCORE)  # type: ignore[return-value]


def listed(args: PodTopologySpreadArgs) -> tuple[TopologySpreadConstraint, ...]:
    """The constraints of the configuration, as pods spell theirs; these have no selector."""
    return tuple(
        TopologySpreadConstraint(
            each.max_skew,
            each.topology_key,
            each.when_unsatisfiable,
            None,
            each.min_domains,
            each.node_affinity_policy,
            each.node_taints_policy,
            each.match_label_keys,
        )
        for each in args.default_constraints
    )
