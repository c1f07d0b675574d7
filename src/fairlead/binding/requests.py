"""The requests that carry a decision out, as paths and bodies."""

from datetime import UTC, datetime
from typing import Literal

import msgspec
from msgspec import Struct

from fairlead.kube.resource import PODS
from fairlead.model.podinfo import DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER, PodInfo

encode = msgspec.json.Encoder().encode


class _Named(Struct):
    name: str
    namespace: str
    uid: str


class _Target(Struct):
    name: str
    kind: Literal["Node"] = "Node"
    apiVersion: Literal["v1"] = "v1"  # noqa: N815 - the key on the wire


class _Binding(Struct):
    metadata: _Named
    target: _Target
    kind: Literal["Binding"] = "Binding"
    apiVersion: Literal["v1"] = "v1"  # noqa: N815 - the key on the wire


def binding_path(pod: PodInfo) -> str:
    return PODS.path(pod.namespace, pod.name, "binding")


def binding_body(pod: PodInfo, node_name: str) -> bytes:
    """The uid makes it a binding of this pod and no later one of its name."""
    return encode(_Binding(_Named(pod.name, pod.namespace, pod.uid), _Target(node_name)))


def pod_path(pod: PodInfo) -> str:
    return PODS.path(pod.namespace, pod.name)


def status_path(pod: PodInfo) -> str:
    return PODS.path(pod.namespace, pod.name, "status")


def nomination_body(pod: PodInfo, node_name: str) -> bytes | None:
    """The patch that promises the node to the pod; None if its status says so already."""
    if pod.nominated_node_name == node_name:
        return None
    return encode(patch(pod, {"nominatedNodeName": node_name}))


def condition_body(
    pod: PodInfo, reason: str, message: str, now: float, nominated: str | None = None
) -> bytes | None:
    """The patch that says why the pod is not scheduled, and which node it is promised.

    None if its status says all of it already; no word of a node leaves the promise as it is. The
    time of the transition stays while the status does: only "since when" would be wrong else.
    """
    status: dict[str, object] = {}
    said = pod.pod_scheduled
    again = said is not None and said.status == "False"
    if said is None or not again or (said.reason, said.message) != (reason, message):
        condition = written("PodScheduled", "False", reason, message, pod.generation)
        if not again:
            condition["lastTransitionTime"] = timestamp(now)
        status["conditions"] = [condition]
    if nominated is not None and nominated != pod.nominated_node_name:
        status["nominatedNodeName"] = nominated or None
    return encode(patch(pod, status)) if status else None


def clear_nomination(pod: PodInfo) -> object:
    """The patch that takes a promise back."""
    return patch(pod, {"nominatedNodeName": None})


def disruption(victim: PodInfo, scheduler_name: str, now: float) -> object:
    """The patch that tells a victim's owner why it must go."""
    message = f"{scheduler_name}: preempting to accommodate a higher priority pod"
    reason = PREEMPTION_BY_SCHEDULER
    condition = written(DISRUPTION_TARGET, "True", reason, message, victim.generation)
    condition["lastTransitionTime"] = timestamp(now)
    return patch(victim, {"conditions": [condition]})


def deletion(pod: PodInfo) -> object:
    """With its uid: a later pod of the same name stays."""
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}


def patch(pod: PodInfo, status: object) -> object:
    return {"metadata": {"uid": pod.uid}, "status": status}


def written(
    kind: str, status: str, reason: str, message: str, generation: int
) -> dict[str, object]:
    """A condition of a pod."""
    condition: dict[str, object] = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastProbeTime": None,
    }
    if generation:
        condition["observedGeneration"] = generation
    return condition


def timestamp(now: float) -> str:
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
