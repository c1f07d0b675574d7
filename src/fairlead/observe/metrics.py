"""Every metric of the product in one table, kube-scheduler's names first.

On the path of a pod a metric is a cell: an integer to add to, a histogram's list of counts. Callers
keep the cells they use. The client library sees them only when somebody scrapes. Sizes that others
keep anyway are not copied here at all: they are asked for at the scrape (`supply`).

Names, labels and buckets of the first part are kube-scheduler's and never change with us.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family


class Kind(Enum):
    """What a metric counts: ever upwards, a size that varies, or the spread of values."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """One row of the table."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Bucket bounds that grow by a factor, made by repeated multiplication as the reference does.

    Powers would give other last digits, and with them other `le` labels.
    """
    bounds: list[float] = []
    for _ in range(count):
        bounds.append(start)
        start *= factor
    return tuple(bounds)


_MILLISECONDS = exponential_buckets(0.001, 2, 15)

TABLE: tuple[Metric, ...] = (
    Metric(
        "scheduler_schedule_attempts_total",
        Kind.COUNTER,
        "Attempts to schedule a pod, by result: scheduled, unschedulable (nowhere to place it) or "
        "error (a problem of the scheduler itself).",
        ("result", "profile"),
    ),
    Metric(
        "scheduler_scheduling_attempt_duration_seconds",
        Kind.HISTOGRAM,
        "Duration of an attempt: the decision and, if one was made, the binding.",
        ("result", "profile"),
        _MILLISECONDS,
    ),
    Metric(
        "scheduler_scheduling_algorithm_duration_seconds",
        Kind.HISTOGRAM,
        "Duration of the decision alone.",
        (),
        _MILLISECONDS,
    ),
    Metric(
        "scheduler_pod_scheduling_sli_duration_seconds",
        Kind.HISTOGRAM,
        "Time from a pod's first entry into the active queue to its binding, over all attempts.",
        ("attempts",),
        exponential_buckets(0.01, 2, 20),
    ),
    Metric(
        "scheduler_pod_scheduling_attempts",
        Kind.HISTOGRAM,
        "Attempts that it took to schedule a pod.",
        (),
        exponential_buckets(1, 2, 5),
    ),
    Metric(
        "scheduler_preemption_victims",
        Kind.HISTOGRAM,
        "Pods that were chosen to make room for one more important pod.",
        (),
        exponential_buckets(1, 2, 7),
    ),
    Metric(
        "scheduler_preemption_attempts_total",
        Kind.COUNTER,
        "Attempts to make room for a pod.",
    ),
    Metric(
        "scheduler_preemption_goroutines_duration_seconds",
        Kind.HISTOGRAM,
        "Duration of telling all victims of one pod to go, by result: success or error.",
        ("result",),
        exponential_buckets(0.01, 2, 20),
    ),
    Metric(
        "scheduler_preemption_goroutines_execution_total",
        Kind.COUNTER,
        "How often the victims of a pod were told to go, by result: success or error.",
        ("result",),
    ),
    Metric(
        "scheduler_pending_pods",
        Kind.GAUGE,
        "Pods that wait, by queue: active, backoff, unschedulable (tried and refused) or gated "
        "(never tried).",
        ("queue",),
    ),
    Metric(
        "scheduler_queue_incoming_pods_total",
        Kind.COUNTER,
        "Pods that entered a queue, by queue and by what brought them there.",
        ("queue", "event"),
    ),
    Metric(
        "scheduler_unschedulable_pods",
        Kind.GAUGE,
        "Queued pods by each plugin that rejected them; a pod counts once for each of these.",
        ("plugin", "profile"),
    ),
    Metric(
        "scheduler_cache_size",
        Kind.GAUGE,
        "Nodes, pods and assumed pods that the scheduler keeps.",
        ("type",),
    ),
    Metric(
        "fairlead_kept_answers_total",
        Kind.COUNTER,
        "Kept answers that were asked for, by outcome: hit (as it was), repair (some rows made "
        "anew) or rebuild (all rows).",
        ("outcome",),
    ),
    Metric(
        "fairlead_kept_answer_mismatches_total",
        Kind.COUNTER,
        "Kept answers that differed from the answer computed afresh. Anything but 0 is a bug.",
    ),
    Metric("fairlead_kept_answer_bytes", Kind.GAUGE, "Memory of all kept answers."),
    Metric(
        "fairlead_events_dropped_total",
        Kind.COUNTER,
        "Kubernetes events that were not posted, by reason.",
        ("reason",),
    ),
    Metric(
        "fairlead_decode_errors_total",
        Kind.COUNTER,
        "Objects from the API server that could not be read, by resource.",
        ("resource",),
    ),
)

_UNKNOWN_LABELS = "metric {} has the labels {}, not {}"


class Cell:
    """One counter or gauge: add to its `value`, or set it."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0


