"""The beginning of a decision: PreFilter, and what of it is known from pods like this one.

Reads: the pod, its shape. Writes: the notes of the attempt.

The word of a plugin that signs pods is that of the shape. Only the others are asked about each
pod; where all of them have nothing to say, the shape alone decides.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from fairlead.cycle.decision import Detail
from fairlead.cycle.prefilter import PreFiltered, pre_filter
from fairlead.cycle.shape import Shape
from fairlead.cycle.shapes import Key, Shapes
from fairlead.framework.instance import PluginInstance
from fairlead.framework.nodeset import Rows
from fairlead.framework.profile import Profile
from fairlead.framework.state import CycleState
from fairlead.framework.trial import Nominations, Trials
from fairlead.model.podinfo import PodInfo

FEW = 64
"""A pod with at most so many candidates is decided node by node, and nothing is kept for it."""


@dataclass(slots=True)
class Attempt:
    """One pod on its way through the cycle.

    `fresh` are the filters of which nothing is kept and that have something to say of this pod.
    `own` is what PreFilter said of this pod alone, `found` what it said of all like it.
    """

    profile: Profile
    pod: PodInfo
    found: PreFiltered
    own: PreFiltered
    state: CycleState
    shape: Shape | None
    filters: Sequence[PluginInstance]
    fresh: Sequence[PluginInstance]
    detail: Detail | None
    fitting: Rows | None = None
    """The rows that pass in the order in which they were found, where that counts."""


def begin(
    profile: Profile, pod: PodInfo, key: Key | None, shapes: Shapes, detail: Detail | None
) -> Attempt:
    """PreFilter, from the shape as far as it is kept there; without a key all is asked afresh."""
    shape = None if key is None else shapes.get(key)
    if shape is not None:
        attempt = like_others(profile, pod, shape, detail)
        if attempt is not None:
            return attempt
    state = CycleState()
    own = CycleState(below=state) if profile.unsigned else state
    found = pre_filter(profile.pre_filter, pod, state, own)
    wide = found.node_names is None or len(found.node_names) > FEW
    shape = None
    if key is not None and found.refusal is None and wide and not narrowed_for_this(profile, found):
        shape = shapes.make(profile, pod, key, found, state)
    filters = [i for i in profile.filter if i not in found.skipped]
    fresh = [i for i in filters if not i.kept]
    return Attempt(profile, pod, found, found, own, shape, filters, fresh, detail)


def like_others(
    profile: Profile, pod: PodInfo, shape: Shape, detail: Detail | None
) -> Attempt | None:
    """The attempt of a pod whose shape is known; None if a plugin narrows this pod down."""
    found = shape.found
    if not profile.unsigned:
        kept = shape.kept_filters
        return Attempt(profile, pod, found, found, shape.state, shape, kept, (), detail)
    state = CycleState(below=shape.state)
    own = pre_filter(profile.unsigned_pre_filter, pod, state, state)
    if own.refusal is None and own.node_names is not None:
        return None
    filters: Sequence[PluginInstance] = shape.kept_filters
    fresh = [i for i in profile.unsigned_filter if i not in own.skipped]
    if fresh:
        asked = {*filters, *fresh}
        filters = [i for i in profile.filter if i in asked]
    refused = found if own.refusal is None else own
    return Attempt(profile, pod, refused, own, state, shape, filters, fresh, detail)


def trials_of(attempt: Attempt, nominations: Nominations) -> Trials:
    """How nodes as they would be are asked about the pod of this attempt."""
    shape, own = attempt.shape, attempt.own
    found = attempt.found if shape is None else shape.found
    # What `found` says of plugins that sign nothing was said of another pod.
    extending = [
        instance
        for instance in attempt.profile.extending
        if instance not in (found.skipped if instance.kept else own.skipped)
    ]
    return Trials(attempt.pod, attempt.state, attempt.filters, extending, nominations)


def narrowed_for_this(profile: Profile, found: PreFiltered) -> bool:
    """Whether the nodes were narrowed down by what no signature tells of."""
    return any(instance.name in found.narrowing for instance in profile.unsigned_pre_filter)


def told_apart(attempt: Attempt, nominations: Nominations) -> Hashable | None:
    """What tells pods of one shape apart when nothing fits them; None if it must not be kept."""
    shape, pod, profile = attempt.shape, attempt.pod, attempt.profile
    if shape is None:
        return None
    read: list[Hashable] = []
    for ask in (
        *(instance.filter_reads for instance in attempt.fresh),
        *(instance.post_filter_reads for instance in profile.post_filter),
    ):
        one = None if ask is None else ask(pod)
        if one is None:
            return None
        read.append(one)
    given_way = pod.priority if nominations.nominated_nodes() else None
    cluster = shape.changes.now() if read else None
    asked = len(attempt.fresh), *attempt.fresh
    return cluster, nominations.nominations, given_way, pod.nominated_node_name, *asked, *read
