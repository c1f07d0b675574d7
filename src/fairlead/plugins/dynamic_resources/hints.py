"""Which events may help a pod that waits for devices."""

from collections.abc import Sequence

from fairlead.cluster.devices.claims import Claims
from fairlead.model.podinfo import PodInfo
from fairlead.model.resource import ResourceClaim
from fairlead.plugins.dynamic_resources.names import ClaimFault, claims_of
from fairlead.queue.events import (
    ADD,
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    UPDATE,
    ActionType,
    ClusterEvent,
    Registration,
)

NODE_EVENT = ClusterEvent(
    NODE, ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
)
CLAIM_EVENT = ClusterEvent(RESOURCE_CLAIM, ADD | UPDATE)
POD_EVENT = ClusterEvent(POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)


def registrations(claims: Claims) -> Sequence[Registration]:
    def after_claim(pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim) -> bool:
        """Devices have become free, or the state of a claim of the pod has changed."""
        try:
            own = {claim.metadata.uid for claim in claims_of(pod, claims)}
        except ClaimFault:
            return False
        if old is not None and old.status.allocation and not new.status.allocation:
            return True
        if new.metadata.uid not in own:
            return False
        return old is None or old.status != new.status

    def after_pod(pod: PodInfo, old: PodInfo | None, new: PodInfo) -> bool:
        """The pod's own claims have been made."""
        if new.uid != pod.uid:
            return False
        try:
            for _claim in claims_of(new, claims):
                pass
        except ClaimFault:
            return False
        return True

    return (
        (NODE_EVENT, None),
        (CLAIM_EVENT, after_claim),
        (POD_EVENT, after_pod),
        (ClusterEvent(DEVICE_CLASS, ADD | UPDATE), None),
        (ClusterEvent(RESOURCE_SLICE, ADD | UPDATE), None),
    )
