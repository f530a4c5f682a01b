"""Addresses of nodes and brokers in one form."""

from __future__ import annotations

import pytest

from airflow_provider_ignite_kafka.assets.addresses import listed, normalized


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("Node-1", "node-1:9092"),
        (" node:1 ", "node:1"),
        ("SASL_SSL://Broker:9093", "broker:9093"),
        ("::1", "[::1]:9092"),
        ("[::1]", "[::1]:9092"),
        ("[::1]:7", "[::1]:7"),
        ("user:secret@node:1", "node:1"),
    ],
)
def test_host_and_port(given: str, wanted: str) -> None:
    assert normalized(given, 9092) == wanted


def test_lists() -> None:
    assert listed("a:1, b,", 2) == listed(["a:1", "b:2"], 3) == ("a:1", "b:2")


def test_port_that_is_no_number() -> None:
    with pytest.raises(ValueError, match="is no number"):
        normalized("node:http", 1)
