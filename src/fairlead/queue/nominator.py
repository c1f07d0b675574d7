"""Which pods are promised which node: nominated by a preemption, or from outside.

The scheduler believes its own nomination before the API server has it, and the status that arrives
later follows. The trap is an update of the pod that was under way before the status was written:
it names no node, and must not take the nomination away.
"""

from collections.abc import Callable, KeysView

from fairlead.model.podinfo import PodInfo


def _always(_pod: PodInfo) -> bool:
    return True


class Nominator:
    """Pods by the node they are nominated to, in the order of nomination.

    `is_pending` says whether a pod still exists and has no node: one that was deleted or bound
    meanwhile is not nominated.
    """

    __slots__ = ("_by_node", "_is_pending", "_node_of", "version")

    def __init__(self, is_pending: Callable[[PodInfo], bool] = _always) -> None:
        self.version = 0
        """Grows with every change."""
        self._is_pending = is_pending
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._node_of)

    def nodes(self) -> KeysView[str]:
        """The names of the nodes that some pod is nominated to."""
        return self._by_node.keys()

    def node_of(self, uid: str) -> str:
        """The node that a pod is nominated to, or the empty name."""
        return self._node_of.get(uid, "")

    def pods_of(self, node_name: str) -> tuple[PodInfo, ...]:
        """The pods nominated to a node, as they were when they were nominated or updated."""
        pods = self._by_node.get(node_name)
        return tuple(pods.values()) if pods else ()

    def add(self, pod: PodInfo, node_name: str | None = None) -> None:
        """Nominate a pod: to the given node, or without one to the node its status names.

        An empty name takes the nomination away, whatever the status says.
        """
        self.delete(pod)
        target = pod.nominated_node_name if node_name is None else node_name
        if not target or pod.node_name or not self._is_pending(pod):
            return
        self.version += 1
        self._node_of[pod.uid] = target
        self._by_node.setdefault(target, {})[pod.uid] = pod

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Follow a new version of the pod; if neither names a node, what is believed here stays."""
        believed = None
        if not old.nominated_node_name and not new.nominated_node_name:
            believed = self._node_of.get(old.uid)
        self.delete(old)
        self.add(new, believed)

    def delete(self, pod: PodInfo) -> None:
        """Take the nomination away, if there is one."""
        node_name = self._node_of.pop(pod.uid, None)
        if node_name is None:
            return
        self.version += 1
        pods = self._by_node[node_name]
        del pods[pod.uid]
        if not pods:
            del self._by_node[node_name]
