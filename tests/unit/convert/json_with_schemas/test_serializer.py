"""JSON of Connect columns with their schemas. Bytes are those of Kafka's converter: tests/integration/convert/test_connect_envelopes.py."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from ignite_kafka.convert.connect import ConnectColumn, ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.connect import schema as connect
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.json_with_schemas.serializer import ConnectJsonSerializer
from ignite_kafka.errors import UnsupportedType

LONG = ConnectSchema(ConnectType.INT64)
TEXT = ConnectSchema(ConnectType.STRING, optional=True)
PRICE = connect.decimal(2, optional=True)
ORDER = ConnectSchema(
    ConnectType.STRUCT, name="shop.Order", version=3, doc='an "order"',
    fields=(ConnectField("id", LONG), ConnectField("price", PRICE), ConnectField("note", TEXT)),
)  # fmt: skip


def write(data: pa.Array, schema: ConnectSchema | None, *, schemas: bool = True, defaults: bool = True) -> list[bytes | None]:
    rows: list[bytes | None] = (
        ConnectJsonSerializer(schemas=schemas, defaults=defaults).serialize(ConnectColumn(data, schema), "t").to_pylist()
    )
    return rows


def test_a_key_with_its_schema() -> None:
    assert write(pa.array([7]), LONG) == [b'{"schema":{"type":"int64","optional":false},"payload":7}']


def test_the_order_of_a_schemas_members() -> None:
    data = pa.array([{"id": 1, "price": Decimal("1.50"), "note": None}], connect.arrow_type(ORDER))
    assert write(data, ORDER) == [
        b'{"schema":{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},'
        b'{"type":"bytes","optional":true,"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"},'
        b'"field":"price"},{"type":"string","optional":true,"field":"note"}],"optional":false,"name":"shop.Order","version":3,'
        b'"doc":"an \\"order\\""},"payload":{"id":1,"price":"AJY=","note":null}}'
    ]


def test_null_with_and_without_a_schema() -> None:
    assert write(pa.array([None], pa.string()), TEXT) == [b'{"schema":{"type":"string","optional":true},"payload":null}']
    assert write(pa.array([None, b"5"], pa.binary()), None) == [None, b'{"schema":null,"payload":5}']
    assert write(pa.array([None, b"5"], pa.binary()), None, schemas=False) == [None, b"5"]
    assert write(pa.array([None], pa.string()), TEXT, schemas=False) == [b"null"]


def test_a_null_is_its_default_unless_asked_otherwise() -> None:
    schema = ConnectSchema(ConnectType.INT32, optional=True, default=9)
    head = b'{"schema":{"type":"int32","optional":true,"default":9},"payload":'
    data = pa.array([None, 1], pa.int32())
    assert write(data, schema) == [head + b"9}", head + b"1}"]
    assert write(data, schema, defaults=False) == [head + b"null}", head + b"1}"]


@pytest.mark.parametrize("data", [[{"id": 1}, {"id": None}], [None]])
def test_a_null_that_the_schema_refuses(data: list[object]) -> None:
    kind = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("id", LONG),))
    with pytest.raises(UnsupportedType, match="is null, and its schema is neither optional nor has a default"):
        write(pa.array(data, connect.arrow_type(kind)), kind)


def test_fields_under_a_null_object_are_not_missed() -> None:
    inner = ConnectSchema(ConnectType.STRUCT, optional=True, fields=(ConnectField("id", LONG),))
    assert write(pa.array([None], connect.arrow_type(inner)), inner, schemas=False) == [b"null"]


def test_the_key_schema_decides_the_form_of_a_map() -> None:
    def pairs(key: ConnectSchema) -> ConnectSchema:
        return ConnectSchema(ConnectType.MAP, key_schema=key, value_schema=LONG)

    numbers, names, decimals = pairs(LONG), pairs(ConnectSchema(ConnectType.STRING)), pairs(connect.decimal(40))
    assert write(pa.array([[(1, 2)], []], connect.arrow_type(numbers)), numbers, schemas=False) == [b"[[1,2]]", b"[]"]
    assert write(pa.array([[("a", 2)], []], connect.arrow_type(names)), names, schemas=False) == [b'{"a":2}', b"{}"]
    data = pa.array([[("1E-40", 2)], []], connect.arrow_type(decimals))
    assert write(data, decimals, schemas=False) == [b'[["AQ==",2]]', b"[]"]


def test_a_decimal_that_its_scale_does_not_hold_names_the_field() -> None:
    data = pa.array(["1.5"])
    assert write(data, connect.decimal(2), schemas=False) == [b'"AJY="']
    with pytest.raises(UnsupportedType, match="no exact form at the declared scale 0"):
        write(data, connect.decimal(0))
    without = ConnectSchema(ConnectType.BYTES, name=connect.DECIMAL)
    with pytest.raises(UnsupportedType, match="no parameter scale"):
        write(data, without)


def test_a_default_that_is_no_value_is_found_by_the_check() -> None:
    ConnectJsonSerializer().check(ORDER, "t")
    wrong = ConnectSchema(ConnectType.BYTES, name=connect.DECIMAL, default=b"1")
    with pytest.raises(UnsupportedType):
        ConnectJsonSerializer(JsonFormat()).check(wrong, "t")


def test_slices_of_columns() -> None:
    inner = ConnectSchema(ConnectType.STRUCT, optional=True, fields=(ConnectField("id", LONG.as_optional()),))
    lists = ConnectSchema(ConnectType.ARRAY, optional=True, value_schema=inner)
    pairs = ConnectSchema(ConnectType.MAP, optional=True, key_schema=LONG, value_schema=lists)
    data = pa.array([[(1, [{"id": 1}])], None, [(2, None), (3, [None, {"id": None}])], []], connect.arrow_type(pairs))
    whole = write(data, pairs, schemas=False)
    assert whole == [b'[[1,[{"id":1}]]]', b"null", b'[[2,null],[3,[null,{"id":null}]]]', b"[]"]
    assert write(data.slice(1, 2), pairs, schemas=False) == whole[1:3]
