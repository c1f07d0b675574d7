"""What came of one scheduling attempt: values, carried out by `binding`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairlead.framework.state import CycleState
from fairlead.framework.status import Status
from fairlead.model.podinfo import PodInfo


@dataclass(slots=True)
class Placed:
    """The pod is assumed on the node. The node is named, never a row: rows are used again."""

    pod: PodInfo
    node_name: str
    state: CycleState | None = None
    waits: Mapping[str, float] = field(default_factory=dict[str, float])
    """Permit plugins that asked for time, with the seconds that they asked for."""


@dataclass(slots=True)
class Unplaced:
    """No node this time: what the condition and the event say, and who refused."""

    pod: PodInfo
    message: str
    unschedulable: bool = True
    """Whether the plugins said no; else it was an error, and the pod is tried again later."""
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()

    @property
    def reason(self) -> str:
        return "Unschedulable" if self.unschedulable else "SchedulerError"


Decision = Placed | Unplaced


@dataclass(slots=True)
class Refusal:
    """Why a node was left out: the plugin that refused first, and its status."""

    plugin: str
    status: Status


@dataclass(slots=True)
class Detail:
    """All that was found on the way to a decision, for those who ask why.

    Filled in only when asked for; it is read from the same answers as the decision itself.
    """

    pre_enqueue: Refusal | None = None
    pre_filter: Refusal | None = None
    pre_filtered: bool = False
    pre_filter_nodes: frozenset[str] | None = None
    pre_filter_plugins: tuple[str, ...] = ()
    filter: dict[str, Refusal | None] | None = None
    scores: dict[str, dict[str, int]] | None = None
    totals: dict[str, int] | None = None
    evaluated: int = 0
    """How many nodes were looked at, where that was not all of them."""
    winners: list[str] | None = None
