"""What admission does to new pods, claims, Jobs and Services."""

from __future__ import annotations

import random

from fairlead.lab.decoding import amount
from fairlead.lab.objects import Object, nested, random_suffix, timestamp
from fairlead.lab.resources import BY_PATH
from fairlead.lab.status import ApiError, failure, forbidden
from fairlead.lab.store import Store

PODS = BY_PATH["", "v1", "pods"]
SERVICE_ACCOUNTS = BY_PATH["", "v1", "serviceaccounts"]
PRIORITY_CLASSES = BY_PATH["scheduling.k8s.io", "v1", "priorityclasses"]
RUNTIME_CLASSES = BY_PATH["node.k8s.io", "v1", "runtimeclasses"]
STORAGE_CLASSES = BY_PATH["storage.k8s.io", "v1", "storageclasses"]

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a mount path
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
PROTECTION = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
}
SYSTEM_CRITICAL = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def admit_pod(pod: Object, store: Store, rng: random.Random, now: float) -> None:
    """Complete a new pod in place as the default admission plugins do."""
    spec: Object = pod["spec"]
    tolerate_failures(spec)
    _apply_runtime_class(pod, spec, store)
    _resolve_priority(pod, spec, store)
    _give_service_account(pod, spec, store, rng)
    _merge_label_keys(pod, spec)
    status: Object = {"phase": "Pending", "qosClass": quality(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": timestamp(now),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    pod["status"] = status


def _merge_label_keys(pod: Object, spec: Object) -> None:
    """Spell out `matchLabelKeys` in the selectors, so that schedulers read selectors alone."""
    labels: dict[str, str] = nested(pod, "metadata", "labels", default={})
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity: Object = nested(spec, "affinity", kind, default={})
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution", ()):
            _merge_into(term, labels)
        for weighted in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
            _merge_into(weighted.get("podAffinityTerm", {}), labels)
    for constraint in spec.get("topologySpreadConstraints", ()):
        _merge_into(constraint, labels)


def _merge_into(term: Object, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if not isinstance(selector, dict):
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field, ()):
            if key in labels:
                expression = {"key": key, "operator": operator, "values": [labels[key]]}
                selector["matchExpressions"] = [*selector.get("matchExpressions", ()), expression]


def _apply_runtime_class(pod: Object, spec: Object, store: Store) -> None:
    """Take overhead and node constraints from the pod's RuntimeClass, and from nothing else."""
    name: str = spec.get("runtimeClassName") or ""
    entry = store.get(RUNTIME_CLASSES, "", name) if name else None
    if name and entry is None:
        raise _refused(pod, f'pod rejected: RuntimeClass "{name}" not found')
    runtime: Object = {} if entry is None else entry.object
    overhead: Object = nested(runtime, "overhead", "podFixed", default={})
    if spec.get("overhead", overhead) != overhead:
        why = (
            "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            if overhead
            else "Pod Overhead set without corresponding RuntimeClass defined Overhead"
        )
        raise _refused(pod, f"pod rejected: {why}")
    if overhead:
        spec["overhead"] = dict(overhead)
    wanted: dict[str, str] = nested(runtime, "scheduling", "nodeSelector", default={})
    own: dict[str, str] = spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if own.get(key, value) != value:
            raise _refused(
                pod,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}",
            )
    if wanted:
        spec["nodeSelector"] = own | wanted
    tolerations: list[Object] = [*spec.get("tolerations", ())]
    for each in nested(runtime, "scheduling", "tolerations", default=[]):
        if each not in tolerations:
            tolerations.append(each)
    if tolerations:
        spec["tolerations"] = tolerations


def _resolve_priority(pod: Object, spec: Object, store: Store) -> None:
    name: str = spec.get("priorityClassName") or ""
    value, policy = 0, "PreemptLowerPriority"
    if name:
        entry = store.get(PRIORITY_CLASSES, "", name)
        if entry is None:
            raise _refused(pod, f"no PriorityClass with name {name} was found")
        value = entry.object["value"]
        policy = entry.object.get("preemptionPolicy", policy)
    else:
        chosen = [
            entry.object
            for entry in store.entries(PRIORITY_CLASSES)
            if entry.object.get("globalDefault")
        ]
        if chosen:
            lowest = min(chosen, key=lambda each: each["value"])
            spec["priorityClassName"] = lowest["metadata"]["name"]
            value, policy = lowest["value"], lowest.get("preemptionPolicy", policy)
    given = spec.get("priority")
    if given is not None and given != value:
        raise _refused(
            pod,
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name",
        )
    given_policy = spec.get("preemptionPolicy")
    if given_policy is not None and given_policy != policy:
        raise _refused(
            pod,
            f"the string value of PreemptionPolicy ({given_policy}) must not be provided in pod "
            f"spec; priority admission controller computed {policy} from the given "
            "PriorityClass name",
        )
    spec["priority"], spec["preemptionPolicy"] = value, policy


def _refused(pod: Object, why: str) -> ApiError:
    metadata = pod["metadata"]
    return forbidden(PODS, metadata.get("name") or metadata.get("generateName", ""), why)


def _give_service_account(pod: Object, spec: Object, store: Store, rng: random.Random) -> None:
    if "kubernetes.io/config.mirror" in nested(pod, "metadata", "annotations", default={}):
        return
    name = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    namespace: str = pod["metadata"]["namespace"]
    entry = store.get(SERVICE_ACCOUNTS, namespace, name)
    if entry is None:
        raise _refused(
            pod,
            f"error looking up service account {namespace}/{name}: "
            f'serviceaccount "{name}" not found',
        )
    wanted = spec.get("automountServiceAccountToken")
    if wanted is None:
        wanted = entry.object.get("automountServiceAccountToken", True)
    if not wanted:
        return
    bare = [
        each
        for each in [*spec.get("initContainers", ()), *spec.get("containers", ())]
        if all(mount["mountPath"] != TOKEN_PATH for mount in each.get("volumeMounts", ()))
    ]
    if not bare:
        return
    volume = f"kube-api-access-{random_suffix(rng)}"
    for container in bare:
        mounts = [*container.get("volumeMounts", ())]
        mounts.append({"name": volume, "readOnly": True, "mountPath": TOKEN_PATH})
        container["volumeMounts"] = mounts
    spec["volumes"] = [*spec.get("volumes", ()), {"name": volume, "projected": _token_volume()}]


def _token_volume() -> Object:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
        "defaultMode": 420,
    }


