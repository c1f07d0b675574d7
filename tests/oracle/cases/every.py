"""All families, and their cases by seed.

A case is the objects of a small cluster, a pending pod (or some, one after another), and often a
configuration. They are drawn so that a decision is close: what the pod needs is chosen from what
is free on some node, constraints from the labels, ports and disks that are in use.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import (  # noqa: F401 - each of these modules registers its families
    configurations,
    device_parts,
    devices,
    messages,
    namespaces,
    neighbours,
    placement,
    preemption,
    resources,
    sampling,
    together,
    volumes,
)
from .basics import Dice, Json
from .world import FAMILIES

__all__ = ["FAMILIES", "Json", "make_cases"]


def make_cases(name: str, seed: int, count: int) -> Iterable[Json]:
    """The first cases of a family: the same ones for the same seed, on any machine."""
    if name == "config-errors":  # these are not random
        count = min(count, len(configurations.CONFIGURATIONS))
    for index in range(count):
        drawn = FAMILIES[name](Dice(seed, name, index))
        yield {"id": f"{name}-{seed}-{index:04d}", "family": name} | drawn
