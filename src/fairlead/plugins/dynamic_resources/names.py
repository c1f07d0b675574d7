"""Which claims a pod has: by name, or made for it from a template."""

from collections.abc import Iterator

from msgspec import Struct

from fairlead.cluster.devices.claims import Claims
from fairlead.model.meta import controller_of
from fairlead.model.podinfo import PodInfo
from fairlead.model.reading import reader
from fairlead.model.resource import ResourceClaim


class ClaimFault(Exception):  # noqa: N818 - what is wrong with the pod's claims
    """A claim of the pod is not there, or not its own: it cannot be scheduled now."""


class PodClaim(Struct, rename="camel", frozen=True, gc=False):
    """An entry of spec.resourceClaims."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodClaimStatus(Struct, rename="camel", frozen=True, gc=False):
    """An entry of status.resourceClaimStatuses."""

    name: str = ""
    resource_claim_name: str | None = None


_read_claims = reader(tuple[PodClaim, ...], "resourceClaims")
_read_statuses = reader(tuple[PodClaimStatus, ...], "resourceClaimStatuses")


def claims_of(pod: PodInfo, claims: Claims) -> Iterator[ResourceClaim]:
    """The claims of the pod in their order. Raises ClaimFault at the first that cannot be used."""
    for given in _read_claims(pod.resource_claims):
        name, generated = name_of(pod, given)
        if name is None:
            continue
        claim = claims.get(pod.namespace, name)
        if claim is None:
            raise ClaimFault(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimFault(f'resourceclaim "{name}" is being deleted')
        owner = controller_of(claim.metadata.owner_references)
        if generated and (owner is None or owner.uid != pod.uid):
            raise ClaimFault(
                f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.key}"
                " (Pod is not owner)"
            )
        yield claim


def name_of(pod: PodInfo, given: PodClaim) -> tuple[str | None, bool]:
    """The name of the claim, and whether it was made for the pod; no name if none is needed."""
    if given.resource_claim_name is not None:
        return given.resource_claim_name, False
    if given.resource_claim_template_name is None:
        what = f'spec.resourceClaim "{given.name}": none of the supported fields are set'
        raise ClaimFault(f'pod "{pod.key}", {what}')
    statuses = _read_statuses(pod.resource_claim_statuses) if pod.resource_claim_statuses else ()
    for status in statuses:
        if status.name == given.name:
            return status.resource_claim_name, True
    raise ClaimFault(f'pod "{pod.key}": ResourceClaim not created yet')