def tolerate_failures(spec: Object) -> None:
    """Let a pod stay five minutes on a node that fails, unless it says otherwise."""
    tolerations: list[Object] = [*spec.get("tolerations", ())]
    for key in TOLERATED:
        if not any(
            each.get("key") in (key, None, "") and each.get("effect") in ("NoExecute", None, "")
            for each in tolerations
        ):
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
            )
    spec["tolerations"] = tolerations


def quality(spec: Object) -> str:
    """The pod's quality of service class, from what its containers ask for and are limited to."""
    if isinstance(spec.get("resources"), dict) and spec["resources"]:
        holders = [spec["resources"]]
    else:
        holders = [
            each.get("resources") or {}
            for each in [*spec.get("initContainers", ()), *spec.get("containers", ())]
        ]
    some, guaranteed = False, True
    for holder in holders:
        requests: dict[str, str] = holder.get("requests") or {}
        limits: dict[str, str] = holder.get("limits") or {}
        for name in ("cpu", "memory"):
            request, limit = amount(requests.get(name, "0")), amount(limits.get(name, "0"))
            some = some or bool(request) or bool(limit)
            guaranteed = guaranteed and bool(limit) and request == limit
    if not some:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def admit_claim(claim: Object, store: Store) -> None:
    """Give a new claim the newest default storage class where it names none."""
    spec: Object = claim["spec"]
    annotations = nested(claim, "metadata", "annotations", default={})
    if "storageClassName" in spec or "volume.beta.kubernetes.io/storage-class" in annotations:
        return
    defaults = [
        entry.object
        for entry in store.entries(STORAGE_CLASSES)
        if nested(entry.object, "metadata", "annotations", DEFAULT_CLASS) == "true"
    ]
    if defaults:
        newest = max(
            defaults,
            key=lambda each: (each["metadata"]["creationTimestamp"], each["metadata"]["name"]),
        )
        spec["storageClassName"] = newest["metadata"]["name"]


def must_be_creatable(namespace: str, found: Object | None) -> None:
    """Refuse new objects in a namespace that is not there or is going away."""
    namespaces = BY_PATH["", "v1", "namespaces"]
    if found is None:
        raise failure(
            404,
            "NotFound",
            f'namespaces "{namespace}" not found',
            {"name": namespace, "kind": namespaces.plural},
        )


def select_by_controller_uid(job: Object) -> None:
    """Give a new Job the selector and the template labels that tell its pods from all others."""
    spec: Object = job["spec"]
    if spec.get("manualSelector"):
        return
    uid, name = job["metadata"]["uid"], job["metadata"]["name"]
    template: Object = spec["template"].setdefault("metadata", {})
    labels: dict[str, str] = template.setdefault("labels", {})
    bare = not nested(job, "metadata", "labels")
    labels |= {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    if bare:
        job["metadata"]["labels"] = dict(labels)
    selector: Object = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {})["batch.kubernetes.io/controller-uid"] = uid


def give_cluster_ip(service: Object, store: Store) -> None:
    """Take the next free address of 10.0.0.0/16 for a Service that wants one."""
    spec: Object = service["spec"]
    if spec["type"] == "ExternalName":
        return
    services = BY_PATH["", "v1", "services"]
    if not spec.get("clusterIP"):
        taken = {nested(each.object, "spec", "clusterIP") for each in store.entries(services)}
        number = next(n for n in range(1, 2**16 - 1) if f"10.0.{n >> 8}.{n & 255}" not in taken)
        spec["clusterIP"] = f"10.0.{number >> 8}.{number & 255}"
    spec["clusterIPs"] = [spec["clusterIP"]]


def protect(stored_as: str, value: Object) -> None:
    """Give a new claim or volume the finalizer that keeps it while it is used."""
    finalizers: list[str] = value["metadata"].setdefault("finalizers", [])
    if PROTECTION[stored_as] not in finalizers:
        finalizers.append(PROTECTION[stored_as])
