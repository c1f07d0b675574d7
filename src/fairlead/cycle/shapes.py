"""All shapes and kept answers, found by signature, the least recently used dropped first.

Reads: pods, profiles. Writes: its two tables.
"""

from collections import OrderedDict
from collections.abc import Hashable

import numpy as np

from fairlead.cycle.kept import Engine, Kept
from fairlead.cycle.prefilter import PreFiltered
from fairlead.cycle.score import pre_score
from fairlead.cycle.shape import Shape
from fairlead.framework.instance import PluginInstance
from fairlead.framework.profile import Profile
from fairlead.framework.state import CycleState
from fairlead.framework.status import PluginError
from fairlead.model.podinfo import PodInfo

MOST_BYTES = 64 * 2**20

Key = tuple[Hashable, ...]


def signature(profile: Profile, pod: PodInfo) -> Key:
    """What the plugins of the profile read of the pod: pods with the same one are alike to them."""
    return (profile, *(instance.reads(pod) for instance in profile.signing if instance.reads))


class Shapes:
    """The store. Answers are shared: two shapes that differ in tolerations have one for Fit."""

    def __init__(self, engine: Engine, most_bytes: int = MOST_BYTES) -> None:
        self._engine = engine
        self._shapes: OrderedDict[Key, Shape] = OrderedDict()
        self._kept: dict[Hashable, Kept] = {}
        self._epoch = engine.table.columns.epoch
        self._most_bytes = most_bytes
        self.held = 0

    def __len__(self) -> int:
        return len(self._shapes)

    @property
    def answers(self) -> int:
        """How many answers of single plugins are kept."""
        return len(self._kept)

    def get(self, key: Key) -> Shape | None:
        if self._epoch != self._engine.table.columns.epoch:
            self.clear()  # the arrays have grown: none that was kept fits
            return None
        shape = self._shapes.get(key)
        if shape is not None:
            self._shapes.move_to_end(key)
            self._engine.counts.hits += 1
        return shape

    def clear(self) -> None:
        self._shapes.clear()
        self._kept.clear()
        self.held = 0
        self._epoch = self._engine.table.columns.epoch

    def make(
        self, profile: Profile, pod: PodInfo, key: Key, found: PreFiltered, state: CycleState
    ) -> Shape:
        """The shape of a pod that is the first of its kind."""
        failure: PluginError | None = None
        idle: set[PluginInstance] = set()
        everywhere = np.flatnonzero(self._engine.table.columns.exists)
        handle = self._engine.handle
        scorers = [i for i in profile.signing if i.weight]
        try:
            idle = pre_score(scorers, profile, pod, everywhere, state, handle)
        except PluginError as problem:
            failure = problem
            idle = set(scorers)
        kept: list[Kept] = []
        for instance, read in zip(profile.signing, key[1:], strict=True):
            asks_filter = instance in profile.filter and instance not in found.skipped
            asks_score = instance in scorers and instance not in idle
            if asks_score:
                try:
                    kept.append(self._answer(instance, read, pod, state, (asks_filter, True)))
                    continue
                except PluginError as problem:
                    if problem.point != "Score":
                        raise
                    failure = failure or problem
            if asks_filter:
                kept.append(self._answer(instance, read, pod, state, (True, False)))
        shape = Shape(key, state, kept, self._engine.table, found.node_names)
        shape.settle(profile, found, failure)
        self._shapes[key] = shape
        self.held += shape.size
        for one in kept:
            one.users += 1
        self._shrink(shape)
        return shape

    def drop(self, shape: Shape) -> None:
        """Forget a shape, and the answers that no other shape uses."""
        if self._shapes.pop(shape.key, None) is None:
            return
        self.held -= shape.size
        for one in shape.kept:
            one.users -= 1
            if not one.users:
                self._forget(one)

    def drop_answers(self, shape: Shape) -> None:
        """Forget a shape whose answers turned out wrong, and every shape that shares one."""
        wrong = set(shape.kept)
        for other in [s for s in self._shapes.values() if not wrong.isdisjoint(s.kept)]:
            self.drop(other)

    def wrong(self, shape: Shape) -> bool:
        """Whether the answers of a shape differ from those that are made anew now."""
        exists = self._engine.table.columns.exists
        for one in shape.kept:
            stages = (one.asks_filter, one.asks_score)
            fresh = Kept(one.instance, one.pod, one.state, self._engine, stages)
            if not one.same(fresh, exists):
                return True
        return False

    def _answer(
        self,
        instance: PluginInstance,
        read: Hashable,
        pod: PodInfo,
        state: CycleState,
        stages: tuple[bool, bool],
    ) -> Kept:
        key = (instance, read, stages)
        one = self._kept.get(key)
        if one is None:
            one = self._kept[key] = Kept(instance, pod, state, self._engine, stages)
            one.key = key
            self.held += one.size
        return one

    def _forget(self, one: Kept) -> None:
        if self._kept.pop(one.key, None) is not None:
            self.held -= one.size

    def _shrink(self, newest: Shape) -> None:
        while self.held > self._most_bytes and len(self._shapes) > 1:
            oldest = next(iter(self._shapes.values()))
            if oldest is newest:
                return
            self.drop(oldest)
