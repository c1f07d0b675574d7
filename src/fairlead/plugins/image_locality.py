"""ImageLocality: prefers nodes that have the pod's images, more so those that have spread."""

from collections.abc import Hashable

import numpy as np

from fairlead.cluster.changes import Aspect
from fairlead.cluster.columns import Int64
from fairlead.cluster.nodes import NodeInfo
from fairlead.framework.depends import Depends
from fairlead.framework.handle import Handle
from fairlead.framework.nodeset import NodeSet
from fairlead.framework.stages import MAX_NODE_SCORE
from fairlead.framework.state import CycleState
from fairlead.model.podinfo import PodInfo

MEBIBYTE = 1024 * 1024
SMALLEST = 23 * MEBIBYTE
LARGEST_OF_CONTAINER = 1000 * MEBIBYTE


class ImageLocality:
    name = "ImageLocality"
    depends = Depends(Aspect.IMAGES)

    def __init__(self, args: object, handle: Handle) -> None:
        self.handle = handle

    def reads(self, pod: PodInfo) -> object:
        return pod.images, pod.container_count

    def facts(self, pod: PodInfo) -> tuple[Hashable, ...]:
        """A score moves with the number of nodes, and of those that have the image."""
        return ("nodes", *(("image", name) for name in pod.images))

    def score(self, pod: PodInfo, node: NodeInfo, state: CycleState) -> int:
        total = sum(self.share(name) for name in pod.images if name in node.images)
        largest = LARGEST_OF_CONTAINER * pod.container_count
        held = min(max(total, SMALLEST), largest)
        return MAX_NODE_SCORE * (held - SMALLEST) // (largest - SMALLEST)

    def score_nodes(self, pod: PodInfo, nodes: NodeSet, state: CycleState) -> Int64 | int:
        sums = np.zeros(nodes.table.columns.room, np.int64)
        for name in pod.images:
            image = self.handle.images.get(name)
            if image is not None:
                sums[list(image.rows)] += self.share(name)
        if not sums.any():
            return 0
        largest = LARGEST_OF_CONTAINER * pod.container_count
        held = np.clip(sums if nodes.rows is None else sums[nodes.rows], SMALLEST, largest)
        return MAX_NODE_SCORE * (held - SMALLEST) // (largest - SMALLEST)

    def share(self, name: str) -> int:
        """The size of an image, scaled by the part of the nodes that have it; float as in Go."""
        image = self.handle.images.get(name)
        if image is None:
            return 0
        return int(float(image.size) * (len(image.rows) / self.handle.node_count()))
