"""② The watches that keep the scheduler's picture true, and what they do with each event.

Reads: nodes and pods of the API server. Writes: intake. An object that cannot be read is counted,
told in one line, and left out.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence

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


class Watches:
    """One watch for each resource, and whether all have listed what there is."""

    def __init__(self, client: Client, intake: Intake, metrics: Metrics) -> None:
        self._intake = intake
        self._metrics = metrics
        self.synced = asyncio.Event()
        self._watches = (
            Watch(client, NODES, self._nodes, decode=decode_node, on_error=self._on_error(NODES)),
            Watch(
                client,
                PODS,
                self._pods,
                field_selector=LIVE_PODS,
                decode=decode_pod,
                decode_event=decode_pod_event,
                on_error=self._on_error(PODS),
            ),
            *(self._others(client, kind) for kind in WATCHED),
        )
        self._missing = {watch.resource for watch in self._watches}

    def _others(self, client: Client, kind: str) -> Watch:
        """The watch of a kind that is only looked up: it decides nothing by itself."""
        resource, intake = resource_of(kind), self._intake

        def deliver(events: list[WatchEvent]) -> None:
            for what, found in events:
                if what in (Kind.APPLY, Kind.INIT_APPLY):
                    intake.set_object(kind, found)
                elif what is Kind.DELETE:
                    intake.remove_object(kind, found.metadata.namespace, found.metadata.name)
                elif what is Kind.INIT:
                    intake.begin_objects(kind)
                else:
                    intake.end_objects(kind)
                    self._listed(resource)

        on_error = self._on_error(resource)
        return Watch(client, resource, deliver, decode=DECODERS[kind], on_error=on_error)

    def run(self) -> Sequence[Coroutine[None, None, None]]:
        """What to run, each until cancelled."""
        return [watch.run() for watch in self._watches]

    def _nodes(self, events: list[WatchEvent]) -> None:
        intake = self._intake
        for kind, node in events:
            if kind in (Kind.APPLY, Kind.INIT_APPLY):
                intake.set_node(node)
            elif kind is Kind.DELETE:
                intake.remove_node(node.metadata.name)
            elif kind is Kind.INIT:
                intake.begin_nodes()
            else:
                intake.end_nodes()
                self._listed(NODES)

    def _pods(self, events: list[WatchEvent]) -> None:
        intake = self._intake
        for kind, pod in events:
            if kind in (Kind.APPLY, Kind.INIT_APPLY):
                intake.set_pod(pod)
            elif kind is Kind.DELETE:
                intake.remove_pod(pod.metadata.uid)
            elif kind is Kind.INIT:
                intake.begin_pods()
            else:
                intake.end_pods()
                self._listed(PODS)

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
