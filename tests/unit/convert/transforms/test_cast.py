"""Casts of columns with and without schemas. tests/integration/convert/transforms compares all of them with Kafka's jar."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType
from ignite_kafka.convert.connect.schema import date, decimal, timestamp
from tests.support.connect_transforms import Records, outcomes

T = ConnectType


def cast(schema: ConnectSchema | None, values: list[Any], spec: str) -> list[Any]:
    made = outcomes("Cast$Value", {"spec": spec}, Records(None, [None] * len(values), schema, values))
    return [one["value"][1] if isinstance(one, dict) else one[1] for one in made]


@pytest.mark.parametrize(
    ("schema", "values", "spec", "wanted"),
    [
        (ConnectSchema(T.INT32), [1, 300, -129], "int8", ["1", "44", "127"]),
        (ConnectSchema(T.FLOAT64), [1.9, -1.9, float("nan"), 1e20], "int64", ["1", "-1", "0", str(2**63 - 1)]),
        (ConnectSchema(T.FLOAT64), [1e10, 0.5], "int8", ["-1", "0"]),
        (ConnectSchema(T.STRING), ["12", "+7", "-0"], "int16", ["12", "7", "0"]),
        (ConnectSchema(T.STRING), ["true", "TRUE", "1"], "boolean", [True, True, False]),
        (ConnectSchema(T.BOOLEAN), [True, False], "string", ["true", "false"]),
        (ConnectSchema(T.BYTES), [b"x"], "string", ["eA=="]),
        (decimal(2), [Decimal("12.50")], "string", ["12.50"]),
        (date(), [1, 4], "string", ["1970-01-02", "1970-01-05"]),
        (timestamp(), [5, 86_400_001], "string", ["00:00:00.005Z", "1970-01-02T00:00:00.001Z"]),
        (None, [1, "2.5", True], "float64", [1.0, 2.5, 1.0]),
    ],
)
def test_whole_values(schema: ConnectSchema | None, values: list[Any], spec: str, wanted: list[Any]) -> None:
    assert cast(schema, values, spec) == wanted


@pytest.mark.parametrize("text", ["", "x", "300", "1.5", " 1", "1_0"])
def test_a_text_that_is_no_number_of_the_type_fails(text: str) -> None:
    assert cast(ConnectSchema(T.STRING), [text, "1"], "int8") == [f"Value ({text}) was out of range for requested data type", "1"]


@pytest.mark.parametrize("target", ["int32", "string", "boolean"])
def test_half_of_a_surrogate_pair_fails_as_other_bad_values(target: str) -> None:
    """Before, the whole batch ended as a fault of the program, which no policy skips."""
    made = cast(None, [{"x": "\ud800"}, {"x": "7"}], f"x:{target}")
    assert made[0] == "a text has half of a surrogate pair"
    assert list(made[1]) == ["x"]


def test_fields_are_cast_in_place_and_defaults_with_them() -> None:
    schema = ConnectSchema(
        T.STRUCT, fields=(ConnectField("a", ConnectSchema(T.STRING, True, default="7")), ConnectField("b", ConnectSchema(T.INT8)))
    )
    made = outcomes("Cast$Value", {"spec": "a:int32"}, Records(None, [None] * 2, schema, [("1", 2), (None, 3)]))
    assert [one["value"][1] for one in made] == [["1", "2"], ["7", "3"]]
    assert made[0]["value"][0]["fields"][0] == ["a", {"type": "int32", "optional": True, "default": "7"}]


def test_missing_members_become_null() -> None:
    assert cast(None, [{"b": 1}], "a:int8") == [{"b": 1, "a": None}]
    assert cast(None, [{}], "a:int8") == [{"a": None}]
