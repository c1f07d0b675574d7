"""② The watches that keep the scheduler's picture true, and what they do with each event.

Reads: nodes and pods of the API server. Writes: intake. An object that cannot be read is counted,
told in one line, and left out.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple

from fairlead.intake import CLUSTER_WIDE, WATCHED, Intake
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError
from fairlead.kube.resource import NODES, PODS, Resource
from fairlead.kube.watching import Kind, Step, Watch, WatchEvent
from fairlead.model.decode import DECODERS, decode_node, decode_pod, decode_pod_event
from fairlead.observe.logs import get_logger
from fairlead.observe.metrics import Metrics

log = get_logger(__name__)

LIVE_PODS = "status.phase!=Succeeded,status.phase!=Failed"
"""A pod that has ended is told of as deleted: it needs no node any more."""


class Sink(NamedTuple):
    """What becomes of the events of one resource."""

    begin: Callable[[], None]
    put: Callable[[Any], object]
    drop: Callable[[Any], object]
    end: Callable[[], None]


class Watches:
    """One watch for each resource, and whether all have listed what there is."""

    def __init__(self, client: Client, intake: Intake, metrics: Metrics) -> None:
        self._intake = intake
        self._metrics = metrics
        self.synced = asyncio.Event()
        nodes = Sink(
            intake.begin_nodes,
            intake.set_node,
            lambda node: intake.remove_node(node.metadata.name),
            intake.end_nodes,
        )
        pods = Sink(
            intake.begin_pods,
            intake.set_pod,
            lambda pod: intake.remove_pod(pod.metadata.uid),
            intake.end_pods,
        )
        self._watches = (
            self._watch(client, NODES, nodes, decode=decode_node),
            self._watch(
                client,
                PODS,
                pods,
                field_selector=LIVE_PODS,
                decode=decode_pod,
                decode_event=decode_pod_event,
            ),
            *(
                self._watch(client, resource_of(kind), self._others(kind), decode=DECODERS[kind])
                for kind in WATCHED
            ),
        )
        self._missing = {watch.resource for watch in self._watches}

    def run(self) -> Sequence[Coroutine[None, None, None]]:
        """What to run, each until cancelled."""
        return [watch.run() for watch in self._watches]

    def _others(self, kind: str) -> Sink:
        """Where the objects of a kind that is only looked up go."""
        intake = self._intake
        return Sink(
            partial(intake.begin_objects, kind),
            partial(intake.set_object, kind),
            lambda found: intake.remove_object(kind, found.metadata.namespace, found.metadata.name),
            partial(intake.end_objects, kind),
        )

    def _watch(self, client: Client, resource: Resource, sink: Sink, **how: Any) -> Watch:
        """A watch that hands each event on as it comes."""

        def deliver(events: list[WatchEvent]) -> None:
            for kind, found in events:
                if kind in (Kind.APPLY, Kind.INIT_APPLY):
                    sink.put(found)
                elif kind is Kind.DELETE:
                    sink.drop(found)
                elif kind is Kind.INIT:
                    sink.begin()
                else:
                    sink.end()
                    self._listed(resource)

        return Watch(client, resource, deliver, on_error=self._on_error(resource), **how)

    def _listed(self, resource: Resource) -> None:
        self._missing.discard(resource)
        if not self._missing:
            self.synced.set()

    def _on_error(self, resource: Resource) -> Callable[[Step, KubeError], None]:
        errors = self._metrics.cell("fairlead_decode_errors_total", resource.plural)

        def told(step: Step, problem: KubeError) -> None:
            if step == "decode":
                errors.value += 1
                log.error(problem, "An object cannot be read and is left out")
            else:
                log.error(problem, f"Cannot {step}; trying again", resource=str(resource))

        return told


def resource_of(kind: str) -> Resource:
    """Where the objects of a kind in WATCHED live in the API."""
    api_version, plural = WATCHED[kind]
    group, _, version = api_version.rpartition("/")
    return Resource(group, version, plural, kind not in CLUSTER_WIDE, kind)
