"""One request to two API servers, and what of the answers can be compared."""

from __future__ import annotations

import json
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, NamedTuple

from fairlead.lab.cluster import Cluster
from tests.control_plane.plane import ControlPlane
from tests.unit.lab.objects import ask

Object = dict[str, Any]
JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
STEPS = "application/json-patch+json"
BLANK = {
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "resourceVersion",
    "lastTransitionTime",
    "lastPhaseTransitionTime",
    "clusterIP",
    "clusterIPs",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    "description",
}
RANDOM = (
    (re.compile(r"kube-api-access-\w{5}"), "kube-api-access-*"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}"), "UID"),
    (re.compile(r" \(the embedded cluster does not serve [^)]*\)"), ""),
    (re.compile(r"(was previously negative\)).*", re.DOTALL), r"\1"),
    (re.compile(r"json parse error: .*", re.DOTALL), "json parse error: *"),
)


class Step(NamedTuple):
    """One request; `NS` in the path or body is the namespace of the test."""

    method: str
    path: str
    body: Any = None
    content_type: str = JSON


def blanked(value: Any) -> Any:
    if isinstance(value, dict):
        shown = {key: each for key, each in value.items() if key != "managedFields"}
        return {key: "*" if key in BLANK else blanked(each) for key, each in shown.items()}
    if isinstance(value, list):
        return [blanked(each) for each in value]
    if isinstance(value, str):
        for pattern, word in RANDOM:
            value = pattern.sub(word, value)
    return value


def asked_of(plane: ControlPlane, step: Step) -> tuple[int, Any]:
    """The real server's answer."""
    request = urllib.request.Request(
        plane.server + step.path,
        method=step.method,
        data=None if step.body is None else json.dumps(step.body).encode(),
        headers={"Authorization": f"Bearer {plane.token}", "Content-Type": step.content_type},
    )
    trust = ssl.create_default_context(cafile=str(plane.authority))
    try:
        with urllib.request.urlopen(request, context=trust, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def embedded(cluster: Cluster, step: Step) -> tuple[int, Any]:
    """The embedded cluster's answer, without a socket."""
    path, _, query = step.path.partition("?")
    named = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    body, media = step.body, step.content_type
    return ask(cluster, step.method, path, body, content_type=media, **named)
