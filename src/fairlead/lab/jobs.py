"""Jobs run pods to completion, a number of them at a time.

Every pod carries a finalizer until the Job has counted it, so that no result is lost with a pod
that is deleted early.
"""

from __future__ import annotations

from fairlead.lab.binding import with_condition
from fairlead.lab.deletion import DeleteOptions, with_finalizers
from fairlead.lab.objects import Object, nested, timestamp, with_value
from fairlead.lab.owners import Owners
from fairlead.lab.registry import Registry
from fairlead.lab.resources import BY_PATH
from fairlead.lab.store import Entry, Key
from fairlead.lab.workloads import (
    ENDED,
    PODS,
    create_pods,
    first_to_go,
    is_active,
    is_ready,
    pod_from_template,
    pods_of,
)

JOBS = BY_PATH["batch", "v1", "jobs"]
TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"


def release_pods(registry: Registry, owners: Owners, uid: str) -> None:
    """Let go of the pods of a Job that is gone, which nobody will count."""
    for entry in pods_of(owners, uid):
        finalizers: list[str] = nested(entry.object, "metadata", "finalizers", default=[])
        if TRACKING in finalizers:
            kept = [each for each in finalizers if each != TRACKING]
            registry.replace(PODS, entry, with_finalizers(entry.object, kept))


def reconcile(registry: Registry, owners: Owners, key: Key) -> None:
    """Count the pods that have ended, make those that are missing, and say when all is done."""
    entry = registry.store.get(JOBS, *key)
    if entry is None:
        return
    job = entry.object
    uid: str = job["metadata"]["uid"]
    status: Object = dict(job.get("status") or {})
    _count_ended(registry, pods_of(owners, uid), status, _is_indexed(job))
    finished = _finished(job)
    if not finished and "deletionTimestamp" not in job["metadata"]:
        _suspend(job, status, registry.now())
        verdict = _verdict(job, status)
        if verdict:
            status["conditions"] = _closing(status, verdict, registry.now())
        if verdict or job["spec"].get("suspend"):
            _stop(registry, pods_of(owners, uid), len(pods_of(owners, uid)))
        else:
            _fill(registry, job, status, pods_of(owners, uid))
        if verdict == "Complete":
            status["completionTime"] = timestamp(registry.now())
    pods = [each.object for each in pods_of(owners, uid)]
    active = [each for each in pods if is_active(each)]
    counts = {
        "active": len(active),
        "ready": sum(1 for each in active if is_ready(each)),
        "terminating": sum(1 for each in pods if "deletionTimestamp" in each["metadata"]),
    }
    status |= {name: count for name, count in counts.items() if count or name != "active"}
    if not counts["active"]:
        status.pop("active", None)
    status.setdefault("uncountedTerminatedPods", {})
    newest = registry.store.get(JOBS, *key)
    if newest is not None:
        registry.replace(JOBS, newest, with_value(newest.object, ("status",), status))


def _suspend(job: Object, status: Object, now: float) -> None:
    """Say that a Job is suspended or goes on; its time starts when it first may run."""
    conditions: list[Object] = status.get("conditions") or []
    suspended = bool(job["spec"].get("suspend"))
    if suspended:
        status.pop("startTime", None)
        words = {"reason": "JobSuspended", "message": "Job suspended"}
        status["conditions"] = with_condition(conditions, "Suspended", "True", now, **words)
        return
    status.setdefault("startTime", timestamp(now))
    if any(each["type"] == "Suspended" for each in conditions):
        words = {"reason": "JobResumed", "message": "Job resumed"}
        status["conditions"] = with_condition(conditions, "Suspended", "False", now, **words)


def _is_indexed(job: Object) -> bool:
    return job["spec"].get("completionMode") == "Indexed"


def _finished(job: Object) -> bool:
    conditions: list[Object] = nested(job, "status", "conditions", default=[])
    return any(
        each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions
    )


