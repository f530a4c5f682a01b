"""The connection form, as Airflow reads it from the provider info."""

from __future__ import annotations

import importlib
import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import airflow
import jsonschema
import pytest
from airflow.providers_manager import ProvidersManager

from airflow_provider_ignite_kafka import get_provider_info

AIRFLOW = Path(airflow.__file__).parent
INFO = get_provider_info()
[CONNECTION] = INFO["connection-types"]


def schema(name: str) -> dict[str, Any]:
    return json.loads((AIRFLOW / name).read_text())


def test_info_follows_the_schema_of_airflow() -> None:
    jsonschema.validate(INFO, schema("provider_info.schema.json"))


@pytest.mark.parametrize("name", ["conn-fields", "ui-field-behaviour"])
def test_form_follows_the_schema_of_provider_yaml(name: str) -> None:
    described = schema("provider.yaml.schema.json")["properties"]["connection-types"]["items"]["properties"][name]
    jsonschema.validate(CONNECTION[name], described)


def test_named_classes_and_modules_exist() -> None:
    module, name = CONNECTION["hook-class-name"].rsplit(".", 1)
    assert getattr(importlib.import_module(module), name).conn_type == CONNECTION["connection-type"] == "ignite"
    for kind in ("operators", "sensors", "triggers", "hooks"):
        for entry in INFO[kind]:
            for module in entry["python-modules"]:
                importlib.import_module(module)


def test_installed_package_is_found_by_airflow() -> None:
    [found] = [point for point in entry_points(group="apache_airflow_provider") if point.value.startswith("airflow_provider_ignite_kafka")]
    assert found.name == "provider_info"
    assert found.load()() == INFO


def test_form_in_the_providers_manager() -> None:
    manager = ProvidersManager()
    fields = {info.field_name: info for name, info in manager.connection_form_widgets.items() if name.startswith("extra__ignite__")}
    assert set(fields) == set(CONNECTION["conn-fields"])
    assert {name for name, info in fields.items() if info.is_sensitive} == {"key_password"}
    assert manager.field_behaviours["ignite"]["relabeling"] == {"host": "Hosts", "login": "User"}
