"""What the author of a plugin imports. Everything else may change without notice."""

from fairlead.cluster.changes import Aspect
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import NOTHING, Depends
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.normalize import default_normalize
from fairlead.framework.stages import MAX_NODE_SCORE, Io, PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import (
    SKIP,
    Code,
    Status,
    error,
    unresolvable,
    unschedulable,
    wait,
)
from fairlead.model.podinfo import PodInfo
from fairlead.queue.events import ActionType, ClusterEvent, QueueingHint

__all__ = [
    "MAX_NODE_SCORE",
    "NOTHING",
    "SKIP",
    "ActionType",
    "Aspect",
    "ClusterEvent",
    "Code",
    "CycleState",
    "Depends",
    "Handle",
    "Io",
    "NodeInfo",
    "NodeSet",
    "PodInfo",
    "PreFilterResult",
    "QueueingHint",
    "Status",
    "Verdicts",
    "default_normalize",
    "error",
    "unresolvable",
    "unschedulable",
    "wait",
]
