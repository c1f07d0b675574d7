"""DefaultPreemption: where no node fits, evict less important pods from the best one."""

from collections.abc import Hashable, Sequence

from fairlead.config.args import DefaultPreemptionArgs
from fairlead.framework.handle import Handle
from fairlead.framework.stages import PostFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Status, error, unresolvable, unschedulable
from fairlead.framework.statuses import NodeStatuses
from fairlead.framework.words import fit_message
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.default_preemption.candidates import find
from fairlead.plugins.default_preemption.choice import best
from fairlead.queue.events import DELETE, POD, ClusterEvent, QueueingHint, Registration

NEVER = "Never"
BY_POLICY = unschedulable("preemption: not eligible due to preemptionPolicy=Never.")
UNDER_WAY = unschedulable(
    "preemption: not eligible due to a terminating pod on the nominated node."
)
WAITING = unresolvable("waiting for the preemption for this pod to be finished")


class DefaultPreemption:
    """Finds a node and its victims; evicting them is done beside the loop, by `binding`."""

    name = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        self.args = args
        self.handle = handle

    def events_to_register(self) -> Sequence[Registration]:
        return [(ClusterEvent(POD, DELETE), never)]

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Hold the pod back while its victims are being told to go.

        Once only the last one is missing and is seen to go, nothing else will wake the pod.
        """
        evictions = self.handle.evictions
        if not evictions.under_way(pod.uid):
            return None
        last = evictions.last_victim(pod.uid)
        if last is not None:
            node = self.handle.node(last.node_name)
            now = None if node is None else node.pods_by_uid.get(last.uid)
            if now is None or now.deleting:
                return None
        return WAITING

    def post_filter_reads(self, pod: PodInfo) -> Hashable | None:
        """A pod that has been promised a node is looked at each time."""
        if pod.nominated_node_name:
            return None
        return pod.priority, pod.preemption_policy == NEVER

    def post_filter(
        self, pod: PodInfo, state: CycleState, statuses: NodeStatuses
    ) -> PostFilterResult | Status | None:
        refusal = self.ineligible(pod, statuses)
        if refusal is not None:
            return refusal
        found = find(self.handle, self.args, statuses)
        tried = found.tried(self.handle, statuses.trials) if statuses.explaining else None
        candidates = found.candidates
        if not candidates:
            if errors := found.errors():
                what = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
                return error(f"preemption: {what}")
            nodes = self.handle.node_count()
            words = fit_message(nodes, found.reasons(self.handle, nodes))
            return PostFilterResult("", unschedulable(f"preemption: {words}"), tried=tried)
        name = best(candidates, self.handle.choose)
        return PostFilterResult(name, victims=candidates[name].pods, tried=tried)

    def ineligible(self, pod: PodInfo, statuses: NodeStatuses) -> Status | None:
        """Why the pod may not have others evicted, if so."""
        if pod.preemption_policy == NEVER:
            return BY_POLICY
        name = pod.nominated_node_name
        if not name or statuses.get(name).code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return None
        node = self.handle.node(name)
        if node is not None and any(
            other.preempted and other.priority < pod.priority for other in node.pods
        ):
            return UNDER_WAY
        return None


def never(pod: PodInfo, old: PodInfo, new: None) -> QueueingHint:
    """The plugins that refused the pod know when to try again; this one only lets them."""
    return QueueingHint.SKIP
