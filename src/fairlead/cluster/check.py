"""The invariants of the node table, recomputed from the objects and compared.

Every write keeps sums and columns in step by differences; this is the slow truth that they must
equal. Tests call it after each history.
"""

from collections import Counter
from collections.abc import Iterator

from fairlead.cluster.columns import QUANTITIES, capped
from fairlead.cluster.nodes import NodeInfo
from fairlead.cluster.state import Cluster
from fairlead.model.podinfo import PodInfo


def differences(cluster: Cluster) -> Iterator[str]:
    """One line for each number that is not what the objects say."""
    columns = cluster.nodes.columns
    by_node: dict[str, list[PodInfo]] = {}
    for placed in cluster.pods():
        by_node.setdefault(placed.node_name, []).append(placed.pod)
    for row, info in enumerate(cluster.nodes.infos):
        if bool(columns.exists[row]) != (info is not None):
            yield f"row {row}: exists is {columns.exists[row]}"
        if info is not None:
            yield from node_differences(cluster, info, by_node.get(info.name, []))
        else:
            for name in QUANTITIES:
                if getattr(columns, name)[row]:
                    yield f"row {row}: free, but {name} is {getattr(columns, name)[row]}"


def node_differences(cluster: Cluster, info: NodeInfo, pods: list[PodInfo]) -> Iterator[str]:
    columns, row = cluster.nodes.columns, info.row
    allocatable, most_pods = info.node.allocatable_resources()
    truth = {
        "allocatable_cpu": allocatable.cpu,
        "allocatable_memory": allocatable.memory,
        "allocatable_ephemeral_storage": allocatable.ephemeral_storage,
        "allocatable_pods": most_pods,
        "requested_cpu": sum(p.placed_request.cpu for p in pods),
        "requested_memory": sum(p.placed_request.memory for p in pods),
        "requested_ephemeral_storage": sum(p.placed_request.ephemeral_storage for p in pods),
        "nonzero_cpu": sum(p.placed_nonzero[0] for p in pods),
        "nonzero_memory": sum(p.placed_nonzero[1] for p in pods),
        "pod_count": len(pods),
    }
    for name, want in truth.items():
        if getattr(info, name) != want:
            yield f"node {info.name}: {name} is {getattr(info, name)}, not {want}"
        if getattr(columns, name)[row] != capped(want):
            yield f"node {info.name}: column {name} is {getattr(columns, name)[row]}, not {want}"
    yield from scalar_differences(cluster, info, pods)
    ports = Counter(port for pod in pods for port in pod.host_ports)
    if (info.used_ports or Counter()) != ports:
        yield f"node {info.name}: ports are {info.used_ports}, not {ports}"
    if cluster.nodes.taints.sets[columns.taint_set[row]] != info.node.spec.taints:
        yield f"node {info.name}: taint set is {columns.taint_set[row]}"
    if bool(columns.unschedulable[row]) != info.node.spec.unschedulable:
        yield f"node {info.name}: unschedulable is {columns.unschedulable[row]}"


def scalar_differences(cluster: Cluster, info: NodeInfo, pods: list[PodInfo]) -> Iterator[str]:
    columns, row = cluster.nodes.columns, info.row
    wanted: Counter[str] = Counter()
    for pod in pods:
        for name, amount in pod.placed_request.scalars:
            wanted[name] += amount
    for name, column in columns.requested_scalars.items():
        if column[row] != capped(wanted[name]) or info.requested(name) != wanted[name]:
            yield f"node {info.name}: requested {name} is {column[row]}, not {wanted[name]}"
    allocatable = dict(info.node.allocatable_resources()[0].scalars)
    for name, column in columns.allocatable_scalars.items():
        if column[row] != allocatable.get(name, 0):
            yield f"node {info.name}: allocatable {name} is {column[row]}"
