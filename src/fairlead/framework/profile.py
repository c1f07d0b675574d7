"""One profile: its plugins made and put in order, stage by stage.

Reads: the expanded configuration and the known plugin classes. The result does not change; a new
configuration makes a new profile.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fairlead.framework.handle import Handle
from fairlead.framework.instance import PluginInstance
from fairlead.framework.stages import POINTS
from fairlead.framework.status import crash


class Layout(Protocol):
    """What the configuration says of a profile: the plugins of each point in order, and weights."""

    @property
    def scheduler_name(self) -> str: ...
    def names(self, point: str) -> tuple[str, ...]: ...
    def weights(self) -> dict[str, int]: ...


ArgsOf = Callable[[str, type], object]
"""The args of a plugin: by name, and the class whose `Args` says what they are."""


class Profile:
    """The stages of one schedulerName. Each list is in the configured order."""

    def __init__(
        self, layout: Layout, classes: Mapping[str, type], args_of: ArgsOf, handle: Handle
    ) -> None:
        self.scheduler_name = layout.scheduler_name
        self.plugins: dict[str, PluginInstance] = {}
        names = dict.fromkeys(name for point in POINTS for name in layout.names(point))
        for name in names:
            if name in classes:
                plugin = make(name, classes[name], args_of, handle)
                self.plugins[name] = PluginInstance(name, plugin, len(self.plugins), handle)

        def stage(point: str) -> list[PluginInstance]:
            return [self.plugins[n] for n in layout.names(point) if n in self.plugins]

        self.percentage_of_nodes_to_score = 0
        """How much of the nodes is looked at, between 1 and 100; 0 says nothing."""
        self.pre_enqueue = stage("preEnqueue")
        self.queue_sort = stage("queueSort")
        self.pre_filter = stage("preFilter")
        self.filter = stage("filter")
        self.post_filter = stage("postFilter")
        self.pre_score = stage("preScore")
        self.score = stage("score")
        self.reserve = stage("reserve")
        self.permit = stage("permit")
        self.pre_bind = stage("preBind")
        self.bind = stage("bind")
        self.post_bind = stage("postBind")
        weights = layout.weights()
        for instance in self.score:
            instance.weight = weights[instance.name]
        deciding = dict.fromkeys([*self.pre_filter, *self.filter, *self.pre_score, *self.score])
        self.signing = [instance for instance in deciding if instance.kept]
        """The plugins whose answers are kept, in a fixed order: together they sign a pod."""
        self.unsigned = [instance for instance in deciding if not instance.kept]
        """The plugins that are asked afresh for every pod."""
        self.extending = [i for i in self.pre_filter if i.add_pod or i.remove_pod]
        """The plugins whose notes know of a trial's pods."""
        self.unsigned_pre_filter = [i for i in self.pre_filter if not i.kept]
        self.unsigned_filter = [i for i in self.filter if not i.kept]
        self.unsigned_score = [i for i in self.score if not i.kept and i.weight]


def make(name: str, plugin: type, args_of: ArgsOf, handle: Handle) -> object:
    """Construct a plugin: `()`, `(args)` or `(args, handle)`, whichever its class takes."""
    try:
        wanted = len(inspect.signature(plugin).parameters)
        given: list[Any] = []
        if wanted >= 1:
            given.append(args_of(name, plugin))
        if wanted >= 2:
            given.append(handle)
        return plugin(*given)
    except Exception as problem:
        raise crash(name, "its constructor", problem) from problem
