"""The features that a pod needs of its node, by the names that nodes declare them with.

Both follow from fields that never change in a pod, but a test server may let them: so they are
read anew with each version.
"""

from fairlead.model.pod import PodSpec

RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK = "UserNamespacesHostNetworkSupport"
RESTARTS_ALL = "RestartAllContainers"


def required_features(spec: PodSpec) -> tuple[str, ...]:
    """The names of the features, sorted; nearly every pod needs none."""
    needed: tuple[str, ...] = ()
    for container in (*spec.containers, *spec.init_containers):
        if any(rule.action == RESTARTS_ALL for rule in container.restart_policy_rules):
            needed = (RESTART_ALL_CONTAINERS,)
    if spec.host_network and spec.host_users is False:
        needed = (*needed, USER_NAMESPACES_HOST_NETWORK)
    return needed
