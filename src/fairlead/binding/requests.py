"""The requests that carry a decision out, as paths and bodies."""

from datetime import UTC, datetime
from typing import Literal

import msgspec
from msgspec import Struct

from fairlead.kube.resource import PODS
from fairlead.model.podinfo import PodInfo

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


def condition_path(pod: PodInfo) -> str:
    return PODS.path(pod.namespace, pod.name, "status")


def nomination_body(pod: PodInfo, node_name: str) -> bytes | None:
    """The patch that promises the node to the pod; None if its status says so already."""
    if pod.nominated_node_name == node_name:
        return None
    return encode({"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node_name}})


def condition_body(pod: PodInfo, reason: str, message: str, now: float) -> bytes | None:
    """The patch that says why the pod is not scheduled; None if its status says so already.

    The time of the transition stays while the status does: only "since when" would be wrong else.
    """
    said = pod.pod_scheduled
    condition: dict[str, object] = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": message,
        "lastProbeTime": None,
    }
    if pod.generation:
        condition["observedGeneration"] = pod.generation
    if said is None or said.status != "False":
        moment = datetime.fromtimestamp(int(now), UTC)
        condition["lastTransitionTime"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    elif (said.reason, said.message) == (reason, message):
        return None
    return encode({"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}})
