"""Prometheus endpoint of a run, in threads of the driver.

The values are made when they are asked for, from the newest status, so that the copy has no work with it.
``prometheus_client`` is imported only where a port is set.
"""

from __future__ import annotations

import errno
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import accumulate
from typing import TYPE_CHECKING

from ..common.measurements import BOUNDS_S, Histogram
from ..common.redaction import in_message
from ..errors import PortTaken, SettingsError
from ..settings.connector import ConnectorSettings
from .libraries import check_libraries
from .samples import Sample, encodable
from .table import METRICS, Metric

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client import Metric as Family

log = logging.getLogger(__name__)

_WAKE_S = 1.0


class RunCollector:
    """Collector of prometheus_client.

    :param read: returns the present value of each series.
    """

    def __init__(self, read: Callable[[], Iterable[Sample]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Family]:
        """Return every metric of the table, also those without a value."""
        families = {metric: _family(metric) for metric in METRICS}
        for sample in self._read():
            family = families[sample.metric]
            labels = dict(zip(sample.metric.labels, map(encodable, sample.labels), strict=True))
            if sample.histogram is None:
                family.add_sample(sample.metric.name, labels, sample.value)
            else:
                _add_histogram(family, labels, sample.histogram)
        return families.values()


def registry_of(read: Callable[[], Iterable[Sample]]) -> CollectorRegistry:
    """Return a registry with the metrics of one run alone."""
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry(auto_describe=False)
    registry.register(RunCollector(read))
    return registry


@contextmanager
def metrics_endpoint(settings: ConnectorSettings, read: Callable[[], Iterable[Sample]]) -> Iterator[int | None]:
    """Serve the metrics at ``/metrics`` until the context ends; give the port, or None without `metrics_port`.

    :param read: returns the present value of each series; called by the threads of the endpoint.
    :raises SettingsError: the library is missing, or the address cannot be used.
    :raises PortTaken: another process listens on the port.
    """
    if settings.metrics_port is None:
        yield None
        return
    check_libraries(settings)
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(settings.metrics_port, settings.metrics_host, registry_of(read))
    except OSError as cause:
        raise _refusal(settings, settings.metrics_port, cause) from cause
    host = f"[{settings.metrics_host}]" if ":" in settings.metrics_host else settings.metrics_host
    log.info("metrics for Prometheus: http://%s:%d/metrics", host, server.server_port)
    try:
        yield server.server_port
    finally:
        ending = threading.Thread(target=server.shutdown)
        ending.start()
        with suppress(OSError):  # the server looks whether to end after each connection, else twice a second
            socket.create_connection((settings.metrics_host, server.server_port), _WAKE_S).close()
        ending.join()
        server.server_close()
        thread.join()


def _refusal(settings: ConnectorSettings, port: int, cause: OSError) -> SettingsError | PortTaken:
    reason = in_message(cause.strerror or str(cause))
    if cause.errno == errno.EADDRINUSE:
        return PortTaken(
            f"the port of the metrics endpoint is taken: {reason}",
            "Set metrics_port to another port for each run on one host, or to 0 for any free one",
            setting="metrics_port",
            value=port,
            host=settings.metrics_host,
        )
    return SettingsError(
        f"the metrics endpoint cannot listen: {reason}",
        "Set metrics_host to an address of the driver's host, and metrics_port to a port that its user may open",
        setting="metrics_host",
        value=settings.metrics_host,
        port=port,
    )


def _family(metric: Metric) -> Family:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    if metric.kind == "histogram":
        return HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    family = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    return family(metric.name, metric.meaning, labels=metric.labels)


def _add_histogram(family: Family, labels: Mapping[str, str], histogram: Histogram) -> None:
    """Add the series of a histogram; a bucket has all durations up to its bound."""
    for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), accumulate(histogram.counts), strict=True):
        family.add_sample(f"{family.name}_bucket", {**labels, "le": bound}, count)
    family.add_sample(f"{family.name}_count", dict(labels), histogram.count)
    family.add_sample(f"{family.name}_sum", dict(labels), histogram.seconds)
