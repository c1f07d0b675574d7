"""A trial: a node as it would be with other pods on it, and what the filters would say then.

Reads: nodes, the notes of an attempt. Writes: nothing that lasts.

This is the only hypothetical state there is. It is a copy of one row: pods are put on it and taken
off, the plugins that count pods beyond the node keep step in notes of their own (`add_pod`,
`remove_pod`), and then it is dropped. Nothing is ever undone, so that no exception can leave the
table of nodes other than it was; nothing is marked as changed, and nothing is kept.

Each question is asked twice where pods are nominated to the node that this pod must give way to:
as if they ran there, and as if they did not. It must fit both ways, since nobody knows whether
they will come.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.instance import ExtensionStage, PluginInstance
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, PluginError, Refusal, Status, crash, failed
from fairlead.model.podinfo import PodInfo


class Nominations(Protocol):
    """Which pods are promised which node."""

    @property
    def nominations(self) -> int: ...
    def nominated_nodes(self) -> Collection[str]: ...
    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]: ...


class NoNominations:
    """No pod is promised any node."""

    nominations = 0

    def nominated_nodes(self) -> Collection[str]:
        return ()

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:  # noqa: ARG002
        return ()


def refusal_of(
    filters: Iterable[PluginInstance], pod: PodInfo, node: NodeInfo, state: CycleState
) -> Refusal | None:
    """Ask the filters about one node, in order; None if all let the pod pass."""
    for instance in filters:
        status = instance.ask_filter(pod, node, state)
        if status is not None and status.code != Code.SUCCESS:
            if not status.code.rejected:
                raise failed(instance.name, "Filter", status.message)
            return Refusal(instance.name, status)
    return None


class Trials:
    """What one pod would meet: its filters, its notes, and the pods that it must give way to."""

    __slots__ = ("extending", "filters", "moved", "nominations", "pod", "promised", "state")

    def __init__(
        self,
        pod: PodInfo,
        state: CycleState,
        filters: Sequence[PluginInstance],
        extending: Sequence[PluginInstance],
        nominations: Nominations,
    ) -> None:
        self.pod = pod
        self.state = state
        self.filters = filters
        self.extending = extending
        self.nominations = nominations
        self.moved = [instance for instance in filters if instance.moved_by_pods]
        """The filters whose answer may change with the pods on a node."""
        self.promised = nominations.nominated_nodes()

    def on(self, node: NodeInfo) -> "Trial":
        """A trial that begins with the node as it is."""
        return Trial(self, node.copy(), CycleState(below=self.state))

    def before(self, node_name: str) -> list[PodInfo]:
        """The pods nominated to the node that this pod must give way to."""
        if node_name not in self.promised:
            return []
        pod = self.pod
        return [
            other
            for other in self.nominations.nominated_pods(node_name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]

    def crowded(self, node: NodeInfo) -> Refusal | None:
        """Who refuses the node as if the pods that are nominated to it ran there.

        Raises PluginError if that cannot be told.
        """
        others = self.before(node.name)
        if not others:
            return None
        trial = self.on(node)
        for other in others:
            trial.add(other)
        return refusal_of(self.filters, self.pod, trial.node, trial.state)


class Trial:
    """One node as it would be."""

    __slots__ = ("_trials", "node", "state")

    def __init__(self, trials: Trials, node: NodeInfo, state: CycleState) -> None:
        self._trials = trials
        self.node = node
        self.state = state

    def add(self, pod: PodInfo) -> None:
        """Put a pod on the node. Raises PluginError if a plugin cannot follow."""
        self.node.put_on(pod)
        for instance in self._trials.extending:
            self._tell(instance, "AddPod", instance.add_pod, pod)

    def remove(self, pod: PodInfo) -> None:
        """Take a pod off the node. Raises PluginError if a plugin cannot follow."""
        self.node.take_off(pod)
        for instance in self._trials.extending:
            self._tell(instance, "RemovePod", instance.remove_pod, pod)

    def refusal(self) -> Refusal | None:
        """Who refuses the node now; an error is a refusal too, of another code."""
        try:
            return self._ask(self._trials.filters)
        except PluginError as problem:
            return Refusal(problem.plugin, Status(Code.ERROR, str(problem)))

    def still_fits(self) -> bool:
        """Whether the pod fits, once it did with other pods here: other filters are not asked."""
        trials, node, state = self._trials, self.node, self.state
        try:
            if node.name in trials.promised:
                return self._ask(trials.moved) is None
            for instance in trials.moved:
                status = instance.ask_filter(trials.pod, node, state)
                if status is not None and status.code != Code.SUCCESS:
                    return False
        except PluginError:
            return False
        return True

    def _ask(self, filters: Sequence[PluginInstance]) -> Refusal | None:
        trials = self._trials
        others = trials.before(self.node.name)
        if others:
            crowd = Trial(trials, self.node.copy(), CycleState(below=self.state))
            for other in others:
                crowd.add(other)
            refusal = refusal_of(filters, trials.pod, crowd.node, crowd.state)
            if refusal is not None:
                return refusal
        return refusal_of(filters, trials.pod, self.node, self.state)

    def _tell(
        self, instance: PluginInstance, point: str, stage: ExtensionStage | None, pod: PodInfo
    ) -> None:
        if stage is None:
            return
        try:
            status = stage(self._trials.pod, pod, self.node, self.state)
        except Exception as problem:
            raise crash(instance.name, point, problem) from problem
        if status is not None and status.code != Code.SUCCESS:
            raise failed(instance.name, point, status.message)
