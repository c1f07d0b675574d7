"""A pod as it comes over the wire: decoded once, and what repeats from pod to pod left as bytes.

All pods of one template have the same labels, resources and affinity, byte for byte. Decoding
them costs more than all the rest, so they stay `msgspec.Raw` here and are read once for each
distinct spelling, in `fairlead.model.podinfo`. A `Raw` holds on to the line that it is part of:
nobody keeps a `Pod`.
"""

from msgspec import Raw, Struct

from fairlead.model.meta import NO_BYTES, Int32, PodMeta

DEFAULT_SCHEDULER = "default-scheduler"
ALWAYS = "Always"


class RestartRule(Struct, frozen=True, gc=False):
    """What happens when a container exits in some way; of the way nothing is read."""

    action: str = ""


class Container(Struct, rename="camel", frozen=True, gc=False):
    """A container or init container; of its environment and mounts nothing is read."""

    name: str = ""
    image: str = ""
    resources: Raw = NO_BYTES
    ports: Raw = NO_BYTES
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()


class Volume(Struct, rename="camel", frozen=True, gc=False, omit_defaults=True):
    """A volume, if it is of a sort that a scheduler reads; the others have a name alone.

    It is told apart at once, because the volume with the pod's token has another name in each
    pod, and bytes that never repeat must not be kept.
    """

    name: str = ""
    persistent_volume_claim: Raw = NO_BYTES
    ephemeral: Raw = NO_BYTES
    image: Raw = NO_BYTES
    csi: Raw = NO_BYTES
    gce_persistent_disk: Raw = NO_BYTES
    aws_elastic_block_store: Raw = NO_BYTES
    azure_disk: Raw = NO_BYTES
    azure_file: Raw = NO_BYTES
    cinder: Raw = NO_BYTES
    iscsi: Raw = NO_BYTES
    portworx_volume: Raw = NO_BYTES
    rbd: Raw = NO_BYTES
    vsphere_volume: Raw = NO_BYTES


class SchedulingGate(Struct, frozen=True, gc=False):
    """What keeps a pod from being considered at all."""

    name: str = ""


class SchedulingGroup(Struct, rename="camel", frozen=True, gc=False):
    """The group that the pod is a member of."""

    pod_group_name: str = ""


class PodSpec(Struct, rename="camel", frozen=True, gc=False):
    """What the pod asks for."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    scheduler_name: str = DEFAULT_SCHEDULER
    host_network: bool = False
    host_users: bool | None = None
    priority: Int32 | None = None
    preemption_policy: str = ""
    volumes: tuple[Volume, ...] = ()
    affinity: Raw = NO_BYTES
    tolerations: Raw = NO_BYTES
    node_selector: Raw = NO_BYTES
    overhead: Raw = NO_BYTES
    resources: Raw = NO_BYTES
    topology_spread_constraints: Raw = NO_BYTES
    resource_claims: Raw = NO_BYTES
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduling_group: SchedulingGroup | None = None


class PodCondition(Struct, rename="camel", frozen=True, gc=False):
    """A condition of a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class ContainerStatus(Struct, rename="camel", frozen=True, gc=False):
    """What the kubelet has given to a container, which may differ while it is resized."""

    name: str = ""
    resources: Raw = NO_BYTES
    allocated_resources: Raw = NO_BYTES


class PodStatus(Struct, rename="camel", frozen=True, gc=False):
    """What has become of the pod."""

    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: Raw = NO_BYTES
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: Raw = NO_BYTES
    allocated_resources: Raw = NO_BYTES
    resource_claim_statuses: Raw = NO_BYTES
    extended_resource_claim_status: Raw = NO_BYTES


class Pod(Struct, frozen=True, gc=False):
    """One pod of the wire, for the length of one turn."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
