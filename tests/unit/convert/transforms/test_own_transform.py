"""Own transforms: what a function gets and may return, the schemas of its columns, and errors that name it."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ignite_kafka import transform_function
from ignite_kafka.common.python_compat import UTC
from ignite_kafka.convert.connect.columns import ConnectColumn
from ignite_kafka.convert.connect.schema import ConnectField, ConnectSchema, ConnectType, decimal, timestamp
from ignite_kafka.convert.transforms.batch import NO_TIME, ConnectBatch, Header, Position, Transformed
from ignite_kafka.convert.transforms.own_transform import OwnTransform, own_transform
from ignite_kafka.errors import SettingsError

INT64, TEXT = ConnectSchema(ConnectType.INT64), ConnectSchema(ConnectType.STRING, optional=True)
POINT = ConnectSchema(ConnectType.STRUCT, name="Point", version=2, fields=(ConnectField("x", INT64), ConnectField("name", TEXT)))
VALUES = pa.array([{"x": 1, "name": "a"}, {"x": 2, "name": None}, {"x": 3, "name": "c"}])
BATCH = ConnectBatch(
    np.array([4, 6, 9]),
    ConnectColumn(pa.array([b'"k"', b"1", None], pa.binary()), None),
    ConnectColumn(VALUES, POINT),
    pa.array(["t"] * 3),
    np.array([5, NO_TIME, 7]),
    (Header("h", ConnectColumn(pa.array(["p", "q", "r"]), TEXT)),),
    Position(np.zeros(3, np.int32), np.array([10, 11, 12])),
)


def applied(function: Any, batch: ConnectBatch = BATCH, **properties: str) -> Transformed:
    return OwnTransform(function, properties).apply(batch)


def only(function: Any, batch: ConnectBatch = BATCH) -> ConnectBatch:
    made = applied(function, batch)
    assert made.bad == ()
    (found,) = made.batches
    return found


def test_a_function_gets_the_columns_of_the_records() -> None:
    got: list[pa.RecordBatch] = []

    def look(batch: pa.RecordBatch) -> pa.RecordBatch:
        got.append(batch)
        return batch

    assert only(look).value == BATCH.value
    assert got[0].to_pylist()[:2] == [
        {"row": 4, "key": b'"k"', "value": {"x": 1, "name": "a"}, "topic": "t", "timestamp": 5, "headers": {"h": "p"}},
        {"row": 6, "key": b"1", "value": {"x": 2, "name": None}, "topic": "t", "timestamp": None, "headers": {"h": "q"}},
    ]


def test_records_that_are_not_returned_are_dropped_and_the_others_keep_what_was_left_out() -> None:
    def last_and_first(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.select(["row", "topic"]).take(pa.array([2, 0]))

    found = only(last_and_first)
    assert found.rows.tolist() == [4, 9]
    assert found.value.data.to_pylist() == [VALUES[0].as_py(), VALUES[2].as_py()]
    assert found.value.schema == POINT
    assert found.times_ms.tolist() == [5, 7]
    assert found.headers[0].column.data.to_pylist() == ["p", "r"]
    assert found.position is not None
    assert found.position.offsets.tolist() == [10, 12]
    assert applied(lambda batch: batch.slice(0, 0)) == Transformed(())


def test_columns_of_other_types_get_optional_schemas_and_keep_those_of_their_fields() -> None:
    def changed(batch: pa.RecordBatch) -> pa.Table:
        x = pc.struct_field(batch["value"], "x")
        more = {"x": x, "price": x.cast(pa.decimal128(30, 2)), "at": x.cast(pa.timestamp("s")), "tags": pa.array([["a"], [], None])}
        value = pa.StructArray.from_arrays(list(more.values()), list(more))
        return pa.table({"value": value, "key": x.cast(pa.int32()), "topic": ["u"] * 3, "timestamp": [1, None, 3]})

    found = only(changed)
    assert found.key.schema == ConnectSchema(ConnectType.INT32, optional=True)
    assert found.key.data.to_pylist() == [1, 2, 3]
    fields = (
        ConnectField("x", INT64), ConnectField("price", decimal(2, optional=True)), ConnectField("at", timestamp(optional=True)),
        ConnectField("tags", ConnectSchema(ConnectType.ARRAY, optional=True, value_schema=TEXT)),
    )  # fmt: skip
    assert found.value.schema == ConnectSchema(ConnectType.STRUCT, optional=True, name="Point", version=2, fields=fields)
    assert found.value.data[1].as_py()["at"] == datetime.datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert found.topics.to_pylist() == ["u"] * 3
    assert found.times_ms.tolist() == [1, NO_TIME, 3]


def test_headers_are_replaced_by_the_fields_of_the_struct() -> None:
    def set_headers(batch: pa.RecordBatch) -> pa.RecordBatch:
        headers = pa.StructArray.from_arrays([batch["headers"].field("h"), batch["row"]], ["h", "n"])
        return pa.record_batch([headers], ["headers"])

    found = only(set_headers)
    assert [(one.name, one.column.schema) for one in found.headers] == [("h", TEXT), ("n", ConnectSchema(ConnectType.INT64, optional=True))]
    assert found.headers[1].column.data.to_pylist() == [4, 6, 9]


def test_a_null_column_makes_tombstones() -> None:
    found = only(lambda batch: pa.record_batch([pa.nulls(3)], ["value"]))
    assert found.value.schema is None
    assert found.value.data.null_count == 3


def test_an_exception_is_the_error_of_its_record_alone() -> None:
    def refuse(batch: pa.RecordBatch) -> pa.RecordBatch:
        if 6 in batch["row"].to_pylist():
            raise LookupError("no such point")
        return batch

    made = applied(refuse)
    assert [(bad.row, bad.exception, bad.reason) for bad in made.bad] == [(6, "builtins.LookupError", "no such point")]
    assert sorted(row for batch in made.batches for row in batch.rows.tolist()) == [4, 9]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _: None, "returned NoneType, which is no pyarrow.RecordBatch"),
        (lambda batch: batch.rename_columns(["row", "kay", *batch.schema.names[2:]]), "column 'kay'"),
        (lambda batch: pa.record_batch([pa.array([b"x", b"y"])], ["key"]), "2 of . records without column row"),
        (lambda batch: pa.record_batch([pa.array([77])], ["row"]), "a row twice, or one that it did not get"),
        (
            lambda batch: pa.record_batch([batch["row"].cast(pa.uint64())], ["value"]),
            "Arrow type uint64, which Kafka Connect has no schema",
        ),
    ],
)
def test_what_a_function_may_not_return_is_named(function: Any, message: str) -> None:
    made = applied(function)
    assert [bad.row for bad in made.bad] == [4, 6, 9]
    assert made.batches == ()
    assert re.search(message, made.bad[0].reason), made.bad[0].reason


@transform_function
def takes(batch: pa.RecordBatch, field: str, least: str = "0") -> pa.RecordBatch:
    return batch


@pytest.mark.parametrize(
    ("name", "properties", "message"),
    [
        ("no_such_module:f", {}, "transform names no_such_module:f, which cannot be imported here"),
        ("pydoc:pipepager", {"cmd": "id"}, "transform names pydoc:pipepager, which is no transform function"),
        (f"{__name__}:takes", {}, "cannot be called: missing a required argument: 'field'"),
        (f"{__name__}:takes", {"field": "x", "most": "1"}, "cannot be called: got an unexpected keyword argument 'most'"),
    ],
)
def test_a_function_is_checked_before_the_first_record(name: str, properties: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        own_transform(name, properties)


def test_properties_are_keyword_arguments() -> None:
    assert own_transform(f"{__name__}:takes", {"field": "x", "least": "3"}).apply(BATCH).bad == ()
