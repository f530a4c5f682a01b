"""Connections of a schema registry: URL, user and properties, masked, and handed over with the secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.models.connection import Connection

from airflow_provider_ignite_kafka.hooks.registry import registry_config
from ignite_kafka.errors import SettingsError


def connection(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    made = Connection(conn_id="registry", conn_type="http", **fields)
    monkeypatch.setenv("AIRFLOW_CONN_REGISTRY", made.as_json())


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"host": "registry", "port": 8081}, {"schema.registry.url": "https://registry:8081"}),
        ({"host": "registry", "schema": "http"}, {"schema.registry.url": "http://registry"}),
        (
            {"host": "https://registry/apis/ccompat/v7", "login": "app", "password": "p"},
            {"schema.registry.url": "https://registry/apis/ccompat/v7", "basic.auth.user.info": "app:p"},
        ),
        (
            {"extra": json.dumps({"schema.registry.url": "https://a,https://b", "bearer.auth.token": "t", "use.latest.version": True})},
            {"schema.registry.url": "https://a,https://b", "bearer.auth.token": "t", "use.latest.version": "true"},
        ),
    ],
)
def test_a_connection_is_read(monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], wanted: dict[str, str]) -> None:
    connection(monkeypatch, **fields)
    assert registry_config("registry") == wanted


def test_a_name_that_is_no_property_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    connection(monkeypatch, host="registry", extra='{"token": "t"}')
    with pytest.raises(SettingsError, match="token is no property of a schema registry"):
        registry_config("registry")
