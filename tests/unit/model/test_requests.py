"""Effective requests, case by case."""

from typing import Any

import msgspec
import pytest

from fairlead.model.decode import decode_pod
from fairlead.model.podinfo import PodInfo, PodInfos, Resources

MIB = 1024 * 1024


def info(spec: dict[str, Any], status: dict[str, Any] | None = None) -> PodInfo:
    pod = {"metadata": {"name": "p", "namespace": "d"}, "spec": spec, "status": status or {}}
    return PodInfos().of(decode_pod(msgspec.json.encode(pod)))


def container(requests: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests or {}}, **more}


def sidecar(requests: dict[str, str]) -> dict[str, Any]:
    return container(requests, name="s", restartPolicy="Always")


def test_containers_add_up_exactly_before_they_are_rounded() -> None:
    pod = info({"containers": [container({"cpu": "500u"}), container({"cpu": "500u"})]})
    assert pod.request.cpu == 1
    assert pod.container_count == 2


def test_init_containers_run_alone_and_sidecars_keep_running() -> None:
    pod = info(
        {
            "containers": [container({"cpu": "1"})],
            "initContainers": [
                container({"cpu": "2"}),
                sidecar({"cpu": "500m"}),
                container({"cpu": "1200m", "memory": "1Mi"}),
            ],
        }
    )
    # together 1.5, first 2.0, the sidecar 0.5, last 1.2 + 0.5
    assert pod.request == Resources(2000, MIB)
    assert pod.placed_request is pod.balanced_request
    assert pod.placed_request == pod.request


def test_pod_level_requests_replace_the_sum_and_overhead_comes_on_top() -> None:
    pod = info(
        {
            "containers": [container({"cpu": "3", "example.com/gpu": "1"})],
            "resources": {"requests": {"cpu": "2", "storage": "5", "hugepages-2Mi": "2Mi"}},
            "overhead": {"cpu": "100m", "memory": "1Mi"},
        }
    )
    scalars = (("example.com/gpu", 1), ("hugepages-2Mi", 2 * MIB))
    assert pod.request == Resources(2100, MIB, 0, scalars)
    assert pod.score_request == Resources(3100, 201 * MIB, 0, (("example.com/gpu", 1),))
    # memory is requested by the overhead, so that no default counts for it
    assert pod.placed_nonzero == (2100, MIB)


def test_defaults_count_for_each_container_that_does_not_name_the_resource() -> None:
    pod = info({"containers": [container({"cpu": "0"}), container(), container({"memory": "1"})]})
    assert pod.request == Resources(0, 1)
    assert pod.score_request == Resources(200, 400 * MIB + 1)
    assert pod.placed_nonzero == (200, 400 * MIB + 1)


def test_with_pod_level_requests_a_default_counts_only_for_what_the_pod_does_not_name() -> None:
    level = {"requests": {"cpu": "1"}}
    pod = info({"containers": [container(), container()], "resources": level})
    assert pod.placed_nonzero == (1000, 400 * MIB)
    assert pod.score_request == Resources(200, 400 * MIB)


def test_entries_of_zero_stay_and_unknown_names_go() -> None:
    pod = info({"containers": [container({"example.com/gpu": "0", "storage": "1"})]})
    assert pod.request.scalars == (("example.com/gpu", 0),)


RESIZED = {
    "containerStatuses": [
        {"name": "c", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}
    ]
}


def test_while_a_pod_is_resized_the_larger_amounts_count_where_it_is() -> None:
    pod = info({"containers": [container({"cpu": "1", "memory": "5"})]}, RESIZED)
    assert pod.request == Resources(1000, 5)
    assert pod.placed_request == Resources(3000, 5)
    assert pod.placed_nonzero == (3000, 5)
    assert pod.balanced_request is pod.placed_request


def test_a_resize_that_can_never_be_counts_for_nothing() -> None:
    status = {"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}], **RESIZED}
    pod = info({"containers": [container({"cpu": "9", "memory": "5"})]}, status)
    assert pod.placed_request == Resources(3000, 0)
    assert pod.placed_nonzero == (3000, 200 * MIB)
    deferred = {"conditions": [{"type": "PodResizePending", "reason": "Deferred"}], **RESIZED}
    pod = info({"containers": [container({"cpu": "9", "memory": "5"})]}, deferred)
    assert pod.placed_request == Resources(9000, 5)


def test_the_status_of_an_init_container_counts_only_for_a_sidecar() -> None:
    held = {"name": "s", "resources": {"requests": {"cpu": "4"}}}
    spec = {"containers": [container()], "initContainers": [sidecar({"cpu": "1"})]}
    assert info(spec, {"initContainerStatuses": [held]}).placed_request.cpu == 4000
    spec["initContainers"] = [container({"cpu": "1"}, name="s")]
    assert info(spec, {"initContainerStatuses": [held]}).placed_request.cpu == 1000


def test_pod_level_amounts_are_resized_too() -> None:
    spec = {"containers": [container()], "resources": {"requests": {"cpu": "1", "memory": "7"}}}
    status: dict[str, Any] = {
        "resources": {"requests": {"cpu": "2"}},
        "allocatedResources": {"cpu": "1500m"},
    }
    assert info(spec, status).placed_request == Resources(2000, 7)
    status["conditions"] = [{"type": "PodResizePending", "reason": "Infeasible"}]
    assert info(spec, status).placed_request == Resources(2000, 0)


def test_containers_of_one_shape_and_other_names_are_told_apart_by_their_status() -> None:
    infos = PodInfos()

    def of(name: str) -> PodInfo:
        spec = {"containers": [container({"cpu": "1"}, name=name)]}
        held = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
        pod = {"spec": spec, "status": {"containerStatuses": [held]}}
        return infos.of(decode_pod(msgspec.json.encode(pod)))

    assert of("c").placed_request.cpu == 2000
    assert of("other").placed_request.cpu == 1000


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "c"}]},
        {"containers": [{"name": "c", "resources": None}]},
        {"containers": [{"name": "c", "resources": {"requests": None}}]},
        {"containers": [{"name": "c", "resources": {"requests": {"cpu": None}}}]},
        {"containers": None},
    ],
)
def test_what_is_absent_or_null_requests_nothing(spec: dict[str, Any]) -> None:
    assert info(spec).request == Resources()
