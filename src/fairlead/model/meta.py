"""The metadata that every object has, as far as a scheduler reads it."""

from typing import Annotated

import msgspec
from msgspec import Raw, Struct

NO_BYTES = Raw(b"")

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class OwnerReference(Struct, rename="camel", frozen=True, gc=False, cache_hash=True):
    """An owner of an object; the one with `controller` manages it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Struct, rename="camel", frozen=True, gc=False):
    """The metadata of everything but pods, labels and annotations decoded."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class PodMeta(Struct, rename="camel", frozen=True, gc=False):
    """The metadata of a pod: labels and owners stay bytes until they are known to be new."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    labels: Raw = NO_BYTES
    owner_references: Raw = NO_BYTES
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


def controller_of(owners: tuple[OwnerReference, ...]) -> OwnerReference | None:
    """The owner that manages the object, if any."""
    for owner in owners:
        if owner.controller:
            return owner
    return None
