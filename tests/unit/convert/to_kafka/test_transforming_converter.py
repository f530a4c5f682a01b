"""Entries through transforms: records in the order of the entries, what is dropped, what is refused, and keys that can be turned back."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ignite_kafka import transform_function
from ignite_kafka.convert import Converters
from ignite_kafka.convert.connect.columns import ConnectColumn
from ignite_kafka.convert.to_kafka.connect_side import ConnectSide
from ignite_kafka.convert.to_kafka.converter import Converter
from ignite_kafka.errors import SettingsError, TransformFailed, UnsupportedType
from ignite_kafka.ignite.binary.row_values import EnumValue, Timestamp
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, Page
from ignite_kafka.kafka.headers import pairs
from ignite_kafka.kafka.records import Records, concat_records, take_rows
from ignite_kafka.settings.source import SourceSettings
from tests.support.converters import converter
from tests.support.ignite_bytes import (
    NULL,
    Types,
    binary,
    boolean,
    collection,
    decimal,
    enum,
    mapping,
    number,
    page,
    primitives,
    string,
    timestamp,
    uuid_,
    wrapped,
)

TYPES = Types()
POINT = TYPES.add("Point", {"name": codes.STRING, "x": codes.LONG})
CACHE = CacheInfo("points", 7)
KAFKA = "org.apache.kafka.connect.transforms."


def long(value: int) -> bytes:
    return number(codes.LONG, value)


def point(name: str, x: int) -> bytes:
    return wrapped(binary(POINT, {"name": string(name), "x": long(x)}))


ENTRIES = page([(long(1), point("a", 10)), (string("k"), point("b", 20)), (long(2), NULL), (long(3), point("c", 30))], 3)


def settings(transforms: dict[str, dict[str, str]], **more: Any) -> SourceSettings:
    given = {"name": "c", "transforms": list(transforms), "transform_config": transforms, **more}
    return SourceSettings.from_dict(given)


def transforming(transforms: dict[str, dict[str, str]], **more: Any) -> Converter:
    return Converters(settings(transforms, **more)).of(CACHE.name)


def converted(made: Converter, entries: Page = ENTRIES, topic: str = "points") -> Records:
    return made.convert([entries], CACHE, TYPES, topic=topic)


def texts(records: Records) -> list[tuple[bytes | None, bytes | None]]:
    return list(zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True))


YEAR_MS = 31_557_600_000
MASK = {"type": f"{KAFKA}MaskField$Value", "fields": "x"}
DROP_NAME = {"type": f"{KAFKA}ReplaceField$Value", "exclude": "name"}
TO_KEY = {"type": f"{KAFKA}ValueToKey", "fields": "name"}


def test_values_are_transformed_and_stay_with_their_keys_in_the_order_of_the_entries() -> None:
    records = converted(transforming({"drop": DROP_NAME}))
    assert texts(records) == [(b"1", b'{"x":10}'), (b'"k"', b'{"x":20}'), (b"2", None), (b"3", b'{"x":30}')]
    assert records.rows is not None
    assert records.rows.tolist() == [0, 1, 2, 3]
    assert records.headers is None
    assert records.times_ms is None


def test_an_exception_is_the_error_of_its_entry_and_names_the_transform() -> None:
    records = converted(transforming({"mask": MASK}))
    assert texts(records) == [(b"1", b'{"name":"a","x":0}'), (b'"k"', b'{"name":"b","x":0}'), (b"3", b'{"name":"c","x":0}')]
    assert records.rows is not None
    assert records.rows.tolist() == [0, 1, 3]
    ((row, error),) = records.refused
    assert row == 2  # MaskField throws for a tombstone
    assert isinstance(error, TransformFailed)
    assert error.where["transform"] == "mask"
    assert error.where["transform_class"] == MASK["type"]
    assert error.where["exception"].endswith("DataException")
    assert "transform mask throws" in error.what


def test_filtered_entries_are_neither_records_nor_refused() -> None:
    given = {"mask": MASK, "gone": {"type": f"{KAFKA}Filter", "predicate": "tombstone"}}
    predicates = {"predicates": "tombstone", "predicate_config": {"tombstone": {"type": f"{KAFKA}predicates.RecordIsTombstone"}}}
    records = converted(transforming({"gone": given["gone"], "mask": MASK}, **predicates))
    assert [key for key, _ in texts(records)] == [b"1", b'"k"', b"3"]
    assert records.refused == ()
    # no transform reads a field: values are not turned into Connect columns, and a tombstone is one all the same
    records = converted(transforming({"gone": given["gone"]}, **predicates))
    assert texts(records) == [(b"1", b'{"name":"a","x":10}'), (b'"k"', b'{"name":"b","x":20}'), (b"3", b'{"name":"c","x":30}')]


def test_the_bytes_of_a_side_that_no_transform_changes_are_those_without_transforms() -> None:
    plain = converter("json").convert([ENTRIES], CACHE, TYPES, topic="points", in_order=True)
    header = {"type": f"{KAFKA}InsertHeader", "header": "h", "value.literal": "12"}
    records = converted(transforming({"h": header}))
    assert records.keys.equals(plain.keys)
    assert records.key_kinds == plain.key_kinds
    assert records.values.to_pylist() == [b'{"name":"a","x":10}', b'{"name":"b","x":20}', None, b'{"name":"c","x":30}']
    assert records.headers is not None
    assert pairs(records.headers) == [[("h", b"12")]] * 4


@pytest.mark.parametrize("properties", [{}, {"schemas.enable": "true"}])
@pytest.mark.parametrize("policy", ["LAZY", "EAGER"])
def test_columns_that_no_transform_changes_have_the_converter_s_bytes(properties: dict[str, str], policy: str) -> None:
    entries = page([(long(1), point('ä"', -1)), (long(2), wrapped(binary(POINT, {"name": NULL, "x": long(5)})))], 3)
    more: dict[str, Any] = {"value_converter_config": properties, "key_converter_config": properties, "field_nullability_policy": policy}
    plain = SourceSettings.from_dict({"name": "c", **more})
    expected = Converters(plain).of(CACHE.name).convert([entries], CACHE, TYPES, topic="points", in_order=True)
    own = {"own": {"type": f"{__name__}:same"}}
    assert texts(converted(transforming(own, **more), entries)) == texts(expected)


def test_keys_of_transforms_are_not_turned_back() -> None:
    made = transforming({"key": TO_KEY})
    records = converted(made, page([(long(1), point("a", 10))], 3))
    assert records.keys.to_pylist() == [b'{"name":"a"}']
    assert records.key_kinds == frozenset()
    assert made.key_forms([b'{"name":"a"}'], [(codes.LONG,)], CACHE, TYPES) == [[]]
    changed = Converters(settings({"key": TO_KEY})).of_keys(CACHE.name)
    assert changed.key_forms([b"1"], [(codes.LONG,)], CACHE, TYPES) == [[]]


def test_keys_that_no_transform_changes_are_turned_back_by_the_converter_without_transforms() -> None:
    # MaskField refuses the tombstone by which a key is converted again to compare its bytes
    keys = Converters(settings({"mask": MASK})).of_keys(CACHE.name)
    assert keys.key_forms([b"1"], [(codes.LONG,)], CACHE, TYPES) == [[long(1)]]
    assert keys.convert([page([(long(1), NULL)], 3)], CACHE, TYPES, in_order=True).keys.to_pylist() == [b"1"]


def test_the_topic_of_the_chain_is_that_before_its_routers() -> None:
    route = {"type": f"{KAFKA}RegexRouter", "regex": "(.*)", "replacement": "$1-v2"}
    stamp = {"type": f"{KAFKA}InsertField$Value", "topic.field": "t"}
    made = transforming({"before": stamp, "route": route}, overrides={"points": {"topic": "renamed"}})
    records = converted(made, page([(long(1), point("a", 10))], 3), "renamed-v2")
    assert records.values.to_pylist() == [b'{"name":"a","x":10,"t":"renamed"}']
    with pytest.raises(SettingsError, match=r"gives a record topic 'renamed-v2'.*one topic, 'other'"):
        converted(made, page([(long(1), point("a", 10))], 3), "other")


def test_records_have_the_topics_of_their_times_and_are_written_under_them(monkeypatch: pytest.MonkeyPatch) -> None:
    serialize, topics = ConnectSide.serialize, []

    def noted(self: ConnectSide, column: ConnectColumn, topic: str) -> pa.BinaryArray:
        topics.append((self._part, topic, len(column.data)))
        return serialize(self, column, topic)

    monkeypatch.setattr(ConnectSide, "serialize", noted)
    day = {"type": f"{KAFKA}TimestampRouter", "timestamp.format": "yyyy"}
    entries = page([(long(1), point("a", 4 * YEAR_MS)), (long(2), point("b", 1)), (long(3), point("c", 4 * YEAR_MS + 1))], 3)
    records = converted(transforming({"day": day}, record_timestamp_field="x", topic_prefix="k-"), entries, "k-points")
    assert topics == [(side, topic, count) for topic, count in (("k-points-1974", 2), ("k-points-1970", 1)) for side in ("key", "value")]
    assert records.topics is not None
    assert records.topics.to_pylist() == ["k-points-1974", "k-points-1970", "k-points-1974"]
    assert records.keys.to_pylist() == [b"1", b"2", b"3"]
    assert take_rows(records, np.array([1])).topics == pa.array(["k-points-1970"])
    assert concat_records([records, records]).topics == pa.concat_arrays([records.topics] * 2)


def test_a_record_without_a_time_has_no_topic_by_time() -> None:
    transforms = {"day": {"type": f"{KAFKA}TimestampRouter"}}
    records = converted(transforming(transforms, record_timestamp_field="x"), page([(long(1), NULL), (long(2), point("b", 1))], 3))
    assert records.topics is not None
    assert records.topics.to_pylist() == ["points-19700101"]
    [(row, error)] = records.refused
    assert (row, error.where["exception"]) == (0, "org.apache.kafka.connect.errors.DataException")
    assert "Timestamp missing on record" in error.what


def test_own_transforms_drop_and_change_records() -> None:
    made = transforming({"own": {"type": f"{__name__}:large", "least": "20"}})
    records = converted(made, page([(long(1), point("a", 10)), (long(2), point("b", 20)), (long(3), point("c", 30))], 3))
    assert texts(records) == [(b"2", b'{"x":20}'), (b"3", b'{"x":30}')]
    assert records.times_ms is not None
    assert records.times_ms.tolist() == [20, 30]
    assert records.headers is not None
    assert pairs(records.headers) == [[("size", b"20")], [("size", b"30")]]


@transform_function
def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


@transform_function
def large(batch: pa.RecordBatch, least: str) -> pa.RecordBatch:
    """Keep records with a large x, and of their values x alone."""
    x = pc.struct_field(batch["value"], "x")
    kept = pc.greater_equal(x, int(least))
    value = pa.StructArray.from_arrays([x], ["x"])
    headers = pa.StructArray.from_arrays([x], ["size"])
    made = pa.record_batch([batch["row"], value, x, headers], ["row", "value", "timestamp", "headers"])
    return made.filter(kept).take(pa.array(np.arange(pc.sum(kept).as_py())[::-1]))


COLOR = TYPES.add("Color", {}, enum=("RED", "BLUE"))
INNER = TYPES.add("Inner", {"d": codes.DECIMAL, "n": codes.LONG})
MIXED = collection([string("x"), long(2)])
EVERY_TYPE: dict[str, tuple[int, bytes]] = {
    "byte": (codes.BYTE, number(codes.BYTE, -3)),
    "short": (codes.SHORT, number(codes.SHORT, 7)),
    "int": (codes.INT, number(codes.INT, 7)),
    "long": (codes.LONG, long(1 << 62)),
    "float": (codes.FLOAT, number(codes.FLOAT, 0.1)),
    "double": (codes.DOUBLE, number(codes.DOUBLE, 0.1)),
    "nan": (codes.DOUBLE, number(codes.DOUBLE, float("nan"))),
    "boolean": (codes.BOOL, boolean(True)),
    "text": (codes.STRING, string('\u00e4"\n')),
    "decimal": (codes.DECIMAL, decimal(Decimal("12.50"))),
    "uuid": (codes.UUID, uuid_(uuid.UUID(int=5))),
    "enum": (codes.ENUM, enum(EnumValue(COLOR.type_id, 1, ""))),
    "timestamp": (codes.TIMESTAMP, timestamp(Timestamp(1_700_000_000, 123_000_000))),
    "object": (codes.OBJECT, binary(INNER, {"d": decimal(Decimal("1.5")), "n": long(3)})),
    "numbers": (codes.COLLECTION, collection([long(1), long(2)])),
    "texts": (codes.COLLECTION, collection([string("x"), string("y")])),
    "map": (codes.MAP, mapping([(string("k"), long(1))])),
    "map of numbers": (codes.MAP, mapping([(long(5), string("v"))])),
    "bytes": (codes.BYTE_ARRAY, primitives(codes.BYTE_ARRAY, "b", [1, 2, 3])),
    "ints": (codes.INT_ARRAY, primitives(codes.INT_ARRAY, "i", [1, 2, 3])),
}


def with_field(name: str, code: int, data: bytes) -> Page:
    kind = TYPES.add(f"Has {name}", {"x": code, "o": codes.LONG})
    return page([(long(row), wrapped(binary(kind, {"x": one, "o": long(1)}))) for row, one in enumerate((data, NULL))], 3)


@pytest.mark.parametrize("more", [{}, {"decimal_format": "NUMERIC", "field_nullability_policy": "EAGER"}, {"is_schemaless": True}])
@pytest.mark.parametrize("name", EVERY_TYPE)
def test_json_of_transformed_columns_has_the_bytes_of_json_without_transforms(name: str, more: dict[str, Any]) -> None:
    entries = with_field(name, *EVERY_TYPE[name])
    plain = Converters(SourceSettings.from_dict({"name": "c", **more})).of(CACHE.name)
    expected = plain.convert([entries], CACHE, TYPES, topic="points", in_order=True)
    assert texts(converted(transforming({"own": {"type": f"{__name__}:same"}}, **more), entries)) == texts(expected)


def test_a_value_that_kafka_connect_has_no_form_for_is_refused_unless_schemaless() -> None:
    entries = with_field("mixed", codes.COLLECTION, MIXED)
    own = {"own": {"type": f"{__name__}:same"}}
    with pytest.raises(UnsupportedType, match="field x holds elements of INT64 and STRING") as caught:
        converted(transforming(own), entries)
    assert caught.value.where["cache"] == "points"
    found = converted(transforming(own, is_schemaless=True), entries)
    assert found.values.to_pylist() == [b'{"x":["x",2],"o":1}', b'{"o":1}']


def test_values_without_a_schema_are_transformed() -> None:
    records = converted(transforming({"mask": MASK, "drop": DROP_NAME}, is_schemaless=True), page([(long(1), point("a", 10))], 3))
    assert texts(records) == [(b"1", b'{"x":0}')]
