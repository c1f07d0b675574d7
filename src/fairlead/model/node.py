"""A node, as far as a scheduler reads it."""

from functools import cached_property

from msgspec import Struct

from fairlead.model.meta import Int64, ObjectMeta
from fairlead.model.quantities import Texts, quantities
from fairlead.model.resources import PODS, Resources, resources_of

NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "PreferNoSchedule", "NoExecute"


class Taint(Struct, frozen=True, gc=False, cache_hash=True):
    """What a pod has to tolerate on a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct, rename="camel", frozen=True, gc=False):
    """The part of a node that others decide."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Struct, rename="camel", frozen=True, gc=False):
    """An image that is on a node, by all of its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeCondition(Struct, rename="camel", frozen=True, gc=False):
    """A condition of a node without its timestamps: heartbeats are nobody's news."""

    type: str = ""
    status: str = ""


class NodeStatus(Struct, rename="camel", frozen=True, gc=False):
    """The part of a node that its kubelet reports; quantities stay texts until they are asked."""

    allocatable: Texts = {}
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Struct, rename="camel", frozen=True, dict=True):
    """One node. It is decoded by `decode_node` and shared: nobody changes it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    def allocatable_resources(self) -> tuple[Resources, int]:
        """What pods may have of this node, and how many of them there may be.

        Raises DecodeError for a quantity that cannot be read.
        """
        return self._allocatable

    @cached_property
    def _allocatable(self) -> tuple[Resources, int]:
        amounts = quantities(self.status.allocatable)
        return resources_of(amounts), amounts[PODS].value() if PODS in amounts else 0
