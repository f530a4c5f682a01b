"""Conversion of a topic according to its settings."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.conversion import value_head_of

SCHEMAS = {"schemas.enable": "true"}
ENVELOPE = b'{"schema":{"type":"int32","optional":false},"payload":7}'


def test_the_head_of_json_with_schemas_ends_before_its_payload() -> None:
    found = value_head_of(SinkSettings(name="c", topics=("topic",), value_converter_config=SCHEMAS))
    assert found is not None
    assert found(ENVELOPE) == ENVELOPE[:-2]


@pytest.mark.parametrize(
    "settings",
    [
        {"value_converter_config": {"schemas.enable": "false"}},
        {"value_converter": "string"},
        {"value_converter_config": SCHEMAS, "key_policy": "value", "key_fields": ("id",)},
        {"value_converter_config": SCHEMAS, "select": "id"},
        {"value_converter_config": SCHEMAS | {"schema.content": '{"type":"int32"}'}},
        {
            "value_converter_config": SCHEMAS,
            "transforms": ("drop",),
            "transform_config": {"drop": {"type": "org.apache.kafka.connect.transforms.Filter"}},
        },
    ],
)
def test_heads_are_cut_only_where_the_conversion_needs_none(settings: dict[str, Any]) -> None:
    assert value_head_of(SinkSettings(name="c", topics=("topic",), **settings)) is None
