"""Where objects live."""

import pytest

from fairlead.kube.resource import EVENTS, NODES, PODS


def test_paths() -> None:
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path("ns") == "/api/v1/namespaces/ns/pods"
    assert PODS.path("ns", "p", "binding") == "/api/v1/namespaces/ns/pods/p/binding"
    assert NODES.path(None, "n") == "/api/v1/nodes/n"
    assert NODES.path("ignored", "n") == "/api/v1/nodes/n"
    assert EVENTS.path("ns") == "/apis/events.k8s.io/v1/namespaces/ns/events"


def test_names_cannot_leave_their_place() -> None:
    assert PODS.path("a/b", "c?d e") == "/api/v1/namespaces/a%2Fb/pods/c%3Fd%20e"
    with pytest.raises(ValueError, match="is no name"):
        PODS.path("..", "p")


def test_an_object_of_no_namespace_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="Pod 'p' needs a namespace"):
        PODS.path(None, "p")


def test_what_a_resource_is_called() -> None:
    assert (str(PODS), PODS.api_version) == ("pods", "v1")
    assert (str(EVENTS), EVENTS.api_version) == ("events.events.k8s.io", "events.k8s.io/v1")
