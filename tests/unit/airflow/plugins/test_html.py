"""Numbers, sizes, durations and ages as people read them."""

from __future__ import annotations

import time

import pytest
from airflow.sdk.log import mask_secret

from airflow_provider_ignite_kafka.plugins.html import age, duration, moment, number, render, size
from airflow_provider_ignite_kafka.plugins.monitored import MonitoredCluster
from airflow_provider_ignite_kafka.plugins.page_data import ClusterReading
from airflow_provider_ignite_kafka.plugins.search import Search
from airflow_provider_ignite_kafka.plugins.views import ConnectorRow


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0, "0"), (0.04, "< 0.1"), (1.5, "1.5"), (7, "7"), (1234.6, "1,235"), (12_345_678, "12,345,678")]
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KiB"), (20 << 20, "20 MiB"), (1 << 50, "1,024 TiB")]
)
def test_sizes(value: int, text: str) -> None:
    assert size(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, ""), (0.25, "0.2 s"), (59.9, "59 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (172_800, "2 d")]
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_times_are_utc_until_the_script_shows_them_in_the_readers_zone() -> None:
    assert moment(0) == ""
    assert moment(1_000) == '<time datetime="1970-01-01T00:00:01+00:00">1970-01-01 00:00:01 UTC</time>'
    assert age(int((time.time() - 600) * 1000)) == "10 min ago"


def test_links_lead_where_they_should_although_a_password_is_a_part_of_them() -> None:
    mask_secret("secret-prefix")
    mask_secret("hunter2-of-links")
    cluster = MonitoredCluster("k-secret-prefix", "secret-prefix-copies")
    rows = [
        ConnectorRow(cluster, name, "", "RUNNING", "RUNNING", True, 1, 1.0, 1, 0, 0, None, None, None)
        for name in ("a<b", "hunter2-of-links")
    ]
    text = "".join(render("row.html", "/secret-prefix", row=row, search=Search()) for row in rows)
    place = "/secret-prefix/connections/k-secret-prefix/connectors"
    assert f'href="{place}/a%3Cb?prefix=secret-prefix-copies"' in text
    assert "hunter2-of-links" not in text  # the name is that of a record
    shown = render(
        "list.html", "/secret-prefix", clusters=[(ClusterReading(cluster), [], None)], search=Search(), states=[], shown=0, total=0
    )
    assert 'href="/secret-prefix/static/page.css"' in shown
    assert "secret-prefix-copies" not in shown
