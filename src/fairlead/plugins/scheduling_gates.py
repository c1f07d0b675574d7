"""SchedulingGates: a pod with gates waits until they are gone."""

from fairlead.framework.status import Status, unresolvable
from fairlead.model.podinfo import PodInfo


class SchedulingGates:
    name = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if not pod.scheduling_gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(pod.scheduling_gates)}]")