class Histogram:
    """One histogram: counts by bucket, not yet cumulative, and the sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value in the first bucket that is not smaller than it."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


Values = Mapping[tuple[str, ...], float]


def attempts_label(attempts: int) -> str:
    """The `attempts` label: the number itself up to 14, then `15+`."""
    return str(attempts) if attempts < 15 else "15+"


class Metrics:
    """The cells of one scheduler; label values are given in the order of the table."""

    __slots__ = ("_cells", "_histograms", "_suppliers", "_table")

    def __init__(self, table: tuple[Metric, ...] = TABLE) -> None:
        self._table = {metric.name: metric for metric in table}
        self._cells: dict[str, dict[tuple[str, ...], Cell]] = {}
        self._histograms: dict[str, dict[tuple[str, ...], Histogram]] = {}
        self._suppliers: dict[str, Callable[[], Values]] = {}
        for metric in table:
            if metric.kind is Kind.HISTOGRAM:
                self._histograms[metric.name] = {}
            else:
                self._cells[metric.name] = {}

    def cell(self, name: str, *labels: str) -> Cell:
        """The counter or gauge with these label values; always the same object."""
        cells = self._cells[name]
        cell = cells.get(labels)
        if cell is None:
            self._check(name, labels)
            cell = cells[labels] = Cell()
        return cell

    def histogram(self, name: str, *labels: str) -> Histogram:
        """The histogram with these label values; always the same object."""
        histograms = self._histograms[name]
        histogram = histograms.get(labels)
        if histogram is None:
            self._check(name, labels)
            histogram = histograms[labels] = Histogram(self._table[name].buckets)
        return histogram

    def supply(self, name: str, values: Callable[[], Values]) -> None:
        """Ask for a counter's or gauge's values, by label values, whenever somebody scrapes."""
        assert name in self._cells
        self._suppliers[name] = values

    def render(self) -> bytes:
        """All metrics in Prometheus' text format, with the process' own CPU and memory."""
        from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Scrape(self))
        ProcessCollector(registry=registry)
        return generate_latest(registry)

    def families(self) -> "Iterator[Family]":
        """The metrics as the client library wants them; one that has no values yet is left out."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        for name, metric in self._table.items():
            if metric.kind is Kind.HISTOGRAM:
                spread = HistogramMetricFamily(name, metric.help, labels=metric.labels)
                for labels, histogram in self._histograms[name].items():
                    spread.add_metric(labels, _cumulative(histogram), histogram.sum)
                family: Family = spread
            else:
                make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
                plain = make(name, metric.help, labels=metric.labels)
                for labels, value in self._values(name).items():
                    self._check(name, labels)
                    plain.add_metric(labels, value)
                family = plain
            if family.samples:
                yield family

    def _values(self, name: str) -> Values:
        values = {labels: cell.value for labels, cell in self._cells[name].items()}
        supplier = self._suppliers.get(name)
        if supplier is not None:
            values.update(supplier())
        return values

    def _check(self, name: str, labels: tuple[str, ...]) -> None:
        expected = self._table[name].labels
        if len(labels) != len(expected):
            raise ValueError(_UNKNOWN_LABELS.format(name, expected, labels))


class _Scrape:
    """What the client library's registry takes for a collector."""

    __slots__ = ("_metrics",)

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> "Iterator[Family]":
        return self._metrics.families()


def _cumulative(histogram: Histogram) -> list[tuple[str, float]]:
    """Buckets as they are exposed: each counts all values up to its bound."""
    from prometheus_client.utils import floatToGoString

    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
        total += count
        buckets.append((floatToGoString(bound), total))
    return buckets
