"""Defaults that the API server fills in before it validates and stores an object.

The functions change a freshly decoded object in place.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.lab.objects import Object, nested

NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def set_defaults(stored_as: str, value: Object) -> None:
    """Fill in what the kind leaves open."""
    default = DEFAULTS.get(stored_as)
    if default is not None:
        default(value)


def _fill(value: Object, /, **defaults: object) -> None:
    for name, default in defaults.items():
        if value.get(name) in (None, ""):
            value[name] = default


def pod_spec_defaults(spec: Object) -> None:
    """The defaults of a pod's spec, alone or in a template."""
    _fill(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if spec.get("serviceAccountName"):
        _fill(spec, serviceAccount=spec["serviceAccountName"])
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    for container in [*spec.get("initContainers", ()), *spec.get("containers", ())]:
        _container_defaults(container, bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes", ()):
        _volume_defaults(volume)
    if isinstance(spec.get("resources"), dict):
        _requests_from_limits(spec["resources"])


def _container_defaults(container: Object, host_network: bool) -> None:
    image: str = container.get("image", "")
    tag = image.rsplit("/", 1)[-1].partition("@")
    newest = not tag[1] and (":" not in tag[0] or tag[0].endswith(":latest"))
    _fill(
        container,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy="Always" if newest else "IfNotPresent",
    )
    for port in container.get("ports", ()):
        _fill(port, protocol="TCP")
        if host_network and not port.get("hostPort") and "containerPort" in port:
            port["hostPort"] = port["containerPort"]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(container.get(probe), dict):
            _probe_defaults(container[probe])
    for variable in container.get("env", ()):
        reference = nested(variable, "valueFrom", "fieldRef")
        if reference is not None:
            _fill(reference, apiVersion="v1")
    _requests_from_limits(container["resources"])


def _probe_defaults(probe: Object) -> None:
    _fill(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    if isinstance(probe.get("httpGet"), dict):
        _fill(probe["httpGet"], path="/", scheme="HTTP")


def _requests_from_limits(resources: Object) -> None:
    limits: dict[str, str] = resources.get("limits") or {}
    if limits:
        resources["requests"] = limits | (resources.get("requests") or {})


def _volume_defaults(volume: Object) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
    for source in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(volume.get(source), dict):
            _fill(volume[source], defaultMode=420)
    for source in nested(volume, "projected", "sources", default=[]):
        if isinstance(source.get("serviceAccountToken"), dict):
            _fill(source["serviceAccountToken"], expirationSeconds=3600)
    if isinstance(volume.get("hostPath"), dict):
        _fill(volume["hostPath"], type="")
    template = nested(volume, "ephemeral", "volumeClaimTemplate", "spec")
    if template is not None:
        volume["ephemeral"]["volumeClaimTemplate"].setdefault("metadata", {})
        template.setdefault("resources", {})
        _fill(template, volumeMode="Filesystem")


def _template_defaults(value: Object) -> None:
    template = value.setdefault("spec", {}).setdefault("template", {})
    template.setdefault("metadata", {})
    pod_spec_defaults(template.setdefault("spec", {}))


def _pod(value: Object) -> None:
    spec = value.setdefault("spec", {})
    pod_spec_defaults(spec)
    _fill(spec, enableServiceLinks=True)
    for condition in nested(value, "status", "conditions", default=[]):
        for name in ("lastProbeTime", "lastTransitionTime"):
            condition.setdefault(name, None)


def _node(value: Object) -> None:
    value.setdefault("spec", {})
    status = value.setdefault("status", {})
    capacity: dict[str, str] = status.get("capacity") or {}
    if capacity:
        status["allocatable"] = capacity | (status.get("allocatable") or {})
    for condition in status.get("conditions", ()):
        for name in ("lastHeartbeatTime", "lastTransitionTime"):
            condition.setdefault(name, None)
    status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 0}} | status.get("daemonEndpoints", {})
    status["nodeInfo"] = dict.fromkeys(NODE_INFO, "") | status.get("nodeInfo", {})


def _namespace(value: Object) -> None:
    value.setdefault("metadata", {}).setdefault("labels", {})["kubernetes.io/metadata.name"] = (
        value["metadata"].get("name", "")
    )
    _fill(value.setdefault("status", {}), phase="Active")


def _replicas(value: Object) -> None:
    _template_defaults(value)
    _fill(value["spec"], replicas=1)


def _replication_controller(value: Object) -> None:
    _replicas(value)
    labels = nested(value, "spec", "template", "metadata", "labels")
    if labels:
        _fill(value["spec"], selector=dict(labels))
        if not nested(value, "metadata", "labels"):
            value["metadata"]["labels"] = dict(labels)


def _deployment(value: Object) -> None:
    _template_defaults(value)
    spec = value["spec"]
    _fill(spec, replicas=1, strategy={}, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    _fill(spec["strategy"], type="RollingUpdate")
    if spec["strategy"]["type"] == "RollingUpdate":
        _fill(spec["strategy"], rollingUpdate={})
        _fill(spec["strategy"]["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")


def _stateful_set(value: Object) -> None:
    _template_defaults(value)
    spec = value["spec"]
    _fill(
        spec,
        replicas=1,
        podManagementPolicy="OrderedReady",
        revisionHistoryLimit=10,
        updateStrategy={"type": "RollingUpdate"},
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"},
    )
    if spec["updateStrategy"].get("type") == "RollingUpdate":
        _fill(spec["updateStrategy"], rollingUpdate={"partition": 0})


def _job(value: Object) -> None:
    _template_defaults(value)
    spec = value["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        _fill(spec, completions=1)
    _fill(
        spec,
        parallelism=1,
        backoffLimit=6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed",
        manualSelector=False,
    )


def _service(value: Object) -> None:
    spec = value.setdefault("spec", {})
    _fill(spec, type="ClusterIP", sessionAffinity="None")
    if spec["type"] != "ExternalName":
        _fill(spec, internalTrafficPolicy="Cluster", ipFamilies=["IPv4"])
        _fill(spec, ipFamilyPolicy="SingleStack")
    for port in spec.get("ports", ()):
        _fill(port, protocol="TCP")
        if "port" in port:
            _fill(port, targetPort=port["port"])
    value["status"] = {"loadBalancer": {}} | (value.get("status") or {})


def _claim(value: Object) -> None:
    _fill(value.setdefault("spec", {}), volumeMode="Filesystem")
    value["spec"].setdefault("resources", {})
    _fill(value.setdefault("status", {}), phase="Pending")


def _volume(value: Object) -> None:
    spec = value.setdefault("spec", {})
    if isinstance(spec.get("hostPath"), dict):
        _fill(spec["hostPath"], type="")
    _fill(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    _fill(value.setdefault("status", {}), phase="Pending")


def _storage_class(value: Object) -> None:
    _fill(value, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _csi_driver(value: Object) -> None:
    _fill(
        value.setdefault("spec", {}),
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    )


def _csi_node(value: Object) -> None:
    for driver in value.setdefault("spec", {}).setdefault("drivers", []):
        driver.setdefault("topologyKeys", None)


def _priority_class(value: Object) -> None:
    _fill(value, preemptionPolicy="PreemptLowerPriority", value=0)


def _device_requests(devices: Object) -> None:
    for request in devices.get("requests", ()):
        for exact in [request.get("exactly"), *request.get("firstAvailable", ())]:
            if isinstance(exact, dict):
                _fill(exact, allocationMode="ExactCount")
                if exact["allocationMode"] == "ExactCount":
                    _fill(exact, count=1)
    for request in devices.get("requests", ()):
        for exact in [request.get("exactly"), *request.get("firstAvailable", ())]:
            for toleration in (exact or {}).get("tolerations", ()):
                _fill(toleration, operator="Equal")


def _resource_claim(value: Object) -> None:
    _device_requests(value.setdefault("spec", {}).setdefault("devices", {}))
    value.setdefault("status", {})


def _resource_claim_template(value: Object) -> None:
    spec = value.setdefault("spec", {})
    spec.setdefault("metadata", {})
    _device_requests(spec.setdefault("spec", {}).setdefault("devices", {}))


def _event(value: Object) -> None:
    value.setdefault("involvedObject", {})
    value.setdefault("source", {})
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        value.setdefault(name, None)
    for name in ("reportingComponent", "reportingInstance"):
        value.setdefault(name, "")


def _budget(value: Object) -> None:
    counts = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    value["status"] = dict.fromkeys(counts, 0) | (value.get("status") or {})


DEFAULTS: dict[str, Callable[[Object], None]] = {
    "pods": _pod,
    "nodes": _node,
    "namespaces": _namespace,
    "services": _service,
    "events": _event,
    "persistentvolumes": _volume,
    "persistentvolumeclaims": _claim,
    "replicationcontrollers": _replication_controller,
    "replicasets.apps": _replicas,
    "deployments.apps": _deployment,
    "statefulsets.apps": _stateful_set,
    "jobs.batch": _job,
    "poddisruptionbudgets.policy": _budget,
    "storageclasses.storage.k8s.io": _storage_class,
    "csidrivers.storage.k8s.io": _csi_driver,
    "csinodes.storage.k8s.io": _csi_node,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "resourceclaims.resource.k8s.io": _resource_claim,
    "resourceclaimtemplates.resource.k8s.io": _resource_claim_template,
}
