"""Why no node fits, and who stands in the way."""

from collections.abc import Iterable, Sequence

import numpy as np

from fairlead.cycle.decision import Unplaced
from fairlead.cycle.filter import Verdict
from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.status import Code
from fairlead.framework.words import count_reasons, fit_message
from fairlead.model.podinfo import PodInfo


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
