"""Rules of the conversion that contradict each other, or that nothing here follows."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from tests.support.to_ignite_records import rules


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"key_policy": "record"}, "key_policy is 'record'.*key, value, kafka"),
        ({"value": "yaml"}, "value_converter is 'yaml'.*json, ignite-binary"),
        ({"key": "text"}, "key_converter is 'text'"),
        ({"decimal_format": "TEXT"}, "decimal_format is 'TEXT'.*BASE64, NUMERIC"),
        ({"key_policy": "kafka", "key_fields": ("a",)}, "there are 1 key_fields"),
        ({"key_fields": ("a",), "key": "ignite-binary"}, "the key_converter is ignite-binary"),
        ({"key_policy": "value", "key_fields": ("a",), "value": "string"}, "the value_converter is string"),
    ],
)
def test_rules_that_contradict_are_settings_errors(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        rules(**given)


def test_fields_of_values_make_keys_whatever_the_keys_are() -> None:
    assert rules("ignite-binary", "avro", key_policy="value", key_fields=("a",)).key_fields == ("a",)
