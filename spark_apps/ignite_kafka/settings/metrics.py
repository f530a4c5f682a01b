"""Settings of a run's metrics, and the rule for addresses within reach of other hosts."""

from __future__ import annotations

import ipaddress
from typing import Protocol

from ..errors import SettingsError
from .base import setting
from .fields import BOOLEAN, text_like, whole_number

LOOPBACK = "127.0.0.1"
HOST = text_like(r"[A-Za-z0-9._:%-]{1,255}", "one address or host name, without a port")

METRICS_PORT = setting(
    None, whole_number(0, 65_535, optional=True),
    "Port of the driver's endpoint for Prometheus, which exists while a run does (docs/metrics.md); 0: any free port, "
    "which is logged; none: no endpoint. The driver needs the package prometheus-client",
)  # fmt: skip
METRICS_HOST = setting(
    LOOPBACK, HOST,
    "Address on which that endpoint listens. The default admits the driver's host alone, because the endpoint has no "
    "login; another one is accepted from --metrics-host or the operator's argument metrics_host only",
)  # fmt: skip
METRICS_OTLP = setting(
    False, BOOLEAN, "Export metrics by OTLP over HTTP, as the driver's variables OTEL_* say; needs the extra otlp"
)


HEARTBEAT_INTERVAL_MS = setting(
    0, whole_number(0, 3_600_000),
    "Interval at which the driver of a stream sends a heartbeat through nodes, backlog, task and Kafka, and measures "
    "how long it takes (docs/monitor.md), in milliseconds; 0: no heartbeats. It needs the backlog service, and the "
    "right to create a cache",
    no_effect_because="only a stream has heartbeats",
)  # fmt: skip


class Exporters(Protocol):
    """Settings that say whether a run's metrics are exported."""

    @property
    def metrics_port(self) -> int | None:
        """Port of the endpoint for Prometheus."""

    @property
    def metrics_otlp(self) -> bool:
        """Whether OTLP is on."""


def exposes_metrics(settings: Exporters) -> bool:
    """Return whether any exporter shows the metrics of a run."""
    return settings.metrics_port is not None or settings.metrics_otlp


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from its own host alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_metrics_host(host: str, chosen: str | None, how: str, origin: str | None) -> None:
    """Refuse addresses that other hosts reach if only the settings choose them.

    Authors of settings need no rights on the driver's host.

    :param host: the setting `metrics_host`.
    :param chosen: address chosen by whoever is trusted with the host.
    :param how: how they choose it.
    :param origin: where the setting is set.
    :raises SettingsError: other hosts would reach the endpoint, and only the settings say so.
    """
    if host != chosen and not is_loopback(host):
        raise SettingsError(
            "other hosts would reach the driver's metrics, and settings alone cannot allow that",
            f"Give {how}, or leave metrics_host out",
            setting="metrics_host",
            value=host,
            set_in=origin,
        )
