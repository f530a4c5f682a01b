"""JSON Schemas with and without ``$schema``: which form a registry is asked for, and what it then says."""

from __future__ import annotations

import json

import pytest
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ignite_kafka.errors import RegistryError
from ignite_kafka.registry.schema import JSON, RegistrySchema, with_dialect
from tests.support.registry import MemoryClient, memory_registry, record

LONG = RegistrySchema('{"type":"integer","default":1.00,"connect.type":"int64"}', JSON)
DIALECT = '{"$schema":"http://json-schema.org/draft-07/schema#"'


class Apicurio(MemoryClient):
    """A registry that knows a JSON Schema of a single value by ``$schema`` alone."""

    def register_schema(self, subject: str, schema: Schema, _normalize: bool) -> int:
        if schema.schema_type == JSON and "$schema" not in json.loads(schema.schema_str or ""):
            raise SchemaRegistryError(422, 42201, "Failed to discover artifact type from content.")
        return super().register_schema(subject, schema, _normalize)


class Refusing(Apicurio):
    """A registry that refuses the second form for another reason."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code

    def register_schema(self, subject: str, schema: Schema, _normalize: bool) -> int:
        super().register_schema(subject, schema, _normalize)
        raise SchemaRegistryError(self.code // 100, self.code, f"refused with {self.code}")


def test_a_registry_that_takes_the_schema_gets_no_other_form() -> None:
    client = MemoryClient()
    assert memory_registry(client).registered("t-key", LONG).schema == LONG
    assert [schema.schema_str for _, schema in client.schemas] == [LONG.text]


def test_one_that_takes_it_for_no_schema_gets_it_with_its_dialect() -> None:
    client = Apicurio()
    found = memory_registry(client).registered("t-key", LONG)
    assert (found.id, found.schema) == (1, LONG)
    assert [schema.schema_str for _, schema in client.schemas] == [f"{DIALECT},{LONG.text[1:]}"]


@pytest.mark.parametrize(("code", "message"), [(42201, "Failed to discover artifact type"), (40901, "refused with 40901")])
def test_the_error_is_that_of_the_form_that_the_registry_understands(code: int, message: str) -> None:
    with pytest.raises(RegistryError, match=message):
        memory_registry(Refusing(code)).registered("t-key", LONG)


def test_the_dialect_is_added_once_and_to_json_schemas_alone() -> None:
    added = with_dialect(LONG)
    assert added is not None
    assert with_dialect(added) is None
    assert [with_dialect(RegistrySchema(text, JSON)) for text in ("{}", " { } ")] == [
        RegistrySchema(f"{DIALECT}}}", JSON), RegistrySchema(f"{DIALECT}}} ".rstrip(), JSON)
    ]  # fmt: skip
    assert with_dialect(RegistrySchema("true", JSON)) is None
    assert with_dialect(record("id")) is None
