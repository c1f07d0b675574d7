"""Disruption budgets: which pods should rather not be evicted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from fairlead.cluster.objects import Objects
from fairlead.model.errors import DecodeError
from fairlead.model.podinfo import PodInfo
from fairlead.model.policy import PodDisruptionBudget
from fairlead.model.selector import Selector, compile_label_selector

KIND = "PodDisruptionBudget"


class Budget:
    """One budget that protects anybody: whom, and how many of them may go."""

    __slots__ = ("allowed", "disrupted", "selector")

    def __init__(self, budget: PodDisruptionBudget, selector: Selector) -> None:
        self.selector = selector
        self.allowed = budget.status.disruptions_allowed
        self.disrupted = budget.status.disrupted_pods.keys()

    def counts(self, pod: PodInfo) -> bool:
        """Whether the pod's going counts; one that is on its way already has been counted."""
        return self.selector.matches(pod.labels) and pod.name not in self.disrupted


class Budgets:
    """The budgets as they are at one moment, each namespace's read when a pod of it comes up."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._by_namespace: dict[str, Sequence[Budget]] = {}

    def split(self, pods: Iterable[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Those whose going would break a budget, and the others, both in the order given.

        A pod counts for every budget that it matches, also where another one is broken already.
        """
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        left: dict[Budget, int] = {}
        for pod in pods:
            broken = False
            for budget in self._of(pod.namespace) if pod.labels else ():
                if budget.counts(pod):
                    left[budget] = allowed = left.get(budget, budget.allowed) - 1
                    broken = broken or allowed < 0
            (violating if broken else others).append(pod)
        return violating, others

    def _of(self, namespace: str) -> Sequence[Budget]:
        found = self._by_namespace.get(namespace)
        if found is None:
            objects = cast("Mapping[str, PodDisruptionBudget]", self._objects.of(KIND, namespace))
            found = self._by_namespace[namespace] = list(protecting(objects.values()))
        return found


def protecting(budgets: Iterable[PodDisruptionBudget]) -> Iterable[Budget]:
    """Without a selector, with an empty one or one that cannot be read a budget protects nobody."""
    for budget in budgets:
        try:
            selector = compile_label_selector(budget.spec.selector)
        except DecodeError:
            continue
        if not selector.nothing and not selector.everything:
            yield Budget(budget, selector)
