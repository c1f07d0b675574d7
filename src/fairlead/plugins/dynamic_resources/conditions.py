"""Devices that must be made ready on their node: whether they are, failed, or take too long."""

from datetime import datetime

from fairlead.model.resource import (
    AllocatedDeviceStatus,
    DeviceRequestAllocationResult,
    ResourceClaim,
)


class BindingFailed(Exception):  # noqa: N818 - what is said of the claim
    """A driver has said that a device of the claim cannot be made ready."""


def ready(claim: ResourceClaim) -> bool:
    """Whether all devices of the claim are ready for the pod. Raises BindingFailed."""
    if claim.status.allocation is None:
        return False
    for result in claim.status.allocation.devices.results:
        if not result.binding_conditions:
            continue
        status = status_of(claim, result)
        if status is None:
            return False
        true = {each.type: each for each in status.conditions if each.status == "True"}
        for name in result.binding_failure_conditions:
            failed = true.get(name)
            if failed is not None:
                said = f'reason={failed.reason}, message="{failed.message}"'
                what = f"claim={claim.metadata.name}, {said}"
                raise BindingFailed(f"device binding failed: {what}")
        if any(name not in true for name in result.binding_conditions):
            return False
    return True


def timed_out(claim: ResourceClaim, now: float, patience: float) -> bool:
    """Whether the devices have been awaited for too long."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    since = datetime.fromisoformat(allocation.allocation_timestamp).timestamp()
    return must_wait(claim) and since + patience < now


def must_wait(claim: ResourceClaim) -> bool:
    """Whether a device of the claim has to be made ready at all."""
    allocation = claim.status.allocation
    return allocation is not None and any(
        each.binding_conditions for each in allocation.devices.results
    )


def status_of(
    claim: ResourceClaim, result: DeviceRequestAllocationResult
) -> AllocatedDeviceStatus | None:
    wanted = (result.driver, result.pool, result.device)
    for each in claim.status.devices:
        if (each.driver, each.pool, each.device) == wanted:
            return each
    return None
