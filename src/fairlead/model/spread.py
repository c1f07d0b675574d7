"""Topology spread constraints, as the API spells them."""

from msgspec import Struct

from fairlead.model.meta import Int32
from fairlead.model.reading import reader
from fairlead.model.selector import LabelSelector

DO_NOT_SCHEDULE, SCHEDULE_ANYWAY = "DoNotSchedule", "ScheduleAnyway"
HONOR, IGNORE = "Honor", "Ignore"


class TopologySpreadConstraint(Struct, rename="camel", frozen=True, gc=False):
    """How evenly the selected pods are to be spread over the values of a node label."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


read_spread_constraints = reader(tuple[TopologySpreadConstraint, ...], "topologySpreadConstraints")
