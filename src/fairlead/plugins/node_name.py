"""NodeName: a pod that names its node goes to no other."""

from collections.abc import Sequence

from fairlead.cluster.changes import Aspect
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import Depends
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.state import CycleState
from fairlead.framework.status import Code, Status, unresolvable
from fairlead.model.podinfo import PodInfo
from fairlead.queue.events import ADD, NODE, ClusterEvent, Registration

REASON = "node(s) didn't match the requested node name"
REFUSAL = unresolvable(REASON)


class NodeName:
    name = "NodeName"
    depends = Depends(Aspect.EXISTENCE)

    def events_to_register(self) -> Sequence[Registration]:
        return [(ClusterEvent(NODE, ADD), None)]

    def reads(self, pod: PodInfo) -> object:
        return pod.node_name

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        return REFUSAL if pod.node_name and pod.node_name != node.name else None

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        if not pod.node_name:
            return None
        others = ~nodes.named(frozenset([pod.node_name]))
        return nodes.reject(others, REASON, code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
