"""Metrics: the text that is scraped, parsed by the client library, says what was observed."""

import random

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fairlead.observe.metrics import TABLE, Kind, Metrics, attempts_label, exponential_buckets


def scraped(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def test_what_is_scraped_is_what_was_observed() -> None:
    seeded = random.Random(7)
    metrics = Metrics()
    expected: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for row in TABLE:
        labels = {label: f'{label} "\\\n' for label in row.labels}
        if row.kind is Kind.HISTOGRAM:
            values = [seeded.choice([*row.buckets, 0.0, 1e9, seeded.random()]) for _ in range(200)]
            histogram = metrics.histogram(row.name, *labels.values())
            for value in values:
                histogram.observe(value)
            for bound in (*row.buckets, float("inf")):
                below = sum(value <= bound for value in values)
                text = "+Inf" if bound == float("inf") else None
                expected[key(row.name + "_bucket", le=text or _le(bound), **labels)] = below
            expected[key(row.name + "_count", **labels)] = len(values)
            expected[key(row.name + "_sum", **labels)] = pytest.approx(sum(values))
        else:
            metrics.cell(row.name, *labels.values()).value += 17
            expected[key(row.name, **labels)] = 17
    own = {each: value for each, value in scraped(metrics).items() if "process_" not in each[0]}
    assert own == expected


def _le(bound: float) -> str:
    from prometheus_client.utils import floatToGoString

    return floatToGoString(bound)


def test_the_process_shows_its_own_cpu_and_memory() -> None:
    names = {name for name, _ in scraped(Metrics())}
    assert {"process_cpu_seconds_total", "process_resident_memory_bytes"} <= names


def test_supplied_values_are_asked_for_at_each_scrape() -> None:
    metrics = Metrics()
    pending = {("active",): 3, ("gated",): 1}
    metrics.supply("scheduler_pending_pods", lambda: pending)
    assert scraped(metrics)[key("scheduler_pending_pods", queue="active")] == 3
    pending["active",] = 5
    assert scraped(metrics)[key("scheduler_pending_pods", queue="active")] == 5
    assert scraped(metrics)[key("scheduler_pending_pods", queue="gated")] == 1


def test_a_metric_without_values_is_not_shown() -> None:
    metrics = Metrics()
    assert "scheduler_schedule_attempts_total" not in metrics.render().decode()
    metrics.cell("scheduler_schedule_attempts_total", "scheduled", "default-scheduler")
    assert (
        scraped(metrics)[
            key(
                "scheduler_schedule_attempts_total", result="scheduled", profile="default-scheduler"
            )
        ]
        == 0
    )


def test_the_same_labels_give_the_same_cell() -> None:
    metrics = Metrics()
    first = metrics.cell("scheduler_cache_size", "nodes")
    assert metrics.cell("scheduler_cache_size", "nodes") is first
    name = "scheduler_pod_scheduling_sli_duration_seconds"
    assert metrics.histogram(name, "1") is metrics.histogram(name, "1")
    assert metrics.histogram(name, "1") is not metrics.histogram(name, "2")


def test_a_wrong_number_of_labels_is_refused() -> None:
    metrics = Metrics()
    with pytest.raises(ValueError, match="scheduler_cache_size has the labels"):
        metrics.cell("scheduler_cache_size")
    with pytest.raises(ValueError, match="has the labels"):
        metrics.histogram("scheduler_scheduling_algorithm_duration_seconds", "extra")
    metrics.supply("scheduler_cache_size", lambda: {("nodes", "extra"): 1})
    with pytest.raises(ValueError, match="has the labels"):
        metrics.render()


# Names, types, labels and buckets of kube-scheduler 1.36.3 (pkg/scheduler/metrics), told again.
REFERENCE = {
    "schedule_attempts_total": (Kind.COUNTER, "result profile", None),
    "scheduling_attempt_duration_seconds": (Kind.HISTOGRAM, "result profile", (0.001, 2, 15)),
    "scheduling_algorithm_duration_seconds": (Kind.HISTOGRAM, "", (0.001, 2, 15)),
    "pod_scheduling_sli_duration_seconds": (Kind.HISTOGRAM, "attempts", (0.01, 2, 20)),
    "pod_scheduling_attempts": (Kind.HISTOGRAM, "", (1, 2, 5)),
    "preemption_victims": (Kind.HISTOGRAM, "", (1, 2, 7)),
    "preemption_attempts_total": (Kind.COUNTER, "", None),
    "preemption_goroutines_duration_seconds": (Kind.HISTOGRAM, "result", (0.01, 2, 20)),
    "preemption_goroutines_execution_total": (Kind.COUNTER, "result", None),
    "pending_pods": (Kind.GAUGE, "queue", None),
    "queue_incoming_pods_total": (Kind.COUNTER, "queue event", None),
    "unschedulable_pods": (Kind.GAUGE, "plugin profile", None),
    "cache_size": (Kind.GAUGE, "type", None),
}


def test_names_labels_and_buckets_are_kube_schedulers() -> None:
    ours = {row.name.removeprefix("scheduler_"): row for row in TABLE if "scheduler_" in row.name}
    assert ours.keys() == REFERENCE.keys()
    for name, (kind, labels, buckets) in REFERENCE.items():
        row = ours[name]
        assert (row.kind, row.labels) == (kind, tuple(labels.split()))
        if buckets is not None:
            start, factor, count = buckets
            assert row.buckets == pytest.approx([start * factor**i for i in range(count)])


def test_buckets_grow_by_repeated_multiplication() -> None:
    assert exponential_buckets(1, 2, 5) == (1, 2, 4, 8, 16)
    assert exponential_buckets(0.001, 2, 3) == (0.001, 0.002, 0.004)
    assert len(exponential_buckets(0.01, 2, 20)) == 20


def test_attempts_are_told_apart_up_to_fourteen() -> None:
    assert [attempts_label(n) for n in (1, 14, 15, 400)] == ["1", "14", "15+", "15+"]
