"""Registries of the converters of a process: known once the clients of their connector are made."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from ignite_kafka.convert.connect import ConnectColumn, ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.connect.schema import arrow_type, decimal
from ignite_kafka.convert.connect_converters import deserializer, serializer
from ignite_kafka.convert.to_ignite.conversion_rules import SideRules
from ignite_kafka.errors import SettingsError
from ignite_kafka.registry.registries import known_ids, learn_ids, provide_registries, registry_of
from ignite_kafka.registry.schema import KnownId, Registered
from ignite_kafka.runtime.clients import kafka_clients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from tests.support.registry import MemoryClient, record

URL = "http://127.0.0.1:8081"


def settings(**properties: str) -> SourceSettings:
    given = {"value_converter": "json-schema", "value_converter_config": {name.replace("_", "."): one for name, one in properties.items()}}
    return SourceSettings.from_dict({"name": "c", **given})


def test_making_clients_makes_the_registry_known() -> None:
    made, url = settings(), {"schema.registry.url": URL}
    kafka_clients(made, Secrets(registry={**url, "basic.auth.user.info": "u:p"}))
    found = registry_of("value", made.converter_properties("value"))
    assert found.config.urls == (URL,)
    assert found.config.client["basic.auth.user.info"] == "u:p"
    assert registry_of("value", made.converter_properties("value")) is found
    provide_registries(made, Secrets(registry={**url, "basic.auth.user.info": "u:new"}))
    assert registry_of("value", made.converter_properties("value")).config.client["basic.auth.user.info"] == "u:new"


def test_a_url_may_be_in_the_secrets_alone() -> None:
    made = settings(normalize_schemas="true")
    provide_registries(made, Secrets(registry={"schema.registry.url": URL}))
    assert registry_of("value", made.converter_properties("value")).config.urls == (URL,)


def test_ids_of_another_registry_are_not_used_although_the_settings_are_equal() -> None:
    made, properties = settings(normalize_schemas="true"), settings(normalize_schemas="true").converter_properties("value")
    subject, schema = "people-value", record("id")
    provide_registries(made, Secrets(registry={"schema.registry.url": URL}))
    learn_ids({("value", repr(sorted(properties.items()))): ((URL,), (KnownId(subject, schema, Registered(7, schema)),))})
    assert registry_of("value", properties).registered(subject, schema).id == 7
    assert known_ids(made)["value", repr(sorted(properties.items()))][0] == (URL,)
    provide_registries(made, Secrets(registry={"schema.registry.url": "http://127.0.0.1:8084"}))
    assert registry_of("value", properties).permanent_ids() == ()
    assert known_ids(made) == {}


def test_without_a_url_no_clients_are_made() -> None:
    with pytest.raises(SettingsError, match=r"the value converter has no schema registry .*value_converter_config\.schema\.registry\.url"):
        kafka_clients(settings(use_latest_version="true"), Secrets())


def test_a_converter_that_nothing_was_said_about_has_no_registry() -> None:
    with pytest.raises(SettingsError, match="its credentials are not known here"):
        registry_of("key", settings(schema_registry_url="http://127.0.0.1:8099").converter_properties("value"))


def test_the_converters_of_both_directions_are_made_with_their_properties() -> None:
    client = MemoryClient()
    made = settings(schema_registry_url="http://127.0.0.1:8082", decimal_format="NUMERIC", use_optional_for_nonrequired="true")
    provide_registries(made, Secrets())
    properties = made.converter_properties("value")
    found = registry_of("value", properties)
    found._make_client = lambda _config: client  # type: ignore[assignment,return-value]
    writer, reader = serializer("json-schema", "value", properties), deserializer("value", SideRules("json-schema", properties))
    assert writer is not None
    assert reader is not None
    price = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("price", decimal(2)),))
    records = writer.serialize(ConnectColumn(pa.array([{"price": Decimal("12.50")}], arrow_type(price)), price), "t")
    assert records.to_pylist() == [b'\0\0\0\0\1{"price":12.50}']
    (part,) = reader.deserialize(records, "t").parts
    assert part.column.data.to_pylist() == [{"price": Decimal("12.50")}]
