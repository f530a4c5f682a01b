"""Path of the page below the address of Airflow's web UI."""

from __future__ import annotations

import pytest

from airflow_provider_ignite_kafka.plugins.urls import page_path


@pytest.mark.parametrize(
    ("base_url", "path"),
    [("", "/ignite-kafka/"), ("http://localhost:8080", "/ignite-kafka/"), ("https://example.com/airflow/", "/airflow/ignite-kafka/")],
)
def test_link_is_below_the_path_of_airflow(monkeypatch: pytest.MonkeyPatch, base_url: str, path: str) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base_url)
    assert page_path() == path
