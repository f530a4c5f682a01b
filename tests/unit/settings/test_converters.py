"""Converters by their names and Connect's classes, and their properties."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import SettingsError
from tests.support.source_settings import build


def test_converters_by_connect_s_class_names() -> None:
    binary = build(key_converter="org.gridgain.kafka.IgniteBinaryConverter", value_converter="org.gridgain.kafka.IgniteBinaryConverter")
    assert (binary.key_converter, binary.value_converter) == ("ignite-binary", "ignite-binary")
    assert build(value_converter="JsonConverter") == build()
    assert build(value_converter="ignite-binary").key_converter == "json"


def test_properties_of_converters_are_checked_and_have_defaults() -> None:
    numeric = build(value_converter_config={"decimal.format": "NUMERIC"})
    assert numeric.converter_properties("value")["decimal.format"] == "NUMERIC"
    assert numeric.converter_properties("key")["decimal.format"] == "BASE64"
    assert build(decimal_format="NUMERIC").converter_properties("key")["decimal.format"] == "NUMERIC"
    with pytest.raises(SettingsError, match=r"no such property.*key_converter_config\.decimal\.forms.*Did you mean decimal\.format"):
        build(key_converter_config={"decimal.forms": "NUMERIC"})
    with pytest.raises(SettingsError, match=r"value_converter_config\.decimal\.format.*BASE64, NUMERIC"):
        build(value_converter_config={"decimal.format": "TEXT"})
    with pytest.raises(SettingsError, match=r"a secret is no setting.*value_converter_config\.basic\.auth\.user\.info"):
        build(value_converter_config={"basic.auth.user.info": "a:b"})


def test_a_registry_has_no_records_without_a_schema() -> None:
    registry = {"schema.registry.url": "http://127.0.0.1:8081"}
    with pytest.raises(SettingsError, match="is_schemaless is wrong: value_converter avro writes values with a schema alone"):
        build(value_converter="avro", value_converter_config=registry, is_schemaless=True)
    assert build(key_converter="string", is_schemaless=True).is_schemaless
