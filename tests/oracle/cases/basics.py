"""Names, random choices and quantities."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")
Json = dict[str, Any]
Need = dict[str, int]
"""Amounts of resources in their base units: thousandths of a core, bytes, or pieces."""

KI, MI, GI, TI = 2**10, 2**20, 2**30, 2**40
CPU, MEMORY, DISK, PODS = "cpu", "memory", "ephemeral-storage", "pods"
GPU, FPGA, LICENSE, HUGE = (
    "nvidia.com/gpu",
    "example.com/fpga",
    "example.com/license",
    "hugepages-2Mi",
)
HOSTNAME, ZONE, REGION = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
RACK, DISKTYPE, AGE = "example.com/rack", "example.com/disk", "example.com/age"
INSTANCE, ARCH = "node.kubernetes.io/instance-type", "kubernetes.io/arch"
NAMESPACES = {
    "default": {"env": "prod"},
    "team-a": {"team": "a", "env": "prod"},
    "team-b": {"team": "b", "env": "test"},
}


class Dice(random.Random):
    """The random choices of one case."""

    def __init__(self, seed: int, family: str, index: int) -> None:
        super().__init__(f"{seed}/{family}/{index}")
        self.index = index

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def some(self, items: Iterable[T], low: int, high: int) -> list[T]:
        """Draw between low and high different items."""
        pool = list(items)
        return self.sample(pool, min(len(pool), self.randint(low, high)))

    def weighted(self, weights: dict[T, float]) -> T:
        return self.choices(list(weights), list(weights.values()))[0]


def decimal(value: int, scale: int) -> str:
    """Write value / 10**scale without rounding."""
    whole, rest = divmod(value, 10**scale)
    digits = f"{rest:0{scale}d}".rstrip("0") if scale else ""
    return f"{whole}.{digits}" if digits else str(whole)


def spell(d: Dice, resource: str, amount: int, *, odd: float = 0.3) -> str:
    """Write an amount of a resource, now and then in an unusual way."""
    if resource == CPU:
        plain = f"{amount}m" if amount % 1000 else str(amount // 1000)
        cores = decimal(amount, 3)
        spellings = [
            cores,
            f"0{cores}",
            f"+{cores}",
            cores.lstrip("0") or "0",
            f"{amount}m",
            f"{amount}e-3",
            f"{amount * 1000}u",
            f"{amount * 10**6}n",
            f"{decimal(amount, 6)}k",
            f"{decimal(amount, 2)}e-1",
        ]
    elif resource in (MEMORY, DISK) or resource.startswith("hugepages-"):
        plain = next(
            (
                f"{amount // size}{unit}"
                for unit, size in (("Gi", GI), ("Mi", MI), ("Ki", KI))
                if amount and amount % size == 0
            ),
            str(amount),
        )
        spellings = [str(amount), f"{decimal(amount, 3)}e3", f"{decimal(amount, 9)}E9"]
        spellings += [
            decimal(amount, digits) + unit
            for unit, digits in (("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18))
        ]
        spellings += [
            f"{decimal(amount * 100 // size, 2)}{unit}"
            for unit, size in (("Ki", KI), ("Mi", MI), ("Gi", GI), ("Ti", TI))
            if amount % (size // 4) == 0
        ]
        if resource == MEMORY:
            spellings.append(f"{amount}000m")
    else:
        plain = str(amount)
        spellings = [plain, f"{amount}000m", f"{amount}e0", f"{decimal(amount, 3)}k"]
    return d.choice(spellings) if d.chance(odd) else plain


def quantities(d: Dice, need: Need, *, odd: float = 0.3) -> Json:
    return {resource: spell(d, resource, amount, odd=odd) for resource, amount in need.items()}


def split(d: Dice, need: Need, parts: int) -> list[Need]:
    """Split amounts at random into a number of parts that add up to them."""
    pieces: list[Need] = [{} for _ in range(parts)]
    for resource, amount in need.items():
        unit = 2 * MI if resource.startswith("hugepages-") else 1
        cuts = sorted(d.randint(0, amount // unit) * unit for _ in range(parts - 1))
        for piece, low, high in zip(pieces, [0, *cuts], [*cuts, amount], strict=True):
            if high > low or d.chance(0.2):
                piece[resource] = high - low
    return pieces


def scaled(need: Need, factor: float) -> Need:
    def scale(resource: str, amount: int) -> int:
        value = int(amount * factor)
        return value // (2 * MI) * 2 * MI if resource.startswith("hugepages-") else value

    return {resource: scale(resource, amount) for resource, amount in need.items()}
