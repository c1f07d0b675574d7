"""NodeVolumeLimits: a node's drivers can attach so many volumes and no more."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairlead.cluster.attached import ClaimMissing, VolumeFault
from fairlead.cluster.attached import Handle as VolumeHandle
from fairlead.cluster.changes import Aspect
from fairlead.cluster.columns import Mask
from fairlead.cluster.csi_nodes import limits_of
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import NOTHING, Depends
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet, Verdicts
from fairlead.framework.stages import PreFilterResult
from fairlead.framework.state import CycleState
from fairlead.framework.status import SKIP, Code, Status, error, unschedulable
from fairlead.model.csi_migration import DRIVERS, MOVED, TranslationError, handle_of, in_tree_plugin
from fairlead.model.podinfo import PodInfo
from fairlead.model.storage import CSIDriver, CSINode, PersistentVolumeClaim, VolumeAttachment
from fairlead.queue.events import (
    ADD,
    CSI_NODE,
    DELETE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    UPDATE,
    VOLUME_ATTACHMENT,
    ClusterEvent,
    Registration,
)

REASON = "node(s) exceed max volume count"
REFUSAL = unschedulable(REASON)
PRE_FILTER = "PreFilterNodeVolumeLimits"
SCALING = "VolumeLimitScaling"


class Demand(NamedTuple):
    """The volumes that a pod adds to a node.

    Those that no pod uses yet are alike but for their drivers; those that some pod uses count
    only where it is not.
    """

    fresh: tuple[tuple[str, int], ...] = ()
    shared: tuple[VolumeHandle, ...] = ()
    code: Code = Code.SUCCESS
    fault: str = ""

    @property
    def drivers(self) -> set[str]:
        return {driver for driver, _ in (*self.fresh, *self.shared)}

    def counts(self, attached: dict[VolumeHandle, str]) -> Counter[str]:
        """How many volumes of each driver are new to a node with these."""
        counts = Counter(dict(self.fresh))
        counts.update(handle[0] for handle in self.shared if handle not in attached)
        return counts


class Demands(NamedTuple):
    """The demand on a node with a CSINode, and on one without, where old kinds do not count."""

    with_csi: Demand
    without: Demand


class NodeVolumeLimits:
    name = "NodeVolumeLimits"
    depends = Depends(Aspect.VOLUMES)

    def __init__(self, args: object, handle: Handle) -> None:
        self.objects = handle.objects
        self.volumes = handle.volumes
        self.attached = handle.attached
        self.csi_nodes = handle.csi_nodes
        self.scaling = handle.release.enabled(SCALING)

    def events_to_register(self) -> Sequence[Registration]:
        return (
            (ClusterEvent(CSI_NODE, ADD), None),
            (ClusterEvent(CSI_NODE, UPDATE), after_csi_node),
            (ClusterEvent(POD, DELETE), self.after_deletion),
            (ClusterEvent(PERSISTENT_VOLUME_CLAIM, ADD), self.after_claim),
            (ClusterEvent(VOLUME_ATTACHMENT, DELETE), self.after_attachment),
        )

    def reads(self, pod: PodInfo) -> object:
        return self.demands(pod) if pod.volumes and self.concerns(pod) else NOTHING

    def facts(self, pod: PodInfo) -> tuple[object, ...]:
        if not self.scaling or not pod.volumes:
            return ()
        return (("CSIDriver", ""),)

    def concerns(self, pod: PodInfo) -> bool:
        """Whether any volume of the pod may be attached by a driver."""
        volumes = self.volumes.of(pod)
        return volumes.has_claims or any(in_tree_plugin(v) for v in volumes.volumes)

    def demands(self, pod: PodInfo) -> Demands:
        return Demands(
            self._demand(pod, on_csi_node=True),
            self._demand(pod, on_csi_node=False),
        )

    def _demand(self, pod: PodInfo, *, on_csi_node: bool) -> Demand:
        try:
            volumes = self.attached.volumes_of(pod, placed=False, on_csi_node=on_csi_node)
        except ClaimMissing as missing:
            return Demand(code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE, fault=str(missing))
        except VolumeFault as fault:
            return Demand(code=Code.ERROR, fault=str(fault))
        self.attached.catch_up()
        shared = sorted(handle for handle in volumes if self.attached.where(handle))
        fresh = Counter(driver for handle, driver in volumes.items() if handle not in shared)
        return Demand(tuple(sorted(fresh.items())), tuple(shared))

    def pre_filter(self, pod: PodInfo, state: CycleState) -> PreFilterResult | Status | None:
        if not pod.volumes or not self.concerns(pod):
            return SKIP
        state.write(PRE_FILTER, self.demands(pod))
        return None

    def filter(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> Status | None:
        if not pod.volumes:
            return None
        demands = self._noted(pod, state)
        csi_node = self.csi_nodes.get(node.name)
        demand = demands.without if csi_node is None else demands.with_csi
        if demand.fault:
            return Status(demand.code, demand.fault)
        if self.scaling:
            for driver in sorted(demand.drivers):
                if not self._installed(driver, csi_node):
                    return unschedulable(not_installed(driver))
        limits = limits_of(csi_node)
        if not limits or not demand.drivers:
            return None
        at = self.attached.on(node)
        if at.fault:
            return error(at.fault)
        for driver, count in demand.counts(at.volumes).items():
            if driver in limits and at.counts[driver] + count > limits[driver]:
                return REFUSAL
        return None

    def filter_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Verdicts | None:
        if not pod.volumes:
            return None
        demands = self._noted(pod, state)
        present = cut(nodes, self.csi_nodes.present)
        found: Verdicts | None = None
        for demand, where in ((demands.with_csi, present), (demands.without, ~present)):
            if demand.fault:
                verdict = nodes.reject(where, demand.fault, code=demand.code)
            elif demand is demands.with_csi:
                verdict = self._full(nodes, demand)
            else:
                verdict = None
            if self.scaling and not demand.fault:
                verdict = join(self._lacking(nodes, demand, where), verdict)
            found = join(found, verdict)
        return found

    def _full(self, nodes: NodeSet, demand: Demand) -> Verdicts | None:
        """The nodes where a driver would have more volumes than it can attach."""
        self.attached.catch_up()
        full = np.zeros(nodes.size, np.bool_)
        room = nodes.table.columns.room
        fresh = dict(demand.fresh)
        for driver in demand.drivers:
            limit = self.csi_nodes.limit(driver)
            if limit is None:
                continue
            needed = np.full(room, fresh.get(driver, 0), np.int64)
            for handle in demand.shared:
                if handle[0] == driver:
                    needed += 1
                    needed[list(self.attached.where(handle))] -= 1
            used = self.attached.used(driver)
            over = needed > limit if used is None else used + needed > limit
            full |= cut(nodes, over & (needed > 0))
        verdict = nodes.reject(full, REASON)
        for row in self.attached.faults if demand.drivers else ():
            mask = np.zeros(room, np.bool_)
            mask[row] = True
            fault = nodes.reject(cut(nodes, mask), self.attached.at(row).fault, code=Code.ERROR)
            verdict = join(fault, verdict)
        return verdict

    def _lacking(self, nodes: NodeSet, demand: Demand, where: Mask) -> Verdicts | None:
        """The nodes on which a driver is missing that wants to be there before its volumes."""
        found: Verdicts | None = None
        for driver in sorted(demand.drivers):
            if not self._must_be_there(driver):
                continue
            there = (
                info is not None and self._installed(driver, self.csi_nodes.get(info.name))
                for info in nodes.infos()
            )
            lacking = where & ~np.fromiter(there, np.bool_, nodes.size)
            found = join(found, nodes.reject(lacking, not_installed(driver)))
        return found

    def _must_be_there(self, driver: str) -> bool:
        found = self.objects.get("CSIDriver", "", driver)
        return isinstance(found, CSIDriver) and found.spec.prevent_pod_scheduling_if_missing

    def _installed(self, driver: str, csi_node: CSINode | None) -> bool:
        if not self._must_be_there(driver):
            return True
        return csi_node is not None and any(d.name == driver for d in csi_node.spec.drivers)

    def _noted(self, pod: PodInfo, state: CycleState) -> Demands:
        if PRE_FILTER in state:
            return state.read(PRE_FILTER)  # type: ignore[return-value]
        return self.demands(pod)

    def after_deletion(self, pod: PodInfo, old: PodInfo, new: None) -> bool:
        """A pod has gone that had, or was about to have, a volume that was attached."""
        return bool(old.node_name or old.nominated_node_name) and self.concerns(old)

    def after_claim(
        self, pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
    ) -> bool:
        meta = new.metadata
        names = (name for name, _ in self.volumes.of(pod).claims(pod))
        return meta.namespace == pod.namespace and meta.name in names

    def after_attachment(self, pod: PodInfo, old: VolumeAttachment, new: None) -> bool:
        """Any claim may gain by it, and a disk of the driver that has let go."""
        for volume in self.volumes.of(pod).volumes:
            if volume.persistent_volume_claim is not None:
                return True
            plugin = in_tree_plugin(volume)
            if not plugin:
                continue
            if plugin in MOVED:
                try:
                    handle_of(volume)
                except TranslationError:
                    return True
            if DRIVERS[plugin] == old.spec.attacher:
                return True
        return False


def after_csi_node(pod: PodInfo, old: CSINode, new: CSINode) -> bool:
    """A driver can attach more than before; one without a limit counts as able to attach none."""
    before = limits_of(old)
    return any(limit > before.get(driver, 0) for driver, limit in limits_of(new).items())


def not_installed(driver: str) -> str:
    return f"{driver} CSI driver is not installed on the node"


def cut(nodes: NodeSet, mask: Mask) -> Mask:
    return mask if nodes.rows is None else mask[nodes.rows]


def join(verdict: Verdicts | None, below: Verdicts | None) -> Verdicts | None:
    return verdict.over(below) if verdict and below else verdict or below
