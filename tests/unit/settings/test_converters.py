"""Converters by their names and Connect's classes, and their properties."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.converters import PROPERTIES
from ignite_kafka.settings.registry_properties import SECRETS, canonical
from tests.support.source_settings import build


def test_converters_by_connect_s_class_names() -> None:
    binary = build(key_converter="org.gridgain.kafka.IgniteBinaryConverter", value_converter="org.gridgain.kafka.IgniteBinaryConverter")
    assert (binary.key_converter, binary.value_converter) == ("ignite-binary", "ignite-binary")
    assert build(value_converter="JsonConverter") == build()
    assert build(value_converter="ignite-binary").key_converter == "json"


@pytest.mark.parametrize("name", ["protobuf", "ProtobufConverter", "io.confluent.connect.protobuf.ProtobufConverter"])
@pytest.mark.parametrize("side", ["key", "value"])
def test_protobuf_is_refused_with_what_can_be_used(side: str, name: str) -> None:
    with pytest.raises(SettingsError, match=f"{side}_converter is wrong: Protobuf is not available.*avro and json-schema"):
        build(**{f"{side}_converter": name})


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


# of Confluent's classes of version 7.9 by their names: AbstractKafkaSchemaSerDeConfig and SchemaRegistryClientConfig, AvroDataConfig,
# KafkaAvroSerializerConfig and KafkaAvroDeserializerConfig, JsonSchemaDataConfig, KafkaJsonSchemaSerializerConfig and its Deserializer's
REGISTRY = """
schema.registry.url max.schemas.per.subject normalize.schemas auto.register.schemas use.schema.id id.compatibility.strict use.latest.version
use.latest.with.metadata latest.compatibility.strict latest.cache.size latest.cache.ttl.sec schema.format schema.reflection
rule.service.loader.enable basic.auth.credentials.source basic.auth.user.info schema.registry.basic.auth.user.info
bearer.auth.credentials.source bearer.auth.token bearer.auth.issuer.endpoint.url bearer.auth.client.id bearer.auth.client.secret
bearer.auth.scope bearer.auth.scope.claim.name bearer.auth.sub.claim.name bearer.auth.logical.cluster bearer.auth.identity.pool.id
bearer.auth.cache.expiry.buffer.seconds bearer.auth.custom.provider.class context.name.strategy key.subject.name.strategy
value.subject.name.strategy proxy.host proxy.port http.connect.timeout.ms http.read.timeout.ms schema.registry.ssl.truststore.location
schema.registry.ssl.truststore.password schema.registry.ssl.keystore.location schema.registry.ssl.keystore.password
schema.registry.ssl.key.password
"""
OF_BOTH = "ignore.default.for.nullables generalized.sum.type.support schemas.cache.config flatten.singleton.unions"
AVRO = """
enhanced.avro.schema.support scrub.invalid.names connect.meta.data allow.optional.map.keys discard.type.doc.default
avro.remove.java.properties avro.reflection.allow.null avro.use.logical.type.converters specific.avro.reader specific.avro.key.type
specific.avro.value.type
"""
JSON_SCHEMA = """
object.additional.properties use.optional.for.nonrequired ignore.modern.dialects decimal.format json.fail.unknown.properties
json.fail.invalid.schema json.write.dates.iso8601 json.schema.spec.version json.oneof.for.nullables json.default.property.inclusion
json.indent.output json.key.type json.value.type type.property
"""


@pytest.mark.parametrize(("converter", "names"), [("avro", AVRO), ("json-schema", JSON_SCHEMA)])
def test_each_property_of_confluents_converters_is_known(converter: str, names: str) -> None:
    wanted = [canonical(name) for name in (REGISTRY + OF_BOTH + names).split()]
    assert [name for name in wanted if name not in PROPERTIES[converter] and name not in SECRETS] == []
