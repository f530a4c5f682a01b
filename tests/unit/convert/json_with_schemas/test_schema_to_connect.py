"""Connect schemas read from JSON, with the errors of Kafka's JsonConverter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.connect import schema as connect
from ignite_kafka.convert.json.read_rows import parse
from ignite_kafka.convert.json.values import Refused
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.json_with_schemas.schema_from_connect import schema_json
from ignite_kafka.convert.json_with_schemas.schema_to_connect import connect_schema
from tests.support.connect_data import schemas
from tests.support.randomness import examples


def read(text: str) -> ConnectSchema | None:
    return connect_schema(parse(text.encode()))


@settings(max_examples=examples(150), deadline=None)
@given(schemas())
def test_what_is_written_is_read(schema: ConnectSchema) -> None:
    for decimals in ("BASE64", "NUMERIC"):
        found = read(schema_json(schema, JsonFormat(decimals)))
        assert found == schema
        assert hash(found) == hash(schema)


def test_null_is_no_schema() -> None:
    assert read("null") is None


def test_members_of_another_type_are_left_out() -> None:
    text = '{"type":"int8","optional":"yes","name":5,"version":1.5,"doc":null,"parameters":[],"x":1}'
    assert read(text) == ConnectSchema(ConnectType.INT8)
    assert read('{"type":"int8","version":4294967297}') == ConnectSchema(ConnectType.INT8, version=1)
    assert read('{"type":"int8","optional":true,"default":null}') == ConnectSchema(ConnectType.INT8, optional=True)


def test_a_default_of_a_container_can_be_kept() -> None:
    schema = read('{"type":"struct","fields":[{"type":"int8","field":"a"}],"default":{"a":1}}')
    assert schema == ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("a", ConnectSchema(ConnectType.INT8)),), default={"a": 1})
    assert schema in {schema: 1}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("5", "Schema must contain 'type' field"),
        ('{"type":5}', "Schema must contain 'type' field"),
        ('{"type":"int128"}', "Unknown schema type: int128"),
        ('{"type":"array"}', "Array schema did not specify the element type"),
        ('{"type":"array","items":null}', "Array schema did not specify the element type"),
        ('{"type":"map","values":{"type":"int8"}}', "Map schema did not specify the key type"),
        ('{"type":"map","keys":{"type":"int8"}}', "Map schema did not specify the value type"),
        ('{"type":"struct","fields":{}}', 'Struct schema\'s "fields" argument is not an array.'),
        ('{"type":"struct","fields":[{"type":"int8"}]}', "Struct schema's field name not specified properly"),
        (
            '{"type":"struct","fields":[{"type":"int8","field":"a"},{"type":"int8","field":"a"}]}',
            "Cannot create field because of field name duplication a",
        ),
        ('{"type":"int8","parameters":{"a":1}}', "Schema parameters must have string values."),
        ('{"type":"int8","default":null}', "it is null: Invalid null value for required INT8 field"),
        ('{"type":"int8","default":300}', "it is 300, outside of -128 to 127"),
        ('{"type":"int8","name":"\\ud800"}', "a text of the schema has half of a surrogate pair"),
        (f'{{"type":"bytes","name":"{connect.DECIMAL}","default":"AQ=="}}', "the schema of a Decimal has no parameter scale"),
        (f'{{"type":"int32","name":"{connect.DATE}","default":2147483647}}', "the default of a org.apache.kafka.connect.data.Date is out"),
        ('{"type":"array","items":' * 200 + '{"type":"int8"}' + "}" * 200, "the schema is nested more than 100 deep"),
    ],
)
def test_what_is_no_schema(text: str, error: Any) -> None:
    with pytest.raises(Refused) as found:
        read(text)
    assert error in found.value.reason
