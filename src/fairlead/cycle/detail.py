"""The whole of an attempt put in words by node and plugin, for those who ask why.

It is read from the answers that the decision is made from, so that looking at it tests them.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from fairlead.cluster.nodes import NodeTable
from fairlead.cycle.decision import Detail
from fairlead.cycle.filter import crowded, filter_nodes
from fairlead.cycle.kept import Kept
from fairlead.cycle.prefilter import PreFiltered
from fairlead.cycle.score import pre_score, score_nodes
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import Rows
from fairlead.framework.profile import Profile
from fairlead.framework.state import CycleState
from fairlead.framework.status import PluginError
from fairlead.framework.trial import Trials
from fairlead.model.podinfo import PodInfo


class Teller:
    """Fills in a Detail from one attempt."""

    def __init__(self, table: NodeTable, handle: Handle, profile: Profile, pod: PodInfo) -> None:
        self.table = table
        self.handle = handle
        self.profile = profile
        self.pod = pod

    def filtered(
        self,
        detail: Detail,
        found: PreFiltered,
        filters: Sequence[PluginInstance],
        rows: Rows,
        kept: Mapping[PluginInstance, Kept],
        trials: Trials,
    ) -> Rows:
        """The verdict on each of the rows; returns those that pass."""
        detail.pre_filtered = True
        if found.node_names is not None:
            detail.pre_filter_nodes = found.node_names
            detail.pre_filter_plugins = tuple(sorted(found.narrowing))
        state = trials.state
        verdict = filter_nodes(filters, self.pod, rows, state, self.handle, kept, raising=False)
        with suppress(PluginError):  # the decision will end with it
            verdict.refuse(crowded(trials, self.table, rows), filters, self.handle)
        detail.filter = {
            self.table.info(row).name: refusal
            for row, refusal in verdict.refusals(filters, self.handle)
        }
        return verdict.passed

    def narrowed(self, detail: Detail, seen: Rows) -> None:
        """Leave out the nodes that the search has not come to."""
        assert detail.filter is not None
        detail.evaluated = len(seen)
        names = [self.table.info(row).name for row in seen.tolist()]
        detail.filter = {name: detail.filter[name] for name in names}

    def scored(
        self,
        detail: Detail,
        rows: Rows,
        state: CycleState,
        kept: Mapping[PluginInstance, Kept],
        idle: set[PluginInstance],
        failure: PluginError | None,
    ) -> None:
        """The weighted score of each plugin on each row, even where one row is left."""
        names = [self.table.info(row).name for row in rows.tolist()]
        scorers = [i for i in self.profile.score if i not in idle]
        fresh = [i for i in scorers if i not in kept]
        if not self.profile.score or not rows.size:
            detail.winners = sorted(names)
            return
        try:
            if failure is not None:
                raise failure
            skip = pre_score(fresh, self.profile, self.pod, self.handle.nodes(rows), state)
            asked = [i for i in scorers if i not in skip]
            columns = score_nodes(asked, self.pod, rows, state, self.handle, kept)
        except PluginError:
            if len(names) == 1:
                detail.winners = names
            return
        detail.scores = {
            name: {plugin: int(column[at]) for plugin, column in columns.items()}
            for at, name in enumerate(names)
        }
        detail.totals = {name: sum(row.values()) for name, row in detail.scores.items()}
        if len(names) == 1:
            detail.winners = names
