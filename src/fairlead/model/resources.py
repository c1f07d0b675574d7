"""Amounts of resources in the units that scheduling computes with."""

import re
from collections.abc import Mapping

from msgspec import Struct

from fairlead.model.quantity import Quantity

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

_QUOTA_PREFIX = "requests."
_NATIVE = "kubernetes.io/"
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PREFIX = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")


class Resources(Struct, frozen=True, gc=False, cache_hash=True):
    """A vector of amounts, immutable and hashed once: cpu in millicores, all else in units.

    `scalars` holds what has no field of its own, sorted by name. An entry of zero stays, since a
    pod that names a resource is not the same as one that does not.
    """

    cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalars: tuple[tuple[str, int], ...] = ()

    def get(self, name: str) -> int:
        """The amount of a resource by its Kubernetes name; 0 if it is not there."""
        if name == CPU:
            return self.cpu
        if name == MEMORY:
            return self.memory
        if name == EPHEMERAL_STORAGE:
            return self.ephemeral_storage
        for scalar, amount in self.scalars:
            if scalar == name:
                return amount
        return 0


NO_RESOURCES = Resources()


def resources_of(quantities: Mapping[str, Quantity], *, least: int | None = None) -> Resources:
    """The quantities in whole units, each rounded up; names that no scheduler counts are dropped.

    `least` is a floor for every amount: what a pending pod requests is never below zero.
    """
    cpu = memory = storage = 0
    scalars: list[tuple[str, int]] = []
    for name, quantity in quantities.items():
        amount = quantity.milli_value() if name == CPU else quantity.value()
        if least is not None and amount < least:
            amount = least
        if name == CPU:
            cpu = amount
        elif name == MEMORY:
            memory = amount
        elif name == EPHEMERAL_STORAGE:
            storage = amount
        elif name != PODS and is_scalar(name):
            scalars.append((name, amount))
    return Resources(cpu, memory, storage, tuple(sorted(scalars)))


def is_scalar(name: str) -> bool:
    """Whether kube-scheduler counts this resource at all, besides those with a field."""
    return (
        name.startswith(("hugepages-", "attachable-volumes-"))
        or _NATIVE in name
        or is_extended(name)
    )


def is_extended(name: str) -> bool:
    """Whether it is an extended resource: qualified, outside of kubernetes.io, no quota's name."""
    if "/" not in name or _NATIVE in name or name.startswith(_QUOTA_PREFIX):
        return False
    prefix, _, rest = (_QUOTA_PREFIX + name).partition("/")
    return (
        len(prefix) <= 253
        and len(rest) <= 63
        and _PREFIX.fullmatch(prefix) is not None
        and _NAME.fullmatch(rest) is not None
    )
