"""The decision for one pod: PreFilter, Filter, Score, select, confirm, assume.

Reads: the cluster, the profile, kept answers. Writes: the assumption, nothing else; what must be
done in the world is in the Decision.

The usual pod is like others before it: its shape is known, the rows that changed since are asked
again, and the best of a column of totals is taken. A pod that PreFilter narrows to a few nodes
(every DaemonSet's) is decided in row form and leaves nothing behind.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fairlead.cluster.columns import Int64
from fairlead.cluster.nodes import NodeInfo
from fairlead.cluster.state import Cluster
from fairlead.cycle.attempt import Attempt, begin, told_apart, trials_of
from fairlead.cycle.decision import Decision, Detail, Placed, PostFiltered, Unplaced
from fairlead.cycle.detail import Teller
from fairlead.cycle.diagnosis import absent_reason, diagnose, refused_by
from fairlead.cycle.filter import Verdict, crowded, filter_nodes
from fairlead.cycle.kept import Engine
from fairlead.cycle.postfilter import followed_by, post_filter
from fairlead.cycle.reserve import permit, reserve, unreserve
from fairlead.cycle.sampling import Sampling, first_of
from fairlead.cycle.score import indifferent, normalized, pre_score, score_nodes
from fairlead.cycle.shape import REFUSED, Shape
from fairlead.cycle.shapes import Key, Shapes, signature
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import NO_ROWS, NO_VERDICTS, NodeSet, Rows, Verdicts
from fairlead.framework.profile import Profile
from fairlead.framework.state import CycleState
from fairlead.framework.status import UNASKED, PluginError, Refusal, Status, unresolvable
from fairlead.framework.statuses import NodeStatuses
from fairlead.framework.trial import Nominations, NoNominations, refusal_of
from fairlead.framework.words import count_reasons, fit_message
from fairlead.model.podinfo import PodInfo
from fairlead.queue.entry import QueuedPodInfo

VERIFY_EVERY = 1000
"""One decision in so many has its kept answers compared with fresh ones."""

NO_NODES = "no nodes available to schedule pods"
UNSTEADY = "a filter plugin gives two answers to the same question"

Choose = Callable[[int], int]
"""A number below the given one, each as likely: breaks ties."""


class SchedulingCycle:
    """Decides pods one at a time against one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        handle: Handle,
        choose: Choose | None,
        nominations: Nominations | None = None,
    ) -> None:
        """Without `choose`, ties are broken as kube-scheduler does, by the order of the nodes."""
        self.cluster = cluster
        self.nominations = NoNominations() if nominations is None else nominations
        self.handle = handle
        self.choose = choose
        self.engine = Engine(cluster.nodes, handle)
        self.shapes = Shapes(self.engine)
        self.sampling = Sampling(cluster.nodes.order, strict=handle.release.strict)
        self.decisions = 0

    def schedule_one(
        self, profile: Profile, entry: QueuedPodInfo, detail: Detail | None = None
    ) -> Decision:
        """Decide one pod. A placed pod is assumed on its node when this returns."""
        pod = entry.pod
        self.decisions += 1
        if not self.cluster.nodes.rows:
            return Unplaced(pod, NO_NODES)
        try:
            key = entry.shape
            # What claims mean changes while the pod stays the same.
            if key is None or key[0] is not profile or pod.volumes:
                key = entry.shape = signature(profile, pod)
            decision = self._decide(profile, pod, key, detail)
            if decision is None:
                decision = self._decide(profile, pod, None, detail)
            assert decision is not None, "nothing was kept that could prove wrong"
            return decision
        except PluginError as problem:
            return Unplaced(pod, str(problem), unschedulable=False)

    def _decide(
        self, profile: Profile, pod: PodInfo, key: Key | None, detail: Detail | None
    ) -> Decision | None:
        """One pass; None if a kept answer proved wrong and was dropped.

        Then the pod needs another pass, without a key: everything is asked afresh, so that a
        plugin whose answers never agree with each other cannot hold up the others' pods.
        """
        attempt = begin(profile, pod, key, self.shapes, detail)
        if attempt.found.refusal is not None:
            return self._refused(attempt)
        if detail is not None:
            self._tell(attempt, detail)
        row = self._nominated(attempt)
        if row is None:
            row = self._few(attempt) if attempt.shape is None else self._many(attempt)
        if row is None:
            return self._unschedulable(attempt)
        info = self.cluster.nodes.info(row)
        if attempt.shape is not None and not self._confirmed(attempt, row):
            return None
        if key is None and refusal_of(attempt.filters, pod, info, attempt.state):
            return Unplaced(pod, UNSTEADY, unschedulable=False)
        return self._assume(attempt, info)

    def _nominated(self, attempt: Attempt) -> int | None:
        """The node that was cleared for the pod is tried first, and no other if it fits."""
        name = attempt.pod.nominated_node_name
        info = self.cluster.nodes.get(name) if name else None
        if (
            info is None
            or trials_of(attempt, self.nominations).crowded(info) is not None
            or refusal_of(attempt.filters, attempt.pod, info, attempt.state)
        ):
            return None
        if attempt.detail is not None:
            attempt.detail.winners = [info.name]
        return info.row

    def _few(self, attempt: Attempt) -> int | None:
        """Filter and score a few nodes afresh."""
        rows = self._sampled(attempt, self._filtered(attempt, self._candidates(attempt)).passed)
        if rows.size <= 1:
            return int(rows[0]) if rows.size else None
        scorers = [i for i in attempt.profile.score if i.weight]
        return self._select(attempt, rows, self._fresh_scores(attempt, scorers, rows))

    def _filtered(self, attempt: Attempt, rows: Rows) -> Verdict:
        """The verdicts on these rows, asked afresh, nominated pods and all."""
        verdict = filter_nodes(attempt.filters, attempt.pod, rows, attempt.state, self.handle)
        if self.nominations.nominated_nodes():
            trials = trials_of(attempt, self.nominations)
            refused = crowded(trials, self.cluster.nodes, rows)
            verdict.refuse(refused, attempt.filters, self.handle)
        return verdict

    def _totals(self, attempt: Attempt, shape: Shape) -> Int64:
        """The totals of the shape; refused is also what must be left to nominated pods."""
        totals = shape.totals
        if self.nominations.nominated_nodes():
            trials = trials_of(attempt, self.nominations)
            open_rows = set(np.flatnonzero(totals >= 0).tolist())
            if refused := crowded(trials, self.cluster.nodes, open_rows):
                totals = totals.copy()
                totals[list(refused)] = REFUSED
        return totals

    def _many(self, attempt: Attempt) -> int | None:
        """The best row of the shape's totals, with what is not kept added."""
        shape = attempt.shape
        assert shape is not None
        profile = attempt.profile
        if any(one.errors for one in shape.refusing):
            # Raises if an error stands on a node that earlier plugins passed.
            filter_nodes(
                attempt.filters, attempt.pod, self._candidates(attempt), attempt.state, self.handle
            )
        totals = self._totals(attempt, shape)
        nodes = self.handle.nodes_when_asked(lambda: (totals >= 0).nonzero()[0])
        idle: set[PluginInstance] | None = None
        sampling = self.sampling.of(profile)
        if not (attempt.fresh or shape.scaled or sampling) and shape.failure is None:
            idle = self._idle(attempt, nodes)
            if idle is not None and len(idle) == len(profile.unsigned_score):
                best = int(totals.argmax())
                if totals[best] < 0:
                    return None
                ties = (totals == totals[best]).nonzero()[0]
                return self._one_of(attempt, ties)
        rows = nodes.found()
        if attempt.fresh and rows.size:
            verdict = filter_nodes(attempt.fresh, attempt.pod, rows, attempt.state, self.handle)
            rows = verdict.passed
        if sampling:
            rows, idle = self._sampled(attempt, rows), None
        if rows.size <= 1:
            return int(rows[0]) if rows.size else None
        if shape.failure is not None:
            self.shapes.drop(shape)  # it may be well again when the next pod comes
            raise shape.failure
        summed = totals[rows]
        for one in shape.scaled:
            size = len(rows)
            normal = normalized(one.instance, attempt.pod, one.raw(rows), size, one.state)
            summed = summed + normal * one.instance.weight
        if profile.unsigned_score:
            summed = summed + self._fresh_scores(attempt, profile.unsigned_score, rows, idle)
        return self._select(attempt, rows, summed)

    def _sampled(self, attempt: Attempt, passed: Rows) -> Rows:
        """The rows that pass, as far as the search goes where it does not see all nodes."""
        if not passed.size or not self.sampling.of(attempt.profile):
            return passed
        visit = self.sampling.visit(attempt.profile, self._candidates(attempt), passed)
        self.sampling.moved(attempt.profile, visit)
        attempt.fitting = visit.fitting
        return np.sort(visit.fitting)

    def _idle(self, attempt: Attempt, nodes: NodeSet) -> set[PluginInstance] | None:
        """The scorers of which nothing is kept and that have no word on which node is better.

        None if one cannot tell; it is asked again if there is more than one node to choose from.
        """
        profile = attempt.profile
        try:
            idle = pre_score(profile.unsigned_score, profile, attempt.pod, nodes, attempt.state)
            return idle | indifferent(profile.unsigned_score, attempt.pod, attempt.state)
        except PluginError:
            return None

    def _fresh_scores(
        self,
        attempt: Attempt,
        scorers: Sequence[PluginInstance],
        rows: Rows,
        idle: set[PluginInstance] | None = None,
    ) -> Int64:
        """The weighted sum of these scorers; `idle` is what PreScore said, if it was asked."""
        pod, state, handle = attempt.pod, attempt.state, self.handle
        if idle is None:
            idle = pre_score(scorers, attempt.profile, pod, handle.nodes(rows), state)
        scores = score_nodes([i for i in scorers if i not in idle], pod, rows, state, handle)
        summed = np.zeros(len(rows), np.int64)
        for column in scores.values():
            summed += column
        return summed

    def _select(self, attempt: Attempt, rows: Rows, totals: Int64) -> int:
        return self._one_of(attempt, rows[totals == totals.max()])

    def _one_of(self, attempt: Attempt, ties: Rows) -> int:
        """One of the best rows, by chance."""
        if attempt.detail is not None:
            attempt.detail.winners = sorted(self.cluster.nodes.info(r).name for r in ties)
        if len(ties) == 1:
            return int(ties[0])
        if self.choose is None:
            assert attempt.fitting is not None, "held to the letter, every search is a sample"
            return int(ties[first_of(ties, attempt.fitting)])
        return int(ties[self.choose(len(ties))])

    def _confirmed(self, attempt: Attempt, row: int) -> bool:
        """Ask the kept filters once more about the chosen row: no stale answer places a pod."""
        shape = attempt.shape
        assert shape is not None
        info = self.cluster.nodes.info(row)
        refusal = refusal_of(shape.kept_filters, attempt.pod, info, shape.state)
        due = self.decisions % VERIFY_EVERY == 0
        if refusal is None and not (due and self.shapes.wrong(shape)):
            return True
        self.engine.counts.mismatches += 1
        self.shapes.drop_answers(shape)
        return False

    def _assume(self, attempt: Attempt, info: NodeInfo) -> Decision:
        """Reserve, assume, permit: from here the pod counts on its node."""
        pod, profile = attempt.pod, attempt.profile
        state = CycleState(below=attempt.state)  # what is noted from here on is this pod's alone
        self.cluster.assume(pod, info)
        waits: dict[str, float] = {}
        try:
            refusal = reserve(profile, pod, info.name, state)
            if refusal is None:
                refusal = permit(profile, pod, info.name, state, waits)
        except PluginError:
            self._give_back(profile, pod, info.name, state)
            raise
        if refusal is None:
            return Placed(pod, info.name, state, waits)
        self._give_back(profile, pod, info.name, state)
        message = fit_message(1, count_reasons([(refusal.status.reasons, 1)]))
        return refused_by(pod, message, [refusal.plugin], refusal.status.code)

    def _give_back(self, profile: Profile, pod: PodInfo, node: str, state: CycleState) -> None:
        try:
            unreserve(profile, pod, node, state)
        finally:
            self.cluster.forget(pod.uid)

    def _candidates(self, attempt: Attempt) -> Rows:
        """The rows of the nodes that PreFilter left."""
        names = attempt.found.node_names
        if names is None:
            return np.flatnonzero(self.cluster.nodes.columns.exists)
        known = self.cluster.nodes.rows
        return np.array(sorted(known[n] for n in names if n in known), np.intp)

    def _refused(self, attempt: Attempt) -> Decision:
        """PreFilter said no for every node."""
        found, pod = attempt.found, attempt.pod
        refusal = found.refusal
        assert refusal is not None
        if attempt.detail is not None:
            attempt.detail.pre_filter = Refusal(found.refused_by, refusal)
        if found.failed:
            message = f'running PreFilter plugin "{found.refused_by}": {refusal.message}'
            return Unplaced(pod, message, unschedulable=False)
        plugins = [found.refused_by] if found.refused_by else found.narrowing
        nodes = len(self.cluster.nodes)
        filtered = self._post_filter(attempt, NO_ROWS, NO_VERDICTS, refusal)
        message = fit_message(nodes, {}, pre_filter=refusal.message, post_filter=filtered.words)
        return followed_by(refused_by(pod, message, plugins, refusal.code), filtered)

    def _unschedulable(self, attempt: Attempt) -> Decision | None:
        """No node fits: ask the filters afresh before saying so, and put the reasons in words."""
        shape, pod, found = attempt.shape, attempt.pod, attempt.found
        if self.sampling.of(attempt.profile):
            seen = self.sampling.visit(attempt.profile, self._candidates(attempt), NO_ROWS)
            self.sampling.moved(attempt.profile, seen)
        asked = told_apart(attempt, self.nominations)
        if shape is not None and asked is not None and attempt.detail is None:
            known = shape.recall(asked)
            if known is not None:
                return replace(known, pod=pod)
        verdict = self._filtered(attempt, self._looked_at(attempt))
        if verdict.passed.size:
            if shape is None:  # nothing was kept: the plugins themselves are of two minds
                return Unplaced(pod, UNSTEADY, unschedulable=False)
            self.engine.counts.mismatches += 1
            self.shapes.drop_answers(shape)
            return None
        absent = unresolvable(absent_reason(found.narrowing)) if found.narrowing else UNASKED
        filtered = self._post_filter(
            attempt, verdict.rows, Verdicts(verdict.codes, verdict.reasons), absent
        )
        nodes = len(self.cluster.nodes)
        decision = followed_by(
            diagnose(
                pod, verdict, attempt.filters, found.narrowing, nodes, self.handle, filtered.words
            ),
            filtered,
        )
        if shape is not None and asked is not None and not decision.nominated_node_name:
            shape.remember(asked, decision)
        return decision

    def _post_filter(
        self, attempt: Attempt, rows: Rows, verdicts: Verdicts, absent: Status
    ) -> PostFiltered:
        """Let the plugins make room; what they find is told if somebody asks."""
        detail = attempt.detail
        filtered = post_filter(
            attempt.profile,
            attempt.pod,
            attempt.state,
            lambda: NodeStatuses(
                self.handle,
                trials_of(attempt, self.nominations),
                rows,
                verdicts,
                absent,
                explaining=detail is not None,
            ),
        )
        if detail is not None and attempt.profile.post_filter:
            detail.post_filter = filtered
        return filtered

    def _looked_at(self, attempt: Attempt) -> Rows:
        """The candidates, and the node that was cleared for the pod."""
        rows = self._candidates(attempt)
        info = self.cluster.nodes.get(attempt.pod.nominated_node_name)
        return rows if info is None or info.row in rows else np.append(rows, info.row)

    def _tell(self, attempt: Attempt, detail: Detail) -> None:
        """Write down every verdict and score of the attempt, from the answers it decides by."""
        shape, profile = attempt.shape, attempt.profile
        kept = {} if shape is None else {one.instance: one for one in shape.kept}
        teller = Teller(self.cluster.nodes, self.handle, profile, attempt.pod)
        trials = trials_of(attempt, self.nominations)
        rows = teller.filtered(
            detail, attempt.found, attempt.filters, self._looked_at(attempt), kept, trials
        )
        if detail.failed:
            return  # nothing is scored where a filter could not answer
        if self.sampling.of(profile) and rows.size:
            candidates = self._candidates(attempt)
            visit = self.sampling.visit(profile, candidates, rows)
            rows = np.sort(visit.fitting)
            if len(visit.seen) < len(candidates):
                teller.narrowed(detail, visit.seen)
        nominated = self.cluster.nodes.get(attempt.pod.nominated_node_name)
        if nominated is None or nominated.row not in rows:
            scoring = {i for i, one in kept.items() if one.asks_score}
            idle = set(profile.signing) - scoring if shape is not None else set[PluginInstance]()
            failure = None if shape is None else shape.failure
            teller.scored(detail, rows, attempt.state, kept, idle, failure)
