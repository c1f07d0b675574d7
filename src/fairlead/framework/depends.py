"""What a plugin's answer rests on: the declarations that let the framework keep it.

A plugin that says nothing is asked afresh for every pod, which is always right. One that names
what it reads of the pod (`reads`) and of the cluster (`depends`) has its answers kept for all
pods that read alike, and only changed nodes are asked again. A declaration that leaves something
out makes kept answers wrong: the framework asks the chosen node again before it is used, and
counts each mismatch.
"""

from collections.abc import Hashable
from typing import Final

from fairlead.cluster.changes import Aspect

NOTHING: Final[Hashable] = ()
"""`reads = NOTHING`: the answer is the same for every pod."""


class Depends:
    """The aspects of a node from which its answer follows; `facts` names what is cluster-wide.

    An answer may be kept only if the value for a node follows from that node and the pod alone,
    given the facts. A plugin whose facts differ by pod has a method `facts(pod)` instead.
    """

    __slots__ = ("aspects", "facts")

    def __init__(self, *aspects: Aspect, facts: tuple[Hashable, ...] = ()) -> None:
        self.aspects = aspects
        self.facts = facts
