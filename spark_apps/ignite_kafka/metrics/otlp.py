"""Export of a run's metrics by OpenTelemetry's protocol (OTLP) over HTTP, in a thread of the driver.

Where to, how often and with which headers is said by OpenTelemetry's own environment variables of the driver, so that
no setting sends anything to an address of its choice. ``opentelemetry`` is imported only where the export is on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..common.measurements import BOUNDS_S
from ..settings.connector import ConnectorSettings
from .libraries import check_libraries
from .samples import Sample, encodable
from .table import METRICS, Metric

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation
    from opentelemetry.sdk.metrics.export import Metric as SdkMetric
    from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData

_SERVICE = "ignite-kafka"
_END_MS = 5_000  # time for the last export
_UNITS = {"seconds": "s", "bytes": "By", "": ""}
"""Units in the notation of UCUM; what is counted stands in braces."""


@contextmanager
def metrics_export(settings: ConnectorSettings, run_id: str, read: Callable[[], Iterable[Sample]]) -> Iterator[None]:
    """Export the metrics until the context ends, and once more at its end; do nothing without `metrics_otlp`.

    :param run_id: instance of the service.
    :param read: returns the present value of each series; called by the thread of the export.
    :raises SettingsError: the library is missing.
    """
    if not settings.metrics_otlp:
        yield
        return
    check_libraries(settings)
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    own = Resource({"service.name": _SERVICE, "service.instance.id": run_id})
    provider = MeterProvider(
        [PeriodicExportingMetricReader(_with_histograms(OTLPMetricExporter(), read))],
        own.merge(OTELResourceDetector().detect()),  # names of the environment take precedence
        shutdown_on_exit=False,
    )
    meter = provider.get_meter(_SERVICE)
    for metric in METRICS:
        if metric.kind != "histogram":
            _observe(meter, metric, read)
    try:
        yield
    finally:
        provider.shutdown(_END_MS)


def _observe(meter: Meter, metric: Metric, read: Callable[[], Iterable[Sample]]) -> None:
    from opentelemetry.metrics import Observation

    def observe(_options: CallbackOptions) -> Iterable[Observation]:
        for sample in read():
            if sample.metric is metric:
                yield Observation(sample.value, dict(zip(metric.labels, map(encodable, sample.labels), strict=True)))

    create = meter.create_observable_counter if metric.kind == "counter" else meter.create_observable_gauge
    create(metric.dotted_name, [observe], _unit(metric), metric.meaning)


def _unit(metric: Metric) -> str:
    return _UNITS.get(metric.unit, f"{{{metric.unit}}}")


def _with_histograms(exporter: MetricExporter, read: Callable[[], Iterable[Sample]]) -> MetricExporter:
    """Make an exporter add the histograms to each export: the SDK has no observable ones."""
    began_ns = time.time_ns()
    export = exporter.export

    def with_histograms(metrics_data: MetricsData, *arguments: Any, **options: Any) -> MetricExportResult:
        histograms = [_histogram(sample, began_ns) for sample in read() if sample.histogram is not None]
        resources = [
            replace(
                resource,
                scope_metrics=[replace(of, metrics=[*of.metrics, *histograms]) for of in resource.scope_metrics],
            )
            for resource in metrics_data.resource_metrics
        ]
        return export(replace(metrics_data, resource_metrics=resources), *arguments, **options)

    exporter.export = with_histograms  # type: ignore[method-assign]
    return exporter


def _histogram(sample: Sample, began_ns: int) -> SdkMetric:
    from opentelemetry.sdk.metrics.export import AggregationTemporality, Histogram, HistogramDataPoint
    from opentelemetry.sdk.metrics.export import Metric as Exported

    metric, histogram = sample.metric, sample.histogram
    assert histogram is not None
    point = HistogramDataPoint(
        attributes=dict(zip(metric.labels, map(encodable, sample.labels), strict=True)),
        start_time_unix_nano=began_ns,
        time_unix_nano=time.time_ns(),
        count=histogram.count,
        sum=histogram.seconds,
        bucket_counts=histogram.counts,
        explicit_bounds=BOUNDS_S,
        min=0.0,
        max=0.0,
    )
    data = Histogram([point], AggregationTemporality.CUMULATIVE)
    return Exported(metric.dotted_name, metric.meaning, _unit(metric), data)
