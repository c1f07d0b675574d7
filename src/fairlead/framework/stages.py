"""The extension points: one Protocol each, in the order in which a pod meets them.

A plugin is a class with a `name` and any of these methods; it inherits from nothing. Stages that
look at nodes have two forms: one node at a time (`filter`, `score`), which every author begins
with, and all nodes at once (`filter_nodes`, `score_nodes`), which a plugin adds when it pays. A
class may have either; where it has both they must say the same.

`POINTS` maps each extension point, as the configuration spells it, to the methods of which a
class needs one.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fairlead.cluster.columns import Int64
    from fairlead.cluster.nodes import NodeInfo
    from fairlead.framework.nodeset import NodeSet, Verdicts
    from fairlead.framework.state import CycleState
    from fairlead.framework.status import Refusal, Status
    from fairlead.framework.statuses import NodeStatuses
    from fairlead.model.podinfo import PodInfo
    from fairlead.queue.entry import QueuedPodInfo
    from fairlead.queue.events import Registration

MAX_NODE_SCORE = 100
"""Scores are 0 to 100 after NormalizeScore."""


class PreFilterResult:
    """The only nodes that can take the pod, by name."""

    __slots__ = ("node_names",)

    def __init__(self, node_names: Iterable[str]) -> None:
        self.node_names = frozenset(node_names)


class PreEnqueue(Protocol):
    """May the pod enter the active queue? Anything but None holds it back."""

    def pre_enqueue(self, pod: "PodInfo") -> "Status | None": ...


class EnqueueExtensions(Protocol):
    """Which events may make a pod schedulable that this plugin rejected?

    Each event comes with a hint `(pod, old, new) -> QueueingHint`, or with None where it is always
    worth another attempt. A plugin without this method has its pods tried again on every event.
    """

    def events_to_register(self) -> "Sequence[Registration]": ...


class QueueSort(Protocol):
    """The order of the queue: does the first entry go before the second?

    A plugin whose order is that of a tuple adds `sort_key(entry)`, which must say the same; the
    queue then compares tuples instead of calling back.
    """

    def less(self, first: "QueuedPodInfo", second: "QueuedPodInfo") -> bool: ...


class PreFilter(Protocol):
    """Look at the pod once: refuse it, narrow the nodes down, skip Filter, or note something."""

    def pre_filter(
        self, pod: "PodInfo", state: "CycleState"
    ) -> "PreFilterResult | Status | None": ...


class PreFilterExtensions(Protocol):
    """What PreFilter noted, with a pod more or less on one node: for trials, see `trial`.

    `pod` is the one to be placed, `added` or `removed` the other. The node counts it already, or no
    longer. Notes are changed by way of `state.own(key)`, which copies them first: they are those
    of the trial alone.
    """

    def add_pod(
        self, pod: "PodInfo", added: "PodInfo", node: "NodeInfo", state: "CycleState"
    ) -> "Status | None": ...

    def remove_pod(
        self, pod: "PodInfo", removed: "PodInfo", node: "NodeInfo", state: "CycleState"
    ) -> "Status | None": ...


class Filter(Protocol):
    """Can this node run the pod? None is yes."""

    def filter(self, pod: "PodInfo", node: "NodeInfo", state: "CycleState") -> "Status | None": ...


class FilterReads(Protocol):
    """For a filter of which nothing is kept: what of the pod decides its answers.

    They must follow from that, from nodes, pods and watched objects. Then "no node fits" is
    remembered for pods that read alike, until anything in the cluster changes.
    """

    def filter_reads(self, pod: "PodInfo") -> "Hashable | None": ...


class FilterNodes(Protocol):
    """Filter over all nodes at once; None when all of them can."""

    def filter_nodes(
        self, pod: "PodInfo", nodes: "NodeSet", state: "CycleState"
    ) -> "Verdicts | None": ...


class PostFilterResult:
    """What came of making room.

    With the name of a node the pod is promised that node, and the victims there are evicted. With
    the empty name an earlier promise is taken back, and `status` says why there is no other. A
    plugin that leaves a promise as it is returns a plain Status.
    """

    __slots__ = ("node_name", "status", "tried", "victims")

    def __init__(
        self,
        node_name: str,
        status: "Status | None" = None,
        *,
        victims: "Sequence[PodInfo]" = (),
        tried: "Mapping[str, Victims | Refusal] | None" = None,
    ) -> None:
        self.node_name = node_name
        self.status = status
        self.victims = victims
        self.tried = tried
        """What would be done on each node that was tried, if that was asked for."""


class Victims:
    """The pods that would have to leave a node, the most important first."""

    __slots__ = ("pods", "violations")

    def __init__(self, pods: "Sequence[PodInfo]", violations: int) -> None:
        self.pods = pods
        self.violations = violations
        """How many of them a disruption budget would have protected."""


class PostFilter(Protocol):
    """No node fits: try to make room. `statuses` has each refused node's last word.

    A plugin may have `post_filter_reads(pod)`: what, beside the nodes and what the filters read
    of the pod, decides that there is nothing to gain. Then that is remembered until something in
    the cluster changes; without it, or where it is None, the plugin is asked each time.
    """

    def post_filter(
        self, pod: "PodInfo", state: "CycleState", statuses: "NodeStatuses"
    ) -> "PostFilterResult | Status | None": ...


class PreScore(Protocol):
    """Look at the nodes that are left once, before they are scored; SKIP leaves Score out."""

    def pre_score(
        self, pod: "PodInfo", nodes: "NodeSet", state: "CycleState"
    ) -> "Status | None": ...


class Score(Protocol):
    """How good is this node? 0 to 100, or any integer if `normalize_score` follows."""

    def score(self, pod: "PodInfo", node: "NodeInfo", state: "CycleState") -> int: ...


class ScoreNodes(Protocol):
    """Score over all nodes at once; one integer when all of them are alike."""

    def score_nodes(
        self, pod: "PodInfo", nodes: "NodeSet", state: "CycleState"
    ) -> "Int64 | int": ...


class NormalizeScore(Protocol):
    """Bring the scores of all nodes that are left to 0 to 100, where the best are known."""

    def normalize_score(self, pod: "PodInfo", scores: "Int64", state: "CycleState") -> "Int64": ...


class Reserve(Protocol):
    """Note that the pod will go to this node; `unreserve` takes it back and must bear repeating."""

    def reserve(self, pod: "PodInfo", node_name: str, state: "CycleState") -> "Status | None": ...

    def unreserve(self, pod: "PodInfo", node_name: str, state: "CycleState") -> None: ...


class Permit(Protocol):
    """Allow, refuse, or `wait(seconds)` for a later word."""

    def permit(self, pod: "PodInfo", node_name: str, state: "CycleState") -> "Status | None": ...


class Io(Protocol):
    """The only way of a plugin to the API server: requests by method, path and JSON body.

    A PATCH is a strategic merge patch. A request that is refused, or that nobody answers, raises
    RequestFailed; a refusal's cause has the HTTP code as its `status`.
    """

    async def request(self, method: str, path: str, body: object = None) -> object: ...

    async def sleep(self, seconds: float) -> None: ...

    def now(self) -> float: ...


class PreBindPreFlight(Protocol):
    """Is there anything for PreBind to do? SKIP is no, and a pod that nobody has work for is bound
    at once. A plugin without this method has its PreBind called for every pod."""

    def pre_bind_pre_flight(
        self, pod: "PodInfo", node_name: str, state: "CycleState"
    ) -> "Status | None": ...


class PreBind(Protocol):
    """Do what must be done before the pod is bound; may await.

    A plugin may have `pre_bind_pre_flight(pod, node_name, state)`, which returns SKIP for a pod for
    which there is nothing to do: a pod for which all plugins do so is bound without ado.
    """

    async def pre_bind(
        self, pod: "PodInfo", node_name: str, state: "CycleState", io: Io
    ) -> "Status | None": ...


class Bind(Protocol):
    """Bind the pod, or SKIP it for the next binder; may await.

    A plugin that sets `posts_binding` leaves the writing to the scheduler: the pod's Binding is
    posted as kube-scheduler's DefaultBinder does, on connections of its own.
    """

    async def bind(
        self, pod: "PodInfo", node_name: str, state: "CycleState", io: Io
    ) -> "Status | None": ...


class PostBind(Protocol):
    """The pod is bound: clean up; nothing that it says counts."""

    async def post_bind(
        self, pod: "PodInfo", node_name: str, state: "CycleState", io: Io
    ) -> None: ...


POINTS: Mapping[str, Sequence[str]] = {
    "preEnqueue": ("pre_enqueue",),
    "queueSort": ("less",),
    "preFilter": ("pre_filter",),
    "filter": ("filter", "filter_nodes"),
    "postFilter": ("post_filter",),
    "preScore": ("pre_score",),
    "score": ("score", "score_nodes"),
    "reserve": ("reserve",),
    "permit": ("permit",),
    "preBind": ("pre_bind",),
    "bind": ("bind", "posts_binding"),
    "postBind": ("post_bind",),
}


def points_of(plugin: type) -> frozenset[str]:
    """The extension points that a class has methods for."""
    return frozenset(
        point
        for point, methods in POINTS.items()
        if any(getattr(plugin, method, None) for method in methods)
    )
