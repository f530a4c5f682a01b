"""The converter avro is made from a connector's properties and its registry."""

from __future__ import annotations

from ignite_kafka.convert.avro.deserializer import AvroDeserializer
from ignite_kafka.convert.avro.serializer import AvroSerializer
from ignite_kafka.convert.connect_converters import deserializer, serializer
from ignite_kafka.convert.to_ignite.conversion_rules import SideRules
from ignite_kafka.registry import registries
from ignite_kafka.settings.converters import AVRO, parse_properties
from tests.support.registry import config


def test_both_directions_are_made_with_the_connectors_registry() -> None:
    properties = parse_properties("value_converter_config", AVRO, {"schema.registry.url": "http://127.0.0.1:1"})
    registries._configs[registries._key("value", properties)] = config("http://127.0.0.1:1")
    try:
        assert isinstance(serializer(AVRO, "value", properties), AvroSerializer)
        assert isinstance(deserializer("value", SideRules(AVRO, properties)), AvroDeserializer)
    finally:
        registries._configs.clear()
