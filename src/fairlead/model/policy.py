"""Disruption budgets and priorities, as far as a scheduler reads them."""

from typing import Any

from msgspec import Struct

from fairlead.model.meta import Int32, ObjectMeta
from fairlead.model.workload import SelectorSpec


class PodDisruptionBudgetStatus(Struct, rename="camel", frozen=True, gc=False):
    """How many more pods may go, and those that are already on their way, by name."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, Any] = {}


class PodDisruptionBudget(Struct, frozen=True, gc=False):
    """How many of some pods have to stay."""

    metadata: ObjectMeta = ObjectMeta()
    spec: SelectorSpec = SelectorSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(Struct, rename="camel", frozen=True, gc=False):
    """A priority with a name."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = ""
