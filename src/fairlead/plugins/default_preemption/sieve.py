"""The nodes on which preemption cannot help, found in one step over all of them.

Reads: the columns of the nodes, and the same without the pods of lower priority. A filter that
reads nothing else of a node is asked about all of them at once, with those pods gone; the nodes
that it refuses then need no trial. Where only such filters stand before it, its word is also what
a trial would end with.
"""

from dataclasses import dataclass

import numpy as np

from fairlead.cluster.below import WithoutPodsBelow
from fairlead.cluster.columns import Mask
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import Codes, Ids, NodeSet, Rows, Verdicts, trouble
from fairlead.framework.status import Code, PluginError
from fairlead.framework.trial import Trials
from fairlead.plugins.default_preemption.victims import NO_VICTIMS


@dataclass(slots=True)
class Sifted:
    """What is known of each of the rows without a trial.

    `open` rows may help. The others cannot: where `known`, in the words of `codes`, `reasons` and
    the filter of index `refusers` (-1 for none); elsewhere only a trial knows the words.
    """

    rows: Rows
    open: Mask
    known: Mask
    refusers: Codes
    codes: Codes
    reasons: Ids


def sift(handle: Handle, trials: Trials, rows: Rows) -> Sifted:
    """Ask the filters about these rows as they would be without the pods of lower priority."""
    without = handle.without_pods_below(trials.pod.priority)
    size = len(rows)
    sifted = Sifted(
        rows,
        without.victims[rows] > 0,
        np.ones(size, np.bool_),
        np.full(size, -1, np.int8),
        np.full(size, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, np.int8),
        np.full(size, handle.reason_id((NO_VICTIMS,)), np.int32),
    )
    taken = [
        row
        for name in trials.nominations.nominated_nodes()
        if (row := row_of(handle, name)) is not None
    ]
    crowded = np.isin(rows, taken) if taken else np.zeros(size, np.bool_)
    sure = True
    for at, instance in enumerate(trials.filters):
        where = np.flatnonzero(sifted.open & ~crowded)
        if not where.size:
            break
        verdicts = asked(handle, trials, instance, rows[where], without)
        if verdicts is None:
            sure = False
            continue
        refused = verdicts.codes != Code.SUCCESS
        gone = where[refused]
        sifted.open[gone] = False
        sifted.known[gone] = sure
        sifted.refusers[gone] = at
        sifted.codes[gone] = verdicts.codes[refused]
        sifted.reasons[gone] = verdicts.reasons[refused]
    return sifted


def asked(
    handle: Handle,
    trials: Trials,
    instance: PluginInstance,
    rows: Rows,
    without: WithoutPodsBelow,
) -> Verdicts | None:
    """One filter's word without those pods; None if it looks at more than there are columns for."""
    nodes: NodeSet
    if not instance.moved_by_pods:
        nodes = handle.nodes(rows)
    elif instance.in_columns:
        nodes = handle.imagined(rows, without)
    else:
        return None
    try:
        verdicts = instance.ask_filter_nodes(trials.pod, nodes, trials.state)
    except PluginError:  # whether it looked further or failed: a trial will tell
        return None
    if verdicts is None:
        return Verdicts(np.zeros(len(rows), np.int8), np.zeros(len(rows), np.int32))
    return None if trouble(verdicts.codes) else verdicts


def row_of(handle: Handle, name: str) -> int | None:
    info = handle.node(name)
    return None if info is None else info.row
