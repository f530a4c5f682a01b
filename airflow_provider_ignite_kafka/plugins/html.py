"""Rendering of the page's Jinja templates, with escaped texts and masked secrets."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from airflow.providers.common.compat.sdk import redact
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.plugins.task_links import TaskOfRun
from airflow_provider_ignite_kafka.plugins.urls import URL_PREFIX
from ignite_kafka.common.python_compat import UTC

_MINUTE_S = 60
_HOUR_S = 3_600
_DAY_S = 86_400
_FEW = 10
_LEAST = 0.1


def render(template: str, root_path: str, **content: Any) -> str:
    """Render a template of the page to HTML.

    :param root_path: path of the application, such as ``/airflow/ignite-kafka``.
    """
    airflow = root_path.removesuffix(URL_PREFIX)
    return _environment.get_template(template).render(
        root=escape(root_path),  # of the configuration: not masked, else styles and links are lost
        airflow=escape(airflow),
        connector_url=lambda cluster, name, action="": _connector_url(root_path, cluster, name, action),
        task_url=lambda task: airflow + _task_path(task),
        **content,
    )


def _connector_url(root_path: str, cluster: MonitoredCluster, name: str, action: str) -> Markup:
    """Build the URL of a connector's page or of an action, as a text that is not masked again.

    Only the name comes from a Kafka record. Connection and prefix may have a secret as a part, such as a password
    ``ignite`` of the prefix ``ignite-kafka``, and a link with a masked part leads nowhere.
    """
    path = connector_path(cluster, str(redact(name)), action)
    return escape(f"{root_path}{path}?{_prefix(cluster)}")


def connector_path(cluster: MonitoredCluster, name: str, action: str = "") -> str:
    """Build the URL path of a connector's page or of an action, relative to the application."""
    path = f"/connections/{quote(cluster.kafka_conn_id, safe='')}/connectors/{quote(name, safe='')}"
    return f"{path}/{action}" if action else path


def _task_path(task: TaskOfRun) -> str:
    return task.path


def _prefix(cluster: MonitoredCluster) -> str:
    return urlencode({"prefix": cluster.internal_topic_prefix})


def moment(at_ms: int | None) -> Markup | str:
    """Format a time as an HTML element in UTC, for the page's script to convert to local time."""
    if not at_ms:
        return ""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), at.strftime("%Y-%m-%d %H:%M:%S UTC"))


def age(at_ms: int | None) -> str:
    """Format the time since a moment, such as ``5 min ago``."""
    return "" if not at_ms else f"{duration(max(0.0, time.time() - at_ms / 1000))} ago"


def duration(seconds: float | None) -> str:
    """Format a duration in the largest unit of which it has at least two, such as ``12 min``."""
    if seconds is None:
        return ""
    for size, unit in ((_DAY_S, "d"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{seconds:.1f} s" if seconds < _FEW else f"{int(seconds)} s"


def number(value: float | None) -> str:
    """Format a count or rate for the page, such as ``1,200`` or ``0.5``; a dash for None."""
    if value is None:
        return "–"
    if 0 < value < _LEAST:
        return f"< {_LEAST}"
    return f"{value:,.1f}" if 0 < value < _FEW and value != int(value) else f"{value:,.0f}"


def size(count: int) -> str:
    """Format a number of bytes in a suitable unit, such as ``1.5 MiB``."""
    value = float(count)
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value = value / 1024
        units = units[1:]
    return f"{value:,.0f} {units[0]}" if units[0] == "B" or value >= _FEW else f"{value:,.1f} {units[0]}"


def _finalize(value: Any) -> Any:
    """Mask secrets of Airflow in every text of the page, because a Kafka record may hold one."""
    return redact(value) if type(value) is str else value


_environment = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    finalize=_finalize,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {"moment": moment, "age": age, "duration": duration, "number": number, "size": size}
