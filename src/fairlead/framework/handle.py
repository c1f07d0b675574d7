"""What a plugin may ask of the scheduler that runs it."""

import numpy as np

from fairlead.cluster.images import Images
from fairlead.cluster.nodes import NodeInfo, NodeTable
from fairlead.framework.nodeset import NodeSet, Reasons, Rows


class Handle:
    """Given to each plugin when it is made. Everything it shows is live and read-only."""

    __slots__ = ("_nodes", "_reasons")

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._reasons = Reasons()

    def node(self, name: str) -> NodeInfo | None:
        return self._nodes.get(name)

    def node_count(self) -> int:
        return len(self._nodes)

    @property
    def images(self) -> Images:
        """Which nodes have which image."""
        return self._nodes.images

    def nodes(self, rows: Rows | None = None) -> NodeSet:
        """All nodes as columns, or some of them."""
        return NodeSet(self._nodes, self._reasons, rows)

    def reason_id(self, reasons: tuple[str, ...]) -> int:
        return self._reasons.id(reasons)

    def reasons_of(self, number: int) -> tuple[str, ...]:
        return self._reasons.tuples[number]

    def only(self, node: NodeInfo) -> NodeSet:
        """One node as columns."""
        return NodeSet(self._nodes, self._reasons, np.array([node.row], np.intp))
