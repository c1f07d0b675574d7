"""The invariants of nodes, sums and counts, recomputed from the objects and compared.

Every write keeps sums and columns in step by differences; this is the slow truth that they must
equal. Tests call it after each history.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from fairlead.cluster.columns import QUANTITIES, capped
from fairlead.cluster.domains import Domains, Tally
from fairlead.cluster.groups import LabelSet
from fairlead.cluster.nodes import NodeInfo
from fairlead.cluster.state import Cluster
from fairlead.cluster.terms import TermKey, keys_of
from fairlead.model.pod_affinity import compile_pod_terms
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
    rows = cluster.nodes.rows
    placed = [(rows[name], pod) for name, pods in by_node.items() if name in rows for pod in pods]
    store = cluster.nodes.domains
    for domains in store.all():  # they look at changed nodes when they are asked, not before
        yield from domain_differences(cluster, store.get(domains.topology))
    yield from group_differences(cluster, placed)
    yield from term_differences(cluster, placed)


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


Placed = list[tuple[int, PodInfo]]
"""Rows, and the pods that count there."""


def group_differences(cluster: Cluster, placed: Placed) -> Iterator[str]:
    """Pods by label set, and every tally that is kept of them."""
    wanted: dict[tuple[str, LabelSet, bool], Counter[int]] = {}
    for row, pod in placed:
        key = (pod.namespace, frozenset(pod.labels.items()), pod.deleting)
        wanted.setdefault(key, Counter())[row] += 1
    found: dict[tuple[str, LabelSet, bool], Counter[int]] = {}
    for group in cluster.nodes.groups:
        labels = frozenset(group.labels.items())
        for rows, deleting in ((group.living, False), (group.terminating, True)):
            if rows:
                found[group.namespace, labels, deleting] = Counter(rows)
    if found != wanted:
        yield f"groups are {found}, not {wanted}"
    for query, tally in cluster.nodes.groups.tallies.items():
        counted = (
            row
            for row, pod in placed
            if (query.terminating or not pod.deleting) and query.matches(pod.namespace, pod.labels)
        )
        yield from tally_differences(str(query), tally, counted)


def term_differences(cluster: Cluster, placed: Placed) -> Iterator[str]:
    """The terms of placed pods, and every tally that is kept of them."""
    wanted: dict[TermKey, Counter[int]] = {}
    for row, pod in placed:
        terms = compile_pod_terms(pod.pod_affinity, pod.pod_anti_affinity, pod.namespace)
        for key in keys_of(terms):
            wanted.setdefault(key, Counter())[row] += 1
    found = {term.key: Counter(term.rows) for term in cluster.nodes.terms}
    if found != wanted:
        yield f"terms are {found}, not {wanted}"
    for term in cluster.nodes.terms:
        if term.tally is not None:
            yield from tally_differences(str(term.key), term.tally, Counter(term.rows).elements())


def tally_differences(name: str, tally: Tally, counted: Iterable[int]) -> Iterator[str]:
    wanted = Counter(counted)
    found = Counter({row: int(tally.rows[row]) for row in tally.rows.nonzero()[0].tolist()})
    if found != wanted:
        yield f"tally of {name} is {found}, not {wanted}"
    for domains, totals in tally.totals.items():
        by_domain: Counter[int] = Counter()
        for row, count in wanted.items():
            if domain := int(domains.ids[row]):
                by_domain[domain] += count
        counts = totals.counts
        known = Counter({at: int(counts[at]) for at in counts.nonzero()[0].tolist()})
        if known != by_domain or totals.total != by_domain.total():
            yield f"totals of {name} by {domains.topology} are {known}, not {by_domain}"


def domain_differences(cluster: Cluster, domains: Domains) -> Iterator[str]:
    """Which domain each node is in, and how many nodes are in each."""
    nodes: Counter[int] = Counter()
    for row, info in enumerate(cluster.nodes.infos):
        domain = int(domains.ids[row])
        if domain != domains.domain_of(info):
            yield f"{domains.topology}: row {row} is in {domain}"
        if domain:
            nodes[domain] += 1
    found = Counter({at: int(domains.nodes[at]) for at in domains.nodes.nonzero()[0].tolist()})
    if found != nodes or domains.count != len(nodes):
        yield f"{domains.topology}: nodes are {found}, not {nodes}; count is {domains.count}"
