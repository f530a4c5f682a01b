"""The connection form, as Airflow reads it from the provider info."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import airflow
import jsonschema
import pytest
from airflow.api_fastapi.core_api.services.ui.connections import HookMetaService
from airflow.providers.apache.kafka.get_provider_info import get_provider_info as get_kafka_info
from airflow.providers.common.compat.notifier import BaseNotifier
from airflow.providers_manager import ProvidersManager

import airflow_provider_ignite_kafka
from airflow_provider_ignite_kafka import get_provider_info
from airflow_provider_ignite_kafka.airflow_api import READS_CONN_FIELDS
from airflow_provider_ignite_kafka.hooks import connection_form
from airflow_provider_ignite_kafka.hooks.ignite import IgniteHook
from tests.support.airflow_versions import FIELDS_IN_PROVIDER_INFO, FORM_WITHOUT_FAB, forget_providers

AIRFLOW = Path(airflow.__file__).parent
INFO = get_provider_info()
[CONNECTION] = INFO["connection-types"]


def schema(name: str) -> dict[str, Any]:
    return json.loads((AIRFLOW / name).read_text())


def test_info_follows_the_schema_of_airflow() -> None:
    jsonschema.validate(INFO, schema("provider_info.schema.json"))


def test_airflow_before_3_2_keeps_the_defaults_of_options() -> None:
    """Airflow 3.0 and 3.1 end each command with a KeyError where it cannot format a default that is no template."""
    for options in (section["options"] for section in INFO["config"].values()):
        for name, option in options.items():
            kept = option["default"] if option.get("is_template") else option["default"].format(AIRFLOW_HOME="/opt/airflow")
            assert kept == option["default"], name


@FIELDS_IN_PROVIDER_INFO
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


def test_every_module_of_a_kind_is_listed() -> None:
    package = Path(airflow_provider_ignite_kafka.__file__).parent
    for kind in ("operators", "sensors", "triggers", "hooks"):
        defined = {
            f"airflow_provider_ignite_kafka.{kind}.{path.stem}"
            for path in (package / kind).glob("*.py")
            if any(_public_class_of(kind, node) for node in ast.parse(path.read_text()).body)
        }
        listed = {module for entry in INFO[kind] for module in entry["python-modules"]}
        assert listed == defined, kind


# base classes of modules' own classes, and helpers, which no Dag names
_INTERNAL = {"SparkAppOperator", "SparkCopyOperator", "DeferrableSensor", "KafkaBaseHook", "SparkAppHook"}
_SUFFIX = {"operators": "Operator", "sensors": "Sensor", "triggers": "Trigger", "hooks": "Hook"}


def _public_class_of(kind: str, node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and node.name.endswith(_SUFFIX[kind]) and node.name not in _INTERNAL


def test_airflow_knows_the_notifier() -> None:
    manager = ProvidersManager()
    manager.initialize_providers_notifications()
    [name] = INFO["notifications"]
    assert name in manager.notification
    module, class_name = name.rsplit(".", 1)
    assert issubclass(getattr(importlib.import_module(module), class_name), BaseNotifier)


def test_transfers_go_between_known_integrations_and_guides_exist() -> None:
    known = {entry["integration-name"] for entry in [*INFO["integrations"], *get_kafka_info()["integrations"]]}
    for transfer in INFO["transfers"]:
        assert {transfer["source-integration-name"], transfer["target-integration-name"]} <= known
        importlib.import_module(transfer["python-module"])
    top = Path(__file__).parents[3]
    guides = {transfer["how-to-guide"] for transfer in INFO["transfers"]}
    guides |= {guide for entry in INFO["integrations"] for guide in entry["how-to-guide"]}
    guides_of_airflow = {f"/docs/{path.name}" for path in (top / "docs").glob("airflow*.md")}
    assert guides_of_airflow <= guides, "a guide that Airflow does not name"
    assert all((top / guide.removeprefix("/")).is_file() for guide in guides)


def test_own_integration_has_a_logo() -> None:
    [logo] = [entry["logo"] for entry in INFO["integrations"] if "logo" in entry]
    assert ElementTree.parse(Path(__file__).parents[3] / logo.removeprefix("/")).getroot().tag.endswith("}svg")


def test_parts_follow_the_schema_of_provider_yaml() -> None:
    described = schema("provider.yaml.schema.json")
    parts = ("integrations", "operators", "transfers", "sensors", "triggers", "hooks", "asset-uris", "plugins", "config")
    wanted = {"properties": {part: described["properties"][part] for part in parts}, "definitions": described["definitions"]}
    jsonschema.validate({part: INFO[part] for part in parts}, wanted)


def test_installed_package_is_found_by_airflow() -> None:
    [found] = [point for point in entry_points(group="apache_airflow_provider") if point.value.startswith("airflow_provider_ignite_kafka")]
    assert found.name == "provider_info"
    assert found.load()() == INFO


@FORM_WITHOUT_FAB
def test_form_of_airflow() -> None:
    """The form as the API server of this version makes it, from the provider info or by methods of the hook."""
    forget_providers()
    [form] = [hook for hook in HookMetaService.hook_meta_data() if hook.connection_type == "ignite"]
    fields = dict(form.extra_fields or {})
    assert set(fields) == set(CONNECTION["conn-fields"])
    for name, field in fields.items():
        declared = CONNECTION["conn-fields"][name]
        assert (field["schema"]["title"], field["schema"]["type"]) == (declared["label"], declared["schema"]["type"]), name
        assert field["value"] == declared["schema"].get("default"), name
    hidden = {name for name, field in fields.items() if field["schema"].get("format") == "password"}
    assert hidden == {"key_password", "ca_password", "cert_password"}
    assert form.standard_fields is not None
    assert form.standard_fields.host is not None
    assert (form.standard_fields.host.title, form.standard_fields.host.placeholder) == ("Hosts", "node-1,node-2:10801")


def test_methods_of_the_hook_offer_the_fields_of_the_provider_info(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Airflow 3.2; the classes are those of its API server, which has no WTForms."""

    def field(kind: str) -> Callable[..., tuple[str, str, object]]:
        return lambda label, default=None, **_more: (kind, label, default)

    kinds = {name: field(name) for name in ("BooleanField", "IntegerField", "PasswordField", "StringField")}
    monkeypatch.setitem(sys.modules, "wtforms", SimpleNamespace(**kinds))
    fab = SimpleNamespace(BS3PasswordFieldWidget=object, BS3TextFieldWidget=object)
    monkeypatch.setitem(sys.modules, "flask_appbuilder.fieldwidgets", fab)
    found = connection_form.widgets()
    assert {name: label for name, (_, label, _) in found.items()} == {name: one["label"] for name, one in CONNECTION["conn-fields"].items()}
    assert (found["key_password"][0], found["tls"], found["connect_timeout_ms"][::2]) == (
        "PasswordField", ("BooleanField", "TLS", False), ("IntegerField", 5000),
    )  # fmt: skip
    assert connection_form.behaviour()["relabeling"] == {"host": "Hosts", "login": "User", "schema": "SQL schema"}
    assert ("get_connection_form_widgets" in vars(IgniteHook)) is not READS_CONN_FIELDS
