"""The schema of a type's first value as that of all its values."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka import events
from ignite_kafka.convert.connect import ConnectColumn, ConnectField, ConnectPart, ConnectSchema, ConnectType
from ignite_kafka.convert.connect.schema import arrow_type
from ignite_kafka.convert.to_kafka.first_schemas import FirstSchemas
from ignite_kafka.errors import UnsupportedType

INT, TEXT = ConnectSchema(ConnectType.INT32, True), ConnectSchema(ConnectType.STRING, True)


def part(value: dict[str, object], **fields: ConnectSchema) -> ConnectPart:
    schema = ConnectSchema(ConnectType.STRUCT, name="T", fields=tuple(ConnectField(*one) for one in fields.items()))
    return ConnectPart(np.arange(1), ConnectColumn(pa.array([value], arrow_type(schema)), schema))


def test_later_fields_are_left_out_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    held = FirstSchemas(10)
    first = part({"a": 1}, a=INT)
    assert held.applied("c", "T", first) is first
    for _ in range(2):
        later = held.applied("c", "T", part({"a": 2, "b": "x"}, a=INT, b=TEXT))
        assert (later.column.schema, later.column.data.to_pylist()) == (first.column.schema, [{"a": 2}])
    named = [record.__dict__["event_fields"] for record in caplog.records if record.__dict__["event_id"] == events.FIELD_LEFT_OUT.id]
    assert named == [{"cache": "c", "type": "T", "field": "b"}]
    absent = held.applied("c", "T", part({}))
    assert absent.column.data.to_pylist() == [{"a": None}]


def test_a_field_of_another_type_is_refused() -> None:
    held = FirstSchemas(10)
    held.applied("c", "T", part({"a": 1}, a=INT))
    with pytest.raises(UnsupportedType, match=r"field a of T has schema string, and .* has int32.*is_schema_dynamic"):
        held.applied("c", "T", part({"a": "x"}, a=TEXT))
    assert held.applied("other", "T", part({"a": "x"}, a=TEXT)).column.data.to_pylist() == [{"a": "x"}]


def test_number_and_age_are_bounded() -> None:
    now = [0.0]
    held = FirstSchemas(1, ttl_ms=1_000, clock=lambda: now[0])
    held.applied("c", "T", part({"a": 1}, a=INT))
    now[0] = 1.5
    newer = part({"b": "x"}, b=TEXT)
    assert held.applied("c", "T", newer) is newer  # the first one is too old
    held.applied("c", "U", part({"a": 1}, a=INT))
    again = part({"a": 1}, a=INT)
    assert held.applied("c", "T", again) is again  # the first one had to leave
