"""Setting select of a sink: names without case, exact names first, schemas with the selected fields, and refused values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.transforms import select_fields
from ignite_kafka.convert.transforms.batch import Transformed
from ignite_kafka.convert.transforms.chain import apply_chain
from ignite_kafka.convert.transforms.select_fields import select_step
from ignite_kafka.sql import parse_columns
from tests.support.connect_transforms import Records
from tests.support.randomness import examples

STRUCT = ConnectSchema(
    ConnectType.STRUCT,
    optional=True,
    name="Trade",
    fields=(ConnectField("price", ConnectSchema(ConnectType.FLOAT64)), ConnectField("Symbol", ConnectSchema(ConnectType.STRING, True))),
)


def selected(select: str, schema: ConnectSchema | None, *values: Any) -> Transformed:
    return apply_chain(Records(None, [None] * len(values), schema, values).batch(), [select_step(parse_columns(select))])


def test_structs_have_the_chosen_fields_and_the_schema_its_name() -> None:
    made = selected("symbol AS s, PRICE, other", STRUCT, [1.5, None], None, [2.5, "B"])
    by_row = {row: (batch, at) for batch in made.batches for at, row in enumerate(batch.rows.tolist())}
    assert {row: batch.value.data[at].as_py() for row, (batch, at) in by_row.items()} == {
        0: {"s": None, "price": 1.5}, 1: None, 2: {"s": "B", "price": 2.5},
    }  # fmt: skip
    schema = by_row[0][0].value.schema
    assert schema is not None
    assert (schema.name, [(one.name, one.schema.type) for one in schema.fields]) == (
        "Trade", [("s", ConnectType.STRING), ("price", ConnectType.FLOAT64)],
    )  # fmt: skip


def test_values_without_a_schema_keep_their_numbers_and_the_exact_name_wins() -> None:
    made = selected("A AS b, a", None, {"a": 1, "A": 1.50}, {"A": [2]}, {"b": 3})
    texts = {row: json.loads(text) for batch in made.batches for row, text in zip(batch.rows, batch.value.data.to_pylist(), strict=True)}
    assert texts == {0: {"b": 1.5, "a": 1}, 1: {"b": [2], "A": [2]}}
    assert [(bad.row, bad.reason) for bad in made.bad] == [(2, "select names A, a, and the value has b")]


MAPS = st.dictionaries(st.sampled_from("aAbc"), st.none() | st.integers(-9, 9) | st.text('x\u00e9"', max_size=2))


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.none() | MAPS, max_size=8))
def test_of_columns_are_chosen_the_fields_that_are_chosen_of_rows(values: list[Any]) -> None:
    for select in ("c AS d, A", "B, b AS x"):
        by_columns = selected(select, None, *values)
        with pytest.MonkeyPatch.context() as rows:
            rows.setattr(select_fields, "objects_of", lambda _: None)
            by_rows = selected(select, None, *values)
        assert by_columns.bad == by_rows.bad
        assert [(one.rows.tolist(), one.value.data.to_pylist()) for one in by_columns.batches] == [
            (one.rows.tolist(), one.value.data.to_pylist()) for one in by_rows.batches
        ]


def test_rows_of_flat_objects_are_not_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select_fields, "parsed", lambda _: pytest.fail("read alone"))
    made = selected("a AS b, C", None, {"a": 1, "c": 2}, None, {"c": "x"})
    texts = {row: text for batch in made.batches for row, text in zip(batch.rows.tolist(), batch.value.data.to_pylist(), strict=True)}
    assert texts == {0: b'{"b":1,"c":2}', 1: None, 2: b'{"c":"x"}'}


def test_a_value_that_is_no_object_has_no_fields() -> None:
    made = selected("a", ConnectSchema(ConnectType.STRING), "text")
    assert "Only Struct objects supported for [select]" in made.bad[0].reason
