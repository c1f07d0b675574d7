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
from fairlead.framework.status import PluginError, crash
from fairlead.model.podinfo import PodInfo

MOST_BYTES = 64 * 2**20

Key = tuple[Hashable, ...]


def signature(profile: Profile, pod: PodInfo) -> Key:
    """What the plugins of the profile read of the pod: pods with the same one are alike to them."""
    read: list[Hashable] = [profile]
    for instance in profile.signing:
        assert instance.reads is not None
        try:
            part = instance.reads(pod)
            hash(part)
        except Exception as problem:
            raise crash(instance.name, "reads", problem) from problem
        read.append(part)
    return tuple(read)


class Shapes:
    """The store. Answers are shared: two shapes that differ in tolerations have one for Fit."""

    def __init__(self, engine: Engine, most_bytes: int = MOST_BYTES) -> None:
        self._engine = engine
        self._shapes: OrderedDict[Key, Shape] = OrderedDict()
        self._kept: dict[Hashable, Kept] = {}
        self._epoch = engine.table.columns.epoch
        self._most_bytes = most_bytes

    def __len__(self) -> int:
        return len(self._shapes)

    @property
    def held(self) -> int:
        """The bytes of all that is kept."""
        return self._engine.held

    @property
    def answers(self) -> int:
        """How many answers of single plugins are kept."""
        return len(self._kept)

    def get(self, key: Key) -> Shape | None:
        """The shape as of now; None if there is none yet, or a plugin failed on the way to now."""
        if self._epoch != self._engine.table.columns.epoch or self._engine.handle.reasons_full:
            self.clear()  # the arrays have grown, none that was kept fits; or see `Reasons`
            return None
        shape = self._shapes.get(key)
        if shape is None:
            return None
        try:
            shape.catch_up()
        except PluginError:
            # What has been read of the logs is lost, so that nothing of it can be kept; whoever
            # asks afresh meets the failure again, in its place.
            self.drop_answers(shape)
            return None
        self._shapes.move_to_end(key)
        self._engine.counts.hits += 1
        return shape

    def clear(self) -> None:
        self._shapes.clear()
        self._kept.clear()
        self._engine.held = 0
        self._engine.handle.forget_reasons()
        self._epoch = self._engine.table.columns.epoch

    def make(
        self, profile: Profile, pod: PodInfo, key: Key, found: PreFiltered, state: CycleState
    ) -> Shape:
        """The shape of a pod that is the first of its kind."""
        failure: PluginError | None = None
        everywhere = np.flatnonzero(self._engine.table.columns.exists)
        scorers = {i for i in profile.signing if i.weight}
        try:
            nodes = self._engine.handle.nodes(everywhere)
            scorers -= pre_score(scorers, profile, pod, nodes, state)
        except PluginError as problem:
            failure = problem
            scorers.clear()
        kept: list[Kept] = []
        try:
            for instance, read in zip(profile.signing, key[1:], strict=True):
                asks_filter = instance in profile.filter and instance not in found.skipped
                stages = asks_filter, instance in scorers
                one, problem = self._answer(instance, read, pod, state, stages)
                failure = failure or problem
                if one is not None:
                    kept.append(one)
        except PluginError:
            for one in kept:
                self._forget_unused(one)
            raise
        shape = Shape(key, state, kept, self._engine.table, found.node_names)
        shape.settle(profile, found, failure)
        self._shapes[key] = shape
        self._engine.held += shape.size
        for one in kept:
            one.users += 1
            one.charge()
        self._shrink(shape)
        return shape

    def drop(self, shape: Shape) -> None:
        """Forget a shape, and the answers that no other shape uses."""
        if self._shapes.pop(shape.key, None) is None:
            return
        self._engine.held -= shape.size
        for one in shape.kept:
            one.users -= 1
            self._forget_unused(one)

    def drop_answers(self, shape: Shape) -> None:
        """Forget a shape whose answers turned out wrong, and every shape that shares one."""
        self._drop_all(set(shape.kept))

    def _drop_all(self, wrong: set[Kept]) -> None:
        for shape in [s for s in self._shapes.values() if not wrong.isdisjoint(s.kept)]:
            self.drop(shape)
        for one in wrong:
            self._forget_unused(one)

    def wrong(self, shape: Shape) -> bool:
        """Whether the answers of a shape, or their sum, differ from those that are made anew now.

        The shape must have caught up: see `get`.
        """
        exists = self._engine.table.columns.exists
        for one in shape.kept:
            stages = (one.asks_filter, one.asks_score)
            fresh = Kept(one.instance, one.pod, one.state, self._engine, stages)
            if not one.same(fresh, exists):
                return True
        return not shape.sums_up()

    def _answer(
        self,
        instance: PluginInstance,
        read: Hashable,
        pod: PodInfo,
        state: CycleState,
        stages: tuple[bool, bool],
    ) -> tuple[Kept | None, PluginError | None]:
        """The answer to Filter and to Score; without Score, and why, if that one fails."""
        key = (instance, read, stages)
        one = self._kept.get(key)
        if one is not None:
            try:
                one.catch_up()
            except PluginError:
                self._drop_all({one})
            else:
                return one, None
        if not any(stages):
            return None, None
        try:
            one = self._kept[key] = Kept(instance, pod, state, self._engine, stages)
        except PluginError as problem:
            if problem.point != "Score":
                raise
            return self._answer(instance, read, pod, state, (stages[0], False))[0], problem
        one.key = key
        return one, None

    def _forget_unused(self, one: Kept) -> None:
        if not one.users:
            one.charge()
            if self._kept.get(one.key) is one:
                del self._kept[one.key]

    def _shrink(self, newest: Shape) -> None:
        while self._engine.held > self._most_bytes and len(self._shapes) > 1:
            oldest = next(iter(self._shapes.values()))
            if oldest is newest:
                return
            self.drop(oldest)
