"""Why no node fits, as kube-scheduler words it: how many nodes, and how often each reason."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fairlead.cycle.decision import Unplaced
from fairlead.cycle.filter import Verdict
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.status import Code
from fairlead.model.podinfo import PodInfo


def fit_message(
    nodes: int, reasons: Mapping[str, int], *, pre_filter: str = "", post_filter: str = ""
) -> str:
    """The text of the condition and of the FailedScheduling event.

    The counted reasons are sorted as text, so that "10 x" stands before "2 y".
    """
    message = f"0/{nodes} nodes are available:"
    if pre_filter:
        message += f" {pre_filter}."
    elif reasons:
        counted = sorted(f"{count} {reason}" for reason, count in reasons.items())
        message += f" {', '.join(counted)}."
    return f"{message} {post_filter}" if post_filter else message


def count_reasons(
    tuples: Iterable[tuple[tuple[str, ...], int]],
) -> Counter[str]:
    """How often each single reason occurs, from tuples of reasons with their number of nodes."""
    counted: Counter[str] = Counter()
    for reasons, times in tuples:
        for reason in reasons:
            counted[reason] += times
    return counted


def absent_reason(narrowing: Iterable[str]) -> str:
    """Why a node is out that PreFilter did not name."""
    return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowing))}]"


def diagnose(
    pod: PodInfo,
    verdict: Verdict,
    filters: Sequence[PluginInstance],
    narrowing: Sequence[str],
    nodes: int,
    handle: Handle,
    last_word: str,
) -> Unplaced:
    """No node fits the pod: the words for it, and the plugins that stand in its way."""
    times = np.bincount(verdict.reasons)
    reasons = count_reasons(
        (handle.reasons_of(i), int(times[i])) for i in times.nonzero()[0].tolist()
    )
    if len(verdict.rows) < nodes:
        reasons[absent_reason(narrowing)] += nodes - len(verdict.rows)
    refusers = set(zip(verdict.refusers.tolist(), verdict.codes.tolist(), strict=True))
    pending = frozenset(filters[at].name for at, code in refusers if code == Code.PENDING)
    others = frozenset(filters[at].name for at, code in refusers if code != Code.PENDING)
    return Unplaced(
        pod,
        fit_message(nodes, reasons, post_filter=last_word),
        unschedulable_plugins=others.union(narrowing),
        pending_plugins=pending,
    )


def refused_by(pod: PodInfo, message: str, plugins: Iterable[str], code: Code) -> Unplaced:
    """The plugins refused the pod whatever its node, or the node that it had been given."""
    if code == Code.PENDING:
        return Unplaced(pod, message, pending_plugins=frozenset(plugins))
    return Unplaced(pod, message, unschedulable_plugins=frozenset(plugins))
