"""What came of one scheduling attempt: values, carried out by `binding`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairlead.framework.stages import Victims
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Refusal
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
class Eviction:
    """Pods that have to leave a node, and the plugin that says so."""

    plugin: str
    node_name: str
    victims: Sequence[PodInfo]


@dataclass(slots=True)
class Unplaced:
    """No node this time: what the condition and the event say, and who refused."""

    pod: PodInfo
    message: str
    unschedulable: bool = True
    """Whether the plugins said no; else it was an error, and the pod is tried again later."""
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    nominated_node_name: str | None = ""
    """The node that is promised to the pod; "" takes an earlier promise back, None lets it be."""
    eviction: Eviction | None = None
    """What must be done so that the promise comes true."""
    post_filtered: tuple[str, ...] = ()
    """The plugins that were asked to make room."""

    @property
    def reason(self) -> str:
        return "Unschedulable" if self.unschedulable else "SchedulerError"


Decision = Placed | Unplaced


@dataclass(slots=True)
class PostFiltered:
    """What came of making room: a promise and its victims, or words for the end of the message.

    `tried` has, if it was asked for, what would be done on each node that was tried.
    """

    code: Code = Code.UNSCHEDULABLE
    words: str = ""
    nominated_node_name: str | None = None
    eviction: Eviction | None = None
    asked: tuple[str, ...] = ()
    tried: Mapping[str, Victims | Refusal] = field(default_factory=dict[str, Victims | Refusal])


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
    post_filter: PostFiltered | None = None

    @property
    def failed(self) -> bool:
        """Whether a filter could not answer on some node."""
        said = () if self.filter is None else self.filter.values()
        return any(each is not None and not each.status.code.rejected for each in said)
