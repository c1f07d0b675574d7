"""What processes cost, as the kernel counts it; and what they had cost at any moment before."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on; None once the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None


def tree(root: int) -> list[int]:
    """A process and all its descendants."""
    parents = {
        int(entry.name): int(fields[1])
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and (fields := _stat(int(entry.name)))
    }
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def usage(root: int) -> tuple[float, float]:
    """CPU seconds and resident MiB of a process tree."""
    cpu = resident = 0.0
    for pid in tree(root):
        if fields := _stat(pid):
            cpu += (int(fields[11]) + int(fields[12])) / TICKS
            resident += int(fields[21]) * PAGE / 2**20
    return cpu, resident


class Meter:
    """Samples a scheduler's CPU and that of its control plane, four times a second."""

    def __init__(self, scheduler: int, plane: list[int]) -> None:
        self._scheduler = scheduler
        self._plane = plane
        self._samples: list[tuple[float, float, float]] = []
        self.peak_mib = 0.0

    def sample(self) -> None:
        cpu, resident = usage(self._scheduler)
        self.peak_mib = max(self.peak_mib, resident)
        plane = sum(usage(pid)[0] for pid in self._plane)
        self._samples.append((time.monotonic(), cpu, plane))

    async def run(self) -> None:
        while True:
            self.sample()
            await asyncio.sleep(0.25)

    async def until_quiet(self, seconds: float = 30) -> None:
        """Work that was put off counts too: wait until the scheduler does nothing any more."""
        deadline = time.monotonic() + seconds
        quiet = 0
        while quiet < 3 and time.monotonic() < deadline:
            before = usage(self._scheduler)[0]
            await asyncio.sleep(0.5)
            quiet = quiet + 1 if usage(self._scheduler)[0] - before < 0.03 else 0
        self.sample()

    def at(self, moment: float) -> tuple[float, float]:
        """CPU seconds of scheduler and control plane at this moment, between two samples."""
        earlier = [s for s in self._samples if s[0] <= moment] or self._samples[:1]
        later = [s for s in self._samples if s[0] > moment] or self._samples[-1:]
        (begin, *before), (end, *after) = earlier[-1], later[0]
        share = (moment - begin) / (end - begin) if end > begin else 0.0
        scheduler, plane = (b + share * (a - b) for b, a in zip(before, after, strict=True))
        return scheduler, plane

    def since(self, moment: float) -> tuple[float, float]:
        _, scheduler, plane = self._samples[-1]
        before = self.at(moment)
        return scheduler - before[0], plane - before[1]
