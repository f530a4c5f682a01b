"""URLs of the page Connectors below the address of Airflow's web UI."""

from __future__ import annotations

from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import conf

URL_PREFIX = "/ignite-kafka"
"""Path below which Airflow's API server mounts the page."""


def page_path() -> str:
    """Build the page's path on Airflow's host, such as ``/airflow/ignite-kafka/``."""
    return f"{urlsplit(conf.get('api', 'base_url', fallback='')).path.rstrip('/')}{URL_PREFIX}/"
