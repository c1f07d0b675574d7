"""What a plugin may ask of the scheduler that runs it."""

from collections.abc import Callable, Mapping

import numpy as np

from fairlead.cluster.attached import Attached
from fairlead.cluster.below import WithoutPodsBelow
from fairlead.cluster.changes import Changes
from fairlead.cluster.csi_nodes import CSINodes
from fairlead.cluster.devices.devices import Devices
from fairlead.cluster.domains import Domains, Tally, Topology
from fairlead.cluster.groups import PodQuery
from fairlead.cluster.images import Images
from fairlead.cluster.nodes import NodeInfo, NodeTable
from fairlead.cluster.objects import Objects
from fairlead.cluster.placed_volumes import PlacedVolumes
from fairlead.cluster.storage import Storage
from fairlead.cluster.terms import PlacedTerms
from fairlead.config.release import RELEASE_1_36, Release
from fairlead.framework.errands import Errands
from fairlead.framework.evictions import Evictions
from fairlead.framework.nodeset import Imagined, NodeSet, OneNode, Reasons, Rows
from fairlead.framework.waiting import WaitingPods


class Handle:
    """Given to each plugin when it is made. Everything it shows is live and read-only.

    But for `waiting`: a plugin allows and rejects the pods that Permit plugins hold.
    """

    __slots__ = (
        "_nodes",
        "_reasons",
        "choose",
        "errands",
        "evictions",
        "objects",
        "release",
        "waiting",
        "wall",
    )

    def __init__(
        self,
        nodes: NodeTable,
        objects: Objects | None = None,
        release: Release = RELEASE_1_36,
        choose: Callable[[int], int] | None = None,
        wall: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._nodes = nodes
        self.release = release
        """Which features are on, and whether kube-scheduler is followed to the letter."""
        self.objects = Objects(nodes.changes) if objects is None else objects
        """Services, controllers, namespaces, claims, volumes."""
        self.wall = wall
        """The time of day, for what is compared with the times in objects."""
        self.waiting = WaitingPods()
        """The pods that Permit plugins hold."""
        self.errands = Errands()
        """What a stage without I/O has decided to write."""
        self.choose = choose or first
        """A number below the given one, each as likely; 0 where nothing is left to chance."""
        self.evictions = Evictions()
        """The evictions that are under way."""
        self._reasons = Reasons()

    @property
    def features(self) -> Mapping[str, bool]:
        """Which feature gates are on; one that is not named is off."""
        return self.release.feature_gates

    def node(self, name: str) -> NodeInfo | None:
        return self._nodes.get(name)

    def node_count(self) -> int:
        return len(self._nodes)

    @property
    def images(self) -> Images:
        """Which nodes have which image."""
        return self._nodes.images

    @property
    def changes(self) -> Changes:
        """The versions of what belongs to no node."""
        return self._nodes.changes

    @property
    def terms(self) -> PlacedTerms:
        """What placed pods say of other pods."""
        return self._nodes.terms

    @property
    def devices(self) -> Devices:
        """Devices, the claims for them, and what is given out."""
        return self._nodes.devices

    @property
    def volumes(self) -> PlacedVolumes:
        """The disks and claims that placed pods use."""
        return self._nodes.volumes

    @property
    def attached(self) -> Attached:
        """The CSI volumes of each node, counted."""
        return self._nodes.attached

    @property
    def csi_nodes(self) -> CSINodes:
        """What the nodes' drivers can do."""
        return self._nodes.csi_nodes

    @property
    def storage(self) -> Storage:
        """Claims and volumes, with what is assumed of them."""
        return self._nodes.storage

    def domains(self, topology: Topology) -> Domains:
        """The nodes by the value of a label."""
        return self._nodes.domains.get(topology)

    def tally(self, query: PodQuery) -> Tally:
        """How many placed pods of a kind are on each node."""
        return self._nodes.groups.tally(query)

    def nodes(self, rows: Rows | None = None) -> NodeSet:
        """All nodes as columns, or some of them."""
        return NodeSet(self._nodes, self._reasons, rows)

    def nodes_when_asked(self, find: Callable[[], Rows]) -> NodeSet:
        """Some of the nodes, found only if somebody looks at them."""
        return NodeSet(self._nodes, self._reasons, find=find)

    def reason_id(self, reasons: tuple[str, ...]) -> int:
        return self._reasons.id(reasons)

    def reasons_of(self, number: int) -> tuple[str, ...]:
        return self._reasons.tuples[number]

    @property
    def reasons_full(self) -> bool:
        return self._reasons.full

    def forget_reasons(self) -> None:
        """All ids of reasons are void: only for whoever has just dropped every kept one."""
        self._reasons.forget()

    def only(self, node: NodeInfo) -> NodeSet:
        """One node as columns, whether it is one of the table or the copy of a trial."""
        row = np.array([node.row], np.intp)
        return NodeSet(self._nodes, self._reasons, row, imagined=OneNode(node))

    def without_pods_below(self, priority: int) -> WithoutPodsBelow:
        """What would be requested of each node if all pods of lower priority were gone."""
        return self._nodes.below.get(priority)

    def imagined(self, rows: Rows, instead: Imagined) -> NodeSet:
        """These nodes with what pods change in them taken from elsewhere."""
        return NodeSet(self._nodes, self._reasons, rows, imagined=instead)


def first(_count: int) -> int:
    """The choice of those who leave nothing to chance."""
    return 0
