"""Export of a run's metrics by OpenTelemetry's protocol (OTLP) over HTTP, in a thread of the driver.

Where to, how often and with which headers is said by OpenTelemetry's own environment variables of the driver, so that
no setting sends anything to an address of its choice. ``opentelemetry`` is imported only where the export is on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..settings.connector import ConnectorSettings
from .libraries import check_libraries
from .samples import Sample, encodable
from .table import METRICS, Metric

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation

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
        [PeriodicExportingMetricReader(OTLPMetricExporter())],
        own.merge(OTELResourceDetector().detect()),  # names of the environment take precedence
        shutdown_on_exit=False,
    )
    meter = provider.get_meter(_SERVICE)
    for metric in METRICS:
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
    unit = _UNITS.get(metric.unit, f"{{{metric.unit}}}")
    create(metric.dotted_name, [observe], unit, metric.meaning)
