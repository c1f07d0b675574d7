"""Which events may help a pod that was too many in its domain."""

from collections.abc import Mapping, Sequence

from fairlead.model.node import Node
from fairlead.model.podinfo import PodInfo
from fairlead.plugins.pod_topology_spread.constraints import Constraint, ConstraintsOf
from fairlead.queue.events import NODE, POD, ActionType, ClusterEvent, Registration

POD_EVENT = ClusterEvent(
    POD,
    ActionType.ADD
    | ActionType.DELETE
    | ActionType.UPDATE_POD_LABEL
    | ActionType.UPDATE_POD_TOLERATION,
)
NODE_EVENT = ClusterEvent(
    NODE,
    ActionType.ADD
    | ActionType.DELETE
    | ActionType.UPDATE_NODE_LABEL
    | ActionType.UPDATE_NODE_TAINT,
)


class SpreadHints:
    """The hints, for pods with the constraints that they have now."""

    def __init__(self, constraints: ConstraintsOf) -> None:
        self._constraints = constraints

    def registrations(self) -> Sequence[Registration]:
        return ((POD_EVENT, self.after_pod), (NODE_EVENT, self.after_node))

    def after_pod(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
        if any(each is not None and not involved(each, pod) for each in (old, new)):
            return False
        constraints = self._hard(pod)
        if old is None or new is None:
            other = new or old
            return other is not None and matched(constraints, other.labels)
        if (
            pod.uid == new.uid
            and new.tolerations != old.tolerations
            and any(each.honors_taints for each in constraints)
        ):
            return True
        return any(
            each.selector.matches(old.labels) != each.selector.matches(new.labels)
            for each in constraints
        )

    def after_node(self, pod: PodInfo, old: Node | None, new: Node | None) -> bool:
        constraints = self._hard(pod)
        before = old is not None and has_all(old, constraints)
        after = new is not None and has_all(new, constraints)
        if old is None or new is None:
            return before or after
        if before != after:
            return True
        labels, former = new.metadata.labels, old.metadata.labels
        moved = any(
            labels.get(each.topology_key, "") != former.get(each.topology_key, "")
            for each in constraints
        )
        return after and (moved or new.spec.taints != old.spec.taints)

    def _hard(self, pod: PodInfo) -> Sequence[Constraint]:
        constraints = self._constraints.pod(pod)
        if constraints.hard_fault:
            raise ValueError(constraints.hard_fault)
        return constraints.hard


def involved(other: PodInfo, pod: PodInfo) -> bool:
    """Whether the pod may count for the other's spread: it has a place, or is the pod itself."""
    if other.uid == pod.uid:
        return True
    placed = bool(other.node_name or other.nominated_node_name)
    return placed and other.namespace == pod.namespace


def matched(constraints: Sequence[Constraint], labels: Mapping[str, str]) -> bool:
    return any(each.selector.matches(labels) for each in constraints)


def has_all(node: Node, constraints: Sequence[Constraint]) -> bool:
    """Whether the node has every key that is asked for."""
    return all(each.topology_key in node.metadata.labels for each in constraints)
