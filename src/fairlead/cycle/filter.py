"""Filter, asked afresh: the verdict on each node of the first plugin that refuses it.

The daily work is done by kept answers (`kept`, `shape`). This is the slow truth: for pods that
PreFilter has narrowed to a few nodes, for the node that was chosen, and for every pod before it
is called unschedulable.
"""

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from fairlead.cluster.nodes import NodeInfo, NodeTable
from fairlead.cluster.order import zone_of
from fairlead.cycle.kept import Kept
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import Codes, Ids, Rows, Verdicts
from fairlead.framework.state import CycleState
from fairlead.framework.status import WRAPPED, Code, Refusal, Status, failed
from fairlead.framework.trial import Trials
from fairlead.model.podinfo import PodInfo

TROUBLE = [code for code in Code if code != Code.SUCCESS and not code.rejected]


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
        if raising and trouble(codes):
            faults = np.isin(codes, TROUBLE).nonzero()[0]
            first = first_of(rows[where[faults]], handle)
            words = handle.reasons_of(int(reasons[faults[first]]))
            raise failed(instance.name, "Filter", ", ".join(words))
        verdict.refusers[where] = at
        verdict.codes[where] = codes
        verdict.reasons[where] = reasons
        left = left[~refused]
    return verdict


def trouble(codes: Codes) -> bool:
    """Whether any of these words is neither yes nor no."""
    return bool(np.isin(codes, TROUBLE).any())


def first_of(rows: Rows, handle: Handle) -> int:
    """Which of the rows kube-scheduler comes to first: its nodes take turns by zone."""
    if len(rows) == 1:
        return 0
    place = {name: at for at, name in enumerate(by_turns(handle.nodes().infos()))}
    names = [info.name for info in handle.nodes(rows).infos() if info is not None]
    return min(range(len(names)), key=lambda at: place[names[at]])


def by_turns(infos: Iterable[NodeInfo | None]) -> list[str]:
    """The names of the nodes, one of each zone in turn, as if they had come in this order."""
    zones: dict[Hashable, list[str]] = {}
    for info in sorted([each for each in infos if each is not None], key=lambda each: each.name):
        zones.setdefault(zone_of(info.labels), []).append(info.name)
    turns = zip_longest(*zones.values())
    return [name for turn in turns for name in turn if name is not None]


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
