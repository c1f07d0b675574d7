"""On which nodes would eviction help, and whom would it hit? As many as kube-scheduler looks at."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fairlead.config.args import DefaultPreemptionArgs
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import Rows
from fairlead.framework.stages import Victims
from fairlead.framework.status import Code, Refusal, Status
from fairlead.framework.statuses import NodeStatuses
from fairlead.framework.trial import Trials
from fairlead.framework.words import count_reasons
from fairlead.plugins.default_preemption.budgets import Budgets
from fairlead.plugins.default_preemption.sieve import Sifted, sift
from fairlead.plugins.default_preemption.victims import victims_on

NOT_HELPFUL = "Preemption is not helpful for scheduling"


@dataclass(slots=True)
class Found:
    """The candidates by name, the statuses of the other nodes that were tried, and errors."""

    violating: dict[str, Victims] = field(default_factory=dict[str, Victims])
    sparing: dict[str, Victims] = field(default_factory=dict[str, Victims])
    refused: dict[str, Refusal] = field(default_factory=dict[str, Refusal])
    sifted: Sifted | None = None

    @property
    def candidates(self) -> dict[str, Victims]:
        return self.sparing | self.violating

    def add(self, name: str, outcome: Victims | Refusal, wanted: int) -> bool:
        """Note what was found on a node; whether enough is found."""
        if isinstance(outcome, Refusal):
            self.refused[name] = outcome
            return False
        group = self.violating if outcome.violations else self.sparing
        if len(group) < wanted:
            group[name] = outcome
        return bool(self.sparing) and len(self.sparing) + len(self.violating) >= wanted

    def errors(self) -> list[str]:
        """What went wrong on the nodes that were tried, each once."""
        statuses = [refusal.status for refusal in self.refused.values()]
        return list(dict.fromkeys(s.message for s in statuses if s.code == Code.ERROR))

    def reasons(self, handle: Handle, nodes: int) -> Counter[str]:
        """How often each reason stands against preemption, over all nodes of the cluster."""
        counted = count_reasons((r.status.reasons, 1) for r in self.refused.values())
        tried = len(self.refused)
        sifted = self.sifted
        if sifted is not None:
            closed = sifted.reasons[sifted.known & ~sifted.open]
            times = np.bincount(closed)
            counted += count_reasons(
                (handle.reasons_of(i), int(times[i])) for i in times.nonzero()[0].tolist()
            )
            tried += len(closed)
        if tried < nodes:
            counted[NOT_HELPFUL] += nodes - tried
        return counted

    def tried(self, handle: Handle, trials: Trials) -> dict[str, Victims | Refusal]:
        """All that was found out, by node."""
        return {**dict(self._closed(handle, trials)), **self.refused, **self.candidates}

    def _closed(self, handle: Handle, trials: Trials) -> Iterator[tuple[str, Refusal]]:
        sifted = self.sifted
        if sifted is None:
            return
        where = np.flatnonzero(sifted.known & ~sifted.open)
        infos = handle.nodes(sifted.rows[where]).infos()
        for at, info in zip(where.tolist(), infos, strict=True):
            assert info is not None
            by, code = int(sifted.refusers[at]), Code(int(sifted.codes[at]))
            plugin = trials.filters[by].name if by >= 0 else ""
            reasons = handle.reasons_of(int(sifted.reasons[at]))
            yield info.name, Refusal(plugin, Status(code, *reasons))


def find(handle: Handle, args: DefaultPreemptionArgs, statuses: NodeStatuses) -> Found:
    """Try the nodes that were refused for reasons which the leaving of pods may remove.

    One begins anywhere among them, and stops when there are enough candidates of which at least
    one breaks no budget.
    """
    found = Found()
    rows = statuses.rows_with(Code.UNSCHEDULABLE)
    if not rows.size:
        return found
    trials, size = statuses.trials, len(rows)
    offset = handle.choose(size)
    share = size * args.min_candidate_nodes_percentage // 100
    wanted = min(size, max(share, args.min_candidate_nodes_absolute))
    rows = np.concatenate((rows[offset:], rows[:offset]))
    sifted = found.sifted = sift(handle, trials, rows)
    budgets = Budgets(handle.objects)
    for name, outcome in tried(handle, trials, rows[sifted.open], budgets):
        if found.add(name, outcome, wanted):
            break
    if statuses.explaining or not found.candidates:
        # Nothing can be gained on these, but somebody wants to know why.
        unclear = rows[~sifted.open & ~sifted.known]
        found.refused |= {
            name: outcome
            for name, outcome in tried(handle, trials, unclear, budgets)
            if isinstance(outcome, Refusal)
        }
    return found


def tried(
    handle: Handle, trials: Trials, rows: Rows, budgets: Budgets
) -> Iterator[tuple[str, Victims | Refusal]]:
    """The nodes one by one, with what a trial finds there."""
    table = handle.nodes(rows).table
    for row in rows.tolist():
        info = table.info(row)
        yield info.name, victims_on(trials, info, budgets)
