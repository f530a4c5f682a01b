"""The numbers by which a sink orders the entries of a key, and the records that have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.convert.to_ignite import Entries
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.binary.row_values import Date, Timestamp
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.entry_order import with_order
from tests.support.bad_entries import long
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, number, string, written


def ordered(code: int, *fields: bytes | None, name: str = "at") -> Entries:
    """Entries of a type with one field of a type code; None: a removal."""
    types = Types()
    kind = types.add("T", {name: code, "text": codes.STRING})
    values = [None if field is None else binary(kind, {name: field, "text": string("x")}) for field in fields]
    rows = np.arange(len(fields)) * 2
    return with_order(
        Entries(rows, pa.array([long(row) for row in rows.tolist()], pa.binary()), pa.array(values, pa.binary())),
        "At",
        CACHE,
        types,
    )


@pytest.mark.parametrize(
    ("code", "fields", "numbers"),
    [
        (codes.BYTE, [number(codes.BYTE, -3), number(codes.BYTE, 9)], [-3, 9]),
        (codes.SHORT, [number(codes.SHORT, -3)], [-3]),
        (codes.INT, [number(codes.INT, 1 << 30)], [1 << 30]),
        (codes.LONG, [number(codes.LONG, (1 << 63) - 1), number(codes.LONG, -1 << 63)], [(1 << 63) - 1, -1 << 63]),
        (codes.DATE, [written(Date(5)), written(Date(-5)), written(Date((1 << 63) - 1))], [5_000, -5_000, ((1 << 63) // 1000 - 1) * 1000]),
        (codes.TIMESTAMP, [written(Timestamp(-1, 5_001_999))], [-1_000_000 + 5_001]),
    ],
)  # fmt: skip
def test_numbers_are_as_they_are_and_times_are_microseconds(code: int, fields: list[bytes], numbers: list[int]) -> None:
    made = ordered(code, *fields)
    assert made.order is not None
    assert (made.order.tolist(), made.bad) == (numbers, ())


def test_removals_and_values_without_the_field_are_bad_records() -> None:
    made = ordered(codes.LONG, number(codes.LONG, 1), None, NULL, number(codes.LONG, 2))
    assert made.order is not None
    assert (made.rows.tolist(), made.order.tolist()) == ([0, 6], [1, 2])
    assert [(bad.row, bad.stage) for bad in made.bad] == [(2, Stage.PUT), (4, Stage.PUT)]
    assert "is a removal, which has no field" in made.bad[0].reason
    assert "the value has no such field" in made.bad[1].reason


@pytest.mark.parametrize(("code", "field", "name"), [(codes.DOUBLE, written(1.5), "at"), (codes.LONG, written(1), "other")])
def test_a_field_of_another_type_or_name_orders_nothing(code: int, field: bytes, name: str) -> None:
    made = ordered(code, field, name=name)
    assert (len(made), len(made.bad)) == (0, 1)


def test_values_that_are_no_objects_are_bad_records() -> None:
    values = pa.array([string("x"), number(codes.LONG, 5)], pa.binary())
    assert ordered(codes.LONG, NULL).bad
    assert ordered(codes.LONG, None).bad
    made = with_order(Entries(np.arange(2), pa.array([long(1), long(2)], pa.binary()), values), "at", CACHE, Types())
    assert (len(made), len(made.bad)) == (0, 2)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"process_updates": True}, "delivery is not strict"),
        ({"delivery": "strict"}, "process_updates is false"),
        ({"delivery": "strict", "process_updates": True, "value_converter": "string"}, "value_converter string reads no fields"),
        ({"delivery": "strict", "process_updates": True, "select": "id, time AS t"}, "select has no at"),
    ],
)
def test_settings_under_which_nothing_would_be_compared_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        SinkSettings.from_dict({"name": "c", "topics": "t", "order_field": "at", **settings})


def test_a_selected_field_orders_entries_under_its_new_name() -> None:
    given = {"order_field": "at", "delivery": "strict", "process_updates": True, "select": "id, time AS At"}
    assert SinkSettings.from_dict({"name": "c", "topics": "t", **given}).order_field == "at"
