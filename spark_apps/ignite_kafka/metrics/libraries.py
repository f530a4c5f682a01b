"""Check of the libraries of the exporters, which only drivers with metrics need."""

from __future__ import annotations

from importlib import import_module

from ..errors import SettingsError
from ..settings.connector import ConnectorSettings


def check_libraries(settings: ConnectorSettings) -> None:
    """Check that the libraries of the exporters in the settings are installed.

    :raises SettingsError: one is not.
    """
    if settings.metrics_port is not None:
        _require("prometheus_client", "prometheus-client", "prometheus", "metrics_port")
    if settings.metrics_otlp:
        name = "opentelemetry-exporter-otlp-proto-http"
        _require("opentelemetry.exporter.otlp.proto.http.metric_exporter", name, "otlp", "metrics_otlp")


def _require(module: str, package: str, extra: str, setting: str) -> None:
    try:
        import_module(module)
    except ImportError as cause:
        raise SettingsError(
            f"the Python package {package} is not installed on the driver",
            f"Install it there, for example by the extra {extra}, or leave {setting} out",
            setting=setting,
        ) from cause
