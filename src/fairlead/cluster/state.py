"""What the scheduler believes of the cluster: its nodes, and the pods placed or assumed on them.

Reads: events of the watch (through intake) and decisions. Writes: `NodeTable`, the pod table.

    assume ──► assumed ──confirm──► added ──remove──► gone
                  └──────forget──────────────────────► gone

An assumed pod counts at once and never expires: it leaves by the watch's confirmation, by
`forget` after a failed bind, or by its deletion. A pod may be known before its node; it counts as
soon as the node comes.
"""

from collections.abc import Iterator

from fairlead.cluster.changes import Changes
from fairlead.cluster.nodes import NodeInfo, NodeTable
from fairlead.cluster.objects import Objects
from fairlead.model.node import Node
from fairlead.model.podinfo import PodInfo


class PlacedPod:
    """A pod that counts on a node: the version that was counted, and whether it is only assumed."""

    __slots__ = ("assumed", "node_name", "pod")

    def __init__(self, pod: PodInfo, node_name: str, *, assumed: bool) -> None:
        self.pod = pod
        self.node_name = node_name
        self.assumed = assumed


class Cluster:
    """One cluster, owned by one thread."""

    def __init__(self) -> None:
        self.changes = Changes()
        self.objects = Objects(self.changes)
        self.nodes = NodeTable(self.changes, self.objects)
        self._pods: dict[str, PlacedPod] = {}
        self._waiting: dict[str, dict[str, PodInfo]] = {}
        self.assumed = 0

    def __len__(self) -> int:
        return len(self._pods)

    def placed(self, uid: str) -> PlacedPod | None:
        return self._pods.get(uid)

    def pods(self) -> Iterator[PlacedPod]:
        return iter(self._pods.values())

    def set_node(self, node: Node) -> Node | None:
        """Add or update a node; the version known before, if there was one.

        Raises DecodeError for a quantity that cannot be read, and changes nothing then.
        """
        node.allocatable_resources()
        name = node.metadata.name
        info = self.nodes.get(name)
        if info is not None and info.uid == node.metadata.uid:
            old = info.node
            self.nodes.update(info, node)
            return old
        if info is not None:  # the name was given to another machine while we were not looking
            self.remove_node(name)
        info = self.nodes.add(node)
        for pod in self._waiting.pop(name, {}).values():
            self.nodes.place(info, pod)
        return None

    def remove_node(self, name: str) -> Node | None:
        """Forget a node. Its pods stay known: they go by their own deletion."""
        info = self.nodes.get(name)
        if info is None:
            return None
        pods = list(info.pods)
        for pod in pods:
            self.nodes.displace(info, pod)
        self.nodes.remove(info)
        if pods:
            self._waiting[name] = {pod.uid: pod for pod in pods}
        return info.node

    def set_pod(self, pod: PodInfo) -> PlacedPod | None:
        """A pod with a node, from the watch: confirms an assumption or changes what counts."""
        known = self._pods.get(pod.uid)
        if known is None:
            self._pods[pod.uid] = PlacedPod(pod, pod.node_name, assumed=False)
            self._place(pod, pod.node_name)
            return None
        if known.assumed:
            known.assumed = False
            self.assumed -= 1
        old = known.pod
        if known.node_name == pod.node_name and counts_alike(old, pod):
            known.pod = pod
            pods = self._pods_of(pod.node_name)
            pods[pod.uid] = pod
        else:
            self._displace(old, known.node_name)
            known.pod, known.node_name = pod, pod.node_name
            self._place(pod, pod.node_name)
        return known

    def remove_pod(self, uid: str) -> PodInfo | None:
        known = self._pods.pop(uid, None)
        if known is None:
            return None
        if known.assumed:
            self.assumed -= 1
        self._displace(known.pod, known.node_name)
        return known.pod

    def assume(self, pod: PodInfo, info: NodeInfo) -> None:
        """Count the pod on the node before the API server knows."""
        assert pod.uid not in self._pods, f"pod {pod.key} is placed already"
        self._pods[pod.uid] = PlacedPod(pod, info.name, assumed=True)
        self.assumed += 1
        self.nodes.place(info, pod)

    def is_assumed(self, uid: str) -> bool:
        known = self._pods.get(uid)
        return known is not None and known.assumed

    def forget(self, uid: str) -> bool:
        """Take back an assumption; False if the watch has confirmed it meanwhile."""
        known = self._pods.get(uid)
        if known is None or not known.assumed:
            return False
        self.remove_pod(uid)
        return True

    def _place(self, pod: PodInfo, node_name: str) -> None:
        info = self.nodes.get(node_name)
        if info is None:
            self._waiting.setdefault(node_name, {})[pod.uid] = pod
        else:
            self.nodes.place(info, pod)

    def _displace(self, pod: PodInfo, node_name: str) -> None:
        info = self.nodes.get(node_name)
        if info is not None:
            self.nodes.displace(info, pod)
            return
        waiting = self._waiting[node_name]
        del waiting[pod.uid]
        if not waiting:
            del self._waiting[node_name]

    def _pods_of(self, node_name: str) -> dict[str, PodInfo]:
        info = self.nodes.get(node_name)
        return self._waiting[node_name] if info is None else info.pods_by_uid


def counts_alike(old: PodInfo, new: PodInfo) -> bool:
    """Whether all that is counted of the pod is the same in either version."""
    return (
        old.placed_request == new.placed_request
        and old.placed_nonzero == new.placed_nonzero
        and old.host_ports == new.host_ports
        and old.deleting == new.deleting
        and (old.labels is new.labels or old.labels == new.labels)
        and old.pod_affinity == new.pod_affinity
        and old.pod_anti_affinity == new.pod_anti_affinity
        and old.volumes == new.volumes
    )
