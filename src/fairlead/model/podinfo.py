"""What the scheduler keeps of a pod: facts that all pods of its template share, and its own.

    Pod ──▶ PodInfos.of ──▶ PodInfo
              │  labels, tolerations, affinity, … each looked up by its bytes
              └─ new bytes: read, compiled and kept, so that the next pod costs a look-up

Equal facts are the same objects, so that comparing and hashing them costs next to nothing. The
tables are bounded: Jobs and StatefulSets bring labels of their own with every pod.
"""

from collections.abc import Mapping

from msgspec import Struct

from fairlead.model.errors import DecodeError
from fairlead.model.facts import DEFAULT_FEATURES, Facts, HostPort, PodFeatures
from fairlead.model.features import required_features
from fairlead.model.meta import OwnerReference
from fairlead.model.pod import Pod, PodCondition, PodStatus
from fairlead.model.requests import Demands
from fairlead.model.resources import Resources
from fairlead.model.selector import RequiredNodeAffinity, WeightedTerms
from fairlead.model.toleration import Toleration

__all__ = ["PodInfo", "PodInfos", "Resources", "Toleration"]

POD_SCHEDULED = "PodScheduled"
DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"


class PodInfo(Struct, frozen=True, eq=False, gc=False):
    """One pod as the scheduler knows it, read-only, compared by identity.

    The three requests are not the same: `request` is what a pending pod must find on a node,
    `placed_request` what it takes once it is there (the kubelet's word counts too), and
    `score_request` what NodeResourcesFit scores. Raw parts are JSON, b"" if absent.
    """

    uid: str
    namespace: str
    name: str
    key: str
    resource_version: str
    generation: int
    labels: Mapping[str, str]
    node_name: str
    scheduler_name: str
    priority: int
    preemption_policy: str
    deleting: bool
    phase: str
    nominated_node_name: str
    start_time: str
    creation_timestamp: str
    owner: OwnerReference | None
    scheduling_gates: tuple[str, ...]
    scheduling_group: str
    tolerations: tuple[Toleration, ...]
    node_selector: tuple[tuple[str, str], ...] | None
    required_node_affinity: RequiredNodeAffinity | None
    preferred_node_affinity: WeightedTerms | None
    preferred_node_affinity_error: str
    pod_affinity: bytes
    pod_anti_affinity: bytes
    request: Resources
    placed_request: Resources
    placed_nonzero: tuple[int, int]
    score_request: Resources
    balanced_request: Resources
    host_ports: tuple[HostPort, ...]
    images: tuple[str, ...]
    container_count: int
    volumes: bytes
    resource_claims: bytes
    spread_constraints: bytes
    required_features: tuple[str, ...]
    resource_claim_statuses: bytes
    extended_resource_claim_status: bytes
    pod_scheduled: PodCondition | None
    preempted: bool
    """Whether it is being deleted because a scheduler evicted it for another pod."""
    demands: Demands
    """What each container requests."""

    def on(self, node_name: str) -> "PodInfo":
        """This pod as it is once it is bound to the node: what is assumed before the API knows."""
        fields = [getattr(self, field) for field in self.__struct_fields__]
        fields[_NODE_NAME] = node_name
        return PodInfo(*fields)


_NODE_NAME = PodInfo.__struct_fields__.index("node_name")


class PodInfos:
    """Makes a PodInfo of each Pod, with what repeats read once: `PodInfos(limit).of(pod)`.

    `limit` bounds each table; a table that is full forgets its oldest quarter. A pod whose parts
    cannot be read raises DecodeError with its name, and leaves no trace.
    """

    def __init__(self, limit: int = 20_000, features: PodFeatures = DEFAULT_FEATURES) -> None:
        self._facts = Facts(limit, features)

    def of(self, pod: Pod) -> PodInfo:
        """The facts of this pod; it keeps nothing of the line that the pod was decoded from."""
        try:
            return self._of(pod)
        except DecodeError as error:
            meta = pod.metadata
            raise DecodeError(f"pod {meta.namespace}/{meta.name}: {error}") from None

    def _of(self, pod: Pod) -> PodInfo:
        meta, spec, status, facts = pod.metadata, pod.spec, pod.status, self._facts
        containers = facts.containers(spec)
        held, affinity = facts.held(containers, status), facts.affinity(spec.affinity)
        volumes = facts.volumes(spec.volumes) if spec.volumes else b""
        return PodInfo(
            meta.uid,
            facts.text(meta.namespace),
            meta.name,
            f"{meta.namespace}/{meta.name}",
            meta.resource_version,
            meta.generation,
            facts.labels(meta.labels),
            facts.text(spec.node_name),
            facts.text(spec.scheduler_name),
            spec.priority or 0,
            facts.text(spec.preemption_policy),
            meta.deletion_timestamp is not None,
            facts.text(status.phase),
            status.nominated_node_name,
            status.start_time or "",
            meta.creation_timestamp or "",
            facts.owner(meta.owner_references),
            tuple([gate.name for gate in spec.scheduling_gates]),
            spec.scheduling_group.pod_group_name if spec.scheduling_group is not None else "",
            facts.tolerations(spec.tolerations),
            facts.node_selector(spec.node_selector),
            affinity.required,
            affinity.preferred,
            affinity.preferred_error,
            affinity.pod,
            affinity.pod_anti,
            containers.request,
            held.request,
            held.nonzero,
            containers.score_request,
            held.request,
            containers.host_ports,
            facts.images(containers.images, volumes, spec.volumes),
            containers.count,
            volumes,
            facts.raw(spec.resource_claims),
            facts.raw(spec.topology_spread_constraints),
            required_features(spec),
            facts.raw(status.resource_claim_statuses),
            facts.raw(status.extended_resource_claim_status),
            None if spec.node_name else facts.condition(status.conditions, POD_SCHEDULED),
            meta.deletion_timestamp is not None and evicted(facts, status),
            containers.demands,
        )


def evicted(facts: Facts, status: PodStatus) -> bool:
    """Whether a scheduler has told the pod to make room."""
    condition = facts.condition(status.conditions, DISRUPTION_TARGET)
    return condition is not None and (condition.status, condition.reason) == (
        "True",
        PREEMPTION_BY_SCHEDULER,
    )
