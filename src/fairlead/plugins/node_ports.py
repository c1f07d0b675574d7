"""NodePorts: a host port can be had once on each node, address and protocol."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fairlead.cluster.changes import Aspect
from fairlead.cluster.nodes import HostPort, NodeInfo
from fairlead.framework.depends import Depends
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Status, error, unschedulable
from fairlead.model.podinfo import PodInfo
from fairlead.queue.events import (
    ADD,
    DELETE,
    NODE,
    POD,
    ClusterEvent,
    QueueingHint,
    Registration,
)

REASON = "node(s) didn't have free ports for the requested pod ports"
REFUSAL = unschedulable(REASON)
PRE_FILTER = "PreFilterNodePorts"
ANY_ADDRESS = "0.0.0.0"  # noqa: S104  (a key of the API, nothing listens here)
NOT_FOUND = error(f'reading "{PRE_FILTER}" from cycleState: not found')


class NodePorts:
    name = "NodePorts"
    depends = Depends(Aspect.PORTS)

    def events_to_register(self) -> Sequence[Registration]:
        return [(ClusterEvent(POD, DELETE), after_deletion), (ClusterEvent(NODE, ADD), None)]

    def reads(self, pod: PodInfo) -> object:
        return pod.host_ports

    def pre_filter(self, pod: PodInfo, state: CycleState) -> PreFilterResult | Status | None:
        if not pod.host_ports:
            return SKIP
        state.write(PRE_FILTER, pod.host_ports)
        return None

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        if PRE_FILTER not in state:
            return NOT_FOUND
        used = node.used_ports
        return REFUSAL if used and conflict(pod.host_ports, used) else None

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        if PRE_FILTER not in state:
            everywhere = np.ones(nodes.size, np.bool_)
            return nodes.reject(everywhere, *NOT_FOUND.reasons, code=NOT_FOUND.code)
        infos = nodes.infos()
        taken = (node is not None and conflict(pod.host_ports, node.used_ports) for node in infos)
        mask = np.fromiter(taken, np.bool_, nodes.size)
        return nodes.reject(mask, REASON)


def conflict(wanted: Sequence[HostPort], used: Counter[HostPort] | None) -> bool:
    """Whether a wanted port is taken: on its own address, or on any where one side wants all."""
    if not used:
        return False
    for address, protocol, port in wanted:
        if address == ANY_ADDRESS:
            if any(p == port and q == protocol for _, q, p in used):
                return True
        elif (address, protocol, port) in used or (ANY_ADDRESS, protocol, port) in used:
            return True
    return False


def after_deletion(pod: PodInfo, old: PodInfo, new: None) -> QueueingHint:
    """A pod has gone that had, or was about to have, a port that this one wants."""
    if not (old.node_name or old.nominated_node_name):
        return QueueingHint.SKIP
    return QueueingHint(conflict(pod.host_ports, Counter(old.host_ports)))
