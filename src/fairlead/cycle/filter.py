"""Filter, asked afresh: the verdict on each node of the first plugin that refuses it.

The daily work is done by kept answers (`kept`, `shape`). This is the slow truth: for pods that
PreFilter has narrowed to a few nodes, for the node that was chosen, and for every pod before it
is called unschedulable.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.cluster.nodes import NodeTable
from fairlead.cycle.kept import Kept
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import Codes, Ids, Rows, Verdicts
from fairlead.framework.state import CycleState
from fairlead.framework.status import WRAPPED, Code, Refusal, Status, failed
from fairlead.framework.trial import Trials
from fairlead.model.podinfo import PodInfo


@dataclass(slots=True)
class Verdict:
    """Of each row of a set: the index of the refusing filter, its code, the id of its reasons.

    `refusers` is -1 where every filter lets the pod pass.
    """

    rows: Rows
    refusers: Codes
    codes: Codes
    reasons: Ids

    @property
    def passed(self) -> Rows:
        return self.rows[self.refusers < 0]

    def refuse(
        self,
        refused: Mapping[int, Refusal],
        filters: Sequence[PluginInstance],
        handle: Handle,
    ) -> None:
        """Put other refusals above what was found, by row."""
        order = {instance.name: at for at, instance in enumerate(filters)}
        for at, row in enumerate(self.rows.tolist()):
            refusal = refused.get(row)
            if refusal is not None:
                self.refusers[at] = order[refusal.plugin]
                self.codes[at] = refusal.status.code
                self.reasons[at] = handle.reason_id(refusal.status.reasons)

    def refusals(
        self, filters: Sequence[PluginInstance], handle: Handle
    ) -> Iterator[tuple[int, Refusal | None]]:
        """Each row with who refused it and why."""
        for row, at, code, reason in zip(
            self.rows.tolist(),
            self.refusers.tolist(),
            self.codes.tolist(),
            self.reasons.tolist(),
            strict=True,
        ):
            if at < 0:
                yield row, None
            else:
                reasons = handle.reasons_of(reason)
                if not Code(code).rejected:
                    reasons = (WRAPPED["Filter"].format(filters[at].name, ", ".join(reasons)),)
                yield row, Refusal(filters[at].name, Status(Code(code), *reasons))


def filter_nodes(
    filters: Sequence[PluginInstance],
    pod: PodInfo,
    rows: Rows,
    state: CycleState,
    handle: Handle,
    kept: Mapping[PluginInstance, Kept] | None = None,
    *,
    raising: bool = True,
) -> Verdict:
    """Ask all filters about the rows, each only about those that the earlier ones left.

    What is in `kept` is read there instead of asked. A filter that could not answer ends the
    attempt, whatever it would have said elsewhere, unless one only wants to know.
    """
    size = len(rows)
    verdict = Verdict(
        rows, np.full(size, -1, np.int8), np.zeros(size, np.int8), np.zeros(size, np.int32)
    )
    left = np.arange(size)
    for at, instance in enumerate(filters):
        if not left.size:
            break
        found = answer(instance, pod, rows[left], state, handle, (kept or {}).get(instance))
        if found is None:
            continue
        refused = found.codes != Code.SUCCESS
        where = left[refused]
        codes, reasons = found.codes[refused], found.reasons[refused]
        for code, reason in set(zip(codes.tolist(), reasons.tolist(), strict=True)):
            if raising and not Code(code).rejected:
                raise failed(instance.name, "Filter", ", ".join(handle.reasons_of(reason)))
        verdict.refusers[where] = at
        verdict.codes[where] = codes
        verdict.reasons[where] = reasons
        left = left[~refused]
    return verdict


def answer(
    instance: PluginInstance,
    pod: PodInfo,
    rows: Rows,
    state: CycleState,
    handle: Handle,
    kept: Kept | None,
) -> Verdicts | None:
    """One filter's word on the rows: the kept one if there is any."""
    if kept is None:
        return instance.ask_filter_nodes(pod, handle.nodes(rows), state)
    if kept.codes is None or kept.reasons is None:
        return None
    return Verdicts(kept.codes[rows], kept.reasons[rows])


def crowded(trials: Trials, table: NodeTable, rows: Container[int] | Rows) -> dict[int, Refusal]:
    """Of these rows those that would refuse the pod if the pods nominated to them ran there.

    Kept answers know of no nominations: the few nodes that have any are tried here, each time.
    """
    refused: dict[int, Refusal] = {}
    for name in trials.nominations.nominated_nodes():
        info = table.get(name)
        if info is not None and info.row in rows:
            refusal = trials.crowded(info)
            if refusal is not None:
                refused[info.row] = refusal
    return refused