def _count_ended(registry: Registry, pods: list[Entry], status: Object, indexed: bool) -> None:
    """Add the pods that have ended to the status, and let them go."""
    for entry in pods:
        pod = entry.object
        finalizers: list[str] = nested(pod, "metadata", "finalizers", default=[])
        phase = nested(pod, "status", "phase")
        leaving = "deletionTimestamp" in pod["metadata"]
        if TRACKING not in finalizers or not (leaving or phase in ENDED):
            continue
        field = "succeeded" if phase == "Succeeded" else "failed"
        status[field] = status.get(field, 0) + 1
        if indexed and field == "succeeded":
            index = int(nested(pod, "metadata", "annotations", INDEX, default="0"))
            done = indexes(status.get("completedIndexes", "")) | {index}
            status["completedIndexes"] = _ranges(done)
            status["succeeded"] = len(done)
        kept = [each for each in finalizers if each != TRACKING]
        registry.replace(PODS, entry, with_finalizers(pod, kept))


def indexes(text: str) -> set[int]:
    """The indexes that `completedIndexes` names, as in `0,2-4`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _ranges(found: set[int]) -> str:
    parts: list[str] = []
    for index in sorted(found):
        if index - 1 in found:
            head = parts[-1].partition("-")[0]
            parts[-1] = f"{head}-{index}"
        else:
            parts.append(str(index))
    return ",".join(parts)


def _verdict(job: Object, status: Object) -> str:
    wanted: int | None = job["spec"].get("completions")
    if status.get("failed", 0) > job["spec"].get("backoffLimit", 6):
        return "Failed"
    if wanted is None:
        return "Complete" if status.get("succeeded", 0) else ""
    return "Complete" if status.get("succeeded", 0) >= wanted else ""


def _closing(status: Object, verdict: str, now: float) -> list[Object]:
    conditions: list[Object] = status.get("conditions") or []
    if verdict == "Complete":
        words = {
            "reason": "CompletionsReached",
            "message": "Reached expected number of succeeded pods",
        }
        first = "SuccessCriteriaMet"
    else:
        words = {
            "reason": "BackoffLimitExceeded",
            "message": "Job has reached the specified backoff limit",
        }
        first = "FailureTarget"
    conditions = with_condition(conditions, first, "True", now, **words)
    return with_condition(conditions, verdict, "True", now, **words)


def _stop(registry: Registry, pods: list[Entry], most: int) -> None:
    active = [each for each in pods if is_active(each.object)]
    for each in first_to_go(active)[:most]:
        metadata: Object = each.object["metadata"]
        registry.delete(PODS, metadata["namespace"], metadata["name"], DeleteOptions())


def _fill(registry: Registry, job: Object, status: Object, pods: list[Entry]) -> None:
    """Make the pods that may run beside those that do, or take away those that are too many."""
    spec: Object = job["spec"]
    running = [each.object for each in pods if is_active(each.object)]
    wanted: int = spec.get("parallelism", 1)
    if spec.get("completions") is not None:
        wanted = min(wanted, spec["completions"] - status.get("succeeded", 0))
    elif status.get("succeeded", 0):
        wanted = 0
    missing = wanted - len(running)
    if missing < 0:
        _stop(registry, pods, -missing)
        return
    new = [pod_from_template(JOBS, job) for _ in range(missing)]
    for pod in new:
        pod["metadata"].setdefault("finalizers", []).append(TRACKING)
    if _is_indexed(job):
        taken = indexes(status.get("completedIndexes", ""))
        taken |= {int(nested(each, "metadata", "annotations", INDEX)) for each in running}
        free = [each for each in range(spec.get("completions") or 0) if each not in taken]
        for pod, index in zip(new, free, strict=False):
            _give_index(job, pod, index)
        new = new[: len(free)]
    create_pods(registry, job["metadata"]["namespace"], new)


def _give_index(job: Object, pod: Object, index: int) -> None:
    name: str = job["metadata"]["name"]
    metadata: Object = pod["metadata"]
    metadata["generateName"] = f"{name}-{index}-"
    for part in ("annotations", "labels"):
        metadata.setdefault(part, {})[INDEX] = str(index)
    pod["spec"].setdefault("hostname", f"{name}-{index}")
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in pod["spec"].get("containers", ()):
        variables: list[Object] = container.setdefault("env", [])
        variables.append({"name": "JOB_COMPLETION_INDEX", "valueFrom": source})
