"""A missing library of an exporter is named before anything starts."""

from __future__ import annotations

import sys

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.metrics.libraries import check_libraries
from ignite_kafka.metrics.otlp import metrics_export
from ignite_kafka.metrics.prometheus import metrics_endpoint
from ignite_kafka.settings.source import SourceSettings

OFF = SourceSettings(name="c")
PORT = SourceSettings(name="c", metrics_port=0)
OTLP = SourceSettings(name="c", metrics_otlp=True)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("prometheus_client", "opentelemetry.exporter.otlp.proto.http.metric_exporter"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("without")
def test_a_missing_library_is_named_with_its_extra() -> None:
    for start in (lambda: check_libraries(PORT), lambda: metrics_endpoint(PORT, tuple).__enter__()):
        with pytest.raises(SettingsError, match=r"prometheus-client is not installed on the driver.*extra prometheus"):
            start()
    for start in (lambda: check_libraries(OTLP), lambda: metrics_export(OTLP, "r", tuple).__enter__()):
        with pytest.raises(SettingsError, match=r"opentelemetry-exporter-otlp-proto-http is not installed.*extra otlp"):
            start()


@pytest.mark.usefixtures("without")
def test_runs_without_exporters_need_no_library() -> None:
    check_libraries(OFF)
    with metrics_endpoint(OFF, tuple), metrics_export(OFF, "r", tuple):
        pass


def test_installed_libraries_pass() -> None:
    check_libraries(PORT)
    check_libraries(OTLP)
