"""Discovery, tables and durations: what kubectl asks before it shows anything."""

from __future__ import annotations

import pytest

from fairlead.lab.cluster import Cluster
from fairlead.lab.durations import human
from fairlead.lab.resources import RESOURCES
from fairlead.lab.schema import schema
from tests.unit.lab.objects import ask, bind, pod

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def test_both_forms_of_discovery_name_every_resource() -> None:
    cluster = Cluster()
    served = {(each.group, each.plural) for each in RESOURCES}
    aggregated = {
        (group["metadata"].get("name", ""), resource["resource"])
        for path in ("/api", "/apis")
        for group in ask(cluster, "GET", path, accept=AGGREGATED)[1]["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }
    assert aggregated == served
    _, groups = ask(cluster, "GET", "/apis")
    paths = {"": "/api/v1"} | {
        each["name"]: "/apis/" + each["preferredVersion"]["groupVersion"]
        for each in groups["groups"]
    }
    listed = {
        (group, resource["name"])
        for group, path in paths.items()
        for resource in ask(cluster, "GET", path)[1]["resources"]
        if "/" not in resource["name"]
    }
    assert listed == served


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each.qualified)
def test_every_resource_has_its_types(resource: object) -> None:
    from fairlead.lab.resources import Resource

    assert isinstance(resource, Resource)
    assert "metadata" in schema().of(resource)


def test_every_type_that_a_field_names_is_there() -> None:
    scalars = {
        "string", "boolean", "int32", "int64", "quantity",
        "time", "microtime", "intstr", "bytes", "any",
    }  # fmt: skip
    types = schema().types
    lost = {
        field.element
        for fields in types.values()
        for field in fields.values()
        if field.element not in types and field.element not in scalars
    }
    assert not lost


def test_a_document_of_openapi_lets_the_server_validate() -> None:
    cluster = Cluster()
    _, index = ask(cluster, "GET", "/openapi/v3")
    _, document = ask(cluster, "GET", index["paths"]["api/v1"]["serverRelativeURL"])
    path = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    names = [each["name"] for each in path["patch"]["parameters"]]
    assert "fieldValidation" in names
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    assert path["patch"]["x-kubernetes-group-version-kind"] == kind


def test_pods_are_shown_as_kubectl_prints_them() -> None:
    cluster = Cluster(nodes=1)
    cluster.create(pod("a"))
    bind(cluster, "a", "node-1")
    cluster.delete("pods", "a")
    cluster.create(pod("b", schedulingGates=[{"name": "g"}]))
    _, table = ask(cluster, "GET", "/api/v1/namespaces/default/pods", accept=TABLE)
    names = [each["name"] for each in table["columnDefinitions"] if not each["priority"]]
    assert names == ["Name", "Ready", "Status", "Restarts", "Age"]
    rows = [row["cells"][:4] for row in table["rows"]]
    assert rows == [["a", "0/1", "Terminating", "0"], ["b", "0/1", "SchedulingGated", "0"]]
    assert table["rows"][0]["object"]["metadata"]["namespace"] == "default"


def test_every_resource_has_as_many_cells_as_columns() -> None:
    cluster = Cluster(nodes=1)
    for path in ("/api/v1/nodes", "/api/v1/namespaces", "/api/v1/services"):
        _, table = ask(cluster, "GET", path, accept=TABLE)
        assert table["rows"]
        for row in table["rows"]:
            assert len(row["cells"]) == len(table["columnDefinitions"])


def test_a_representation_that_nobody_has_is_not_acceptable() -> None:
    code, status = ask(Cluster(), "GET", "/api/v1/nodes", accept="application/cbor")
    assert (code, status["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (3599, "59m"),
        (10_800, "3h"),
        (12_000, "3h20m"),
        (86_400, "24h"),
        (180_000, "2d2h"),
        (864_000, "10d"),
        (86_400 * 800, "2y70d"),
        (86_400 * 4000, "10y"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert human(seconds) == text
