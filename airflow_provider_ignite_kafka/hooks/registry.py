"""Parsing of an Airflow connection of type `http` to properties of a schema registry."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import BaseHook

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings import registry_properties as names


def registry_config(registry_conn_id: str) -> dict[str, str]:
    """Look up an Airflow connection of a schema registry, and return properties under Confluent's names.

    It is of type `http`. Host, port and schema make the URL; login and password are the user's; the extra has other
    properties.

    :raises SettingsError: the extra has a name that is no property of the registry.
    """
    connection = BaseHook.get_connection(registry_conn_id)
    properties = {name: _text(value) for name, value in connection.extra_dejson.items()}
    for name in properties:
        if not names.is_property(name):
            what = f"{name} is no property of a schema registry"
            raise SettingsError(
                what, "Remove it from the extra of the connection, or correct it.", connection=registry_conn_id
            )
    if connection.host:
        host = connection.host if "://" in connection.host else f"{connection.schema or 'https'}://{connection.host}"
        properties.setdefault(names.URL, f"{host}:{connection.port}" if connection.port else host)
    if connection.login:
        properties.setdefault(names.USER_INFO, f"{connection.login}:{connection.password or ''}")
    return properties


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
