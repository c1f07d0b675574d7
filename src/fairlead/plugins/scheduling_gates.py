"""SchedulingGates: a pod with gates waits until they are gone."""

from collections.abc import Sequence

from fairlead.framework.status import Status, unresolvable
from fairlead.model.podinfo import PodInfo
from fairlead.queue.events import POD, ActionType, ClusterEvent, QueueingHint, Registration


class SchedulingGates:
    name = "SchedulingGates"

    def events_to_register(self) -> Sequence[Registration]:
        gone = ClusterEvent(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return [(gone, after_gates_are_gone)]

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if not pod.scheduling_gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(pod.scheduling_gates)}]")


def after_gates_are_gone(pod: PodInfo, old: PodInfo | None, new: PodInfo) -> QueueingHint:
    return QueueingHint(new.uid == pod.uid)
