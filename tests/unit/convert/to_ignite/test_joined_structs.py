"""Records that leave out null fields are read as one schema, and give what each of them gives alone."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ignite_kafka.common.record_limits import MAX_FIELDS
from ignite_kafka.convert.connect.columns import ConnectColumn, ConnectPart
from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType, decimal
from ignite_kafka.convert.to_ignite.joined_structs import joined_parts
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support.connect_records import BOOLEAN, INT32, INT64, STRING, Value, column_of, converted, numbered_converter, struct
from tests.support.randomness import examples, generator
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded

FREE = CacheInfo("free", 2)
FIELDS = {"a": INT32, "b": STRING, "c": BOOLEAN, "d": decimal(2), "e": ConnectSchema(ConnectType.ARRAY, value_schema=INT64)}


def record(rng: random.Random, odd: float, name: str) -> tuple[ConnectSchema, dict[str, Any]]:
    """A STRUCT with some of the fields and its value; `odd` is how often one has another type or spelling."""
    fields = {"id": INT64}
    value: dict[str, Any] = {"id": rng.randrange(100)}
    for label, schema in FIELDS.items():
        if rng.random() < 0.5:
            fields[label] = schema
            some: Any = {"a": 7, "b": "x", "c": True, "d": None, "e": [1, 2]}[label]
            value[label] = None if rng.random() < 0.2 else some
    if rng.random() < odd:
        fields["a"], value["a"] = INT64, 1 << 40
    if rng.random() < odd:
        fields["B"], value["B"] = STRING, "y"
    if len(name) < 3 and rng.random() < 0.5:
        fields["o"], value["o"] = record(rng, odd, name + "o")
        value["o"] = value["o"] if rng.random() < 0.8 else None
    if rng.random() < 0.1:
        fields["u"], value["u"] = struct("undefined"), None
    return struct(name, **fields), value


@pytest.mark.parametrize("seed", range(examples(20)))
def test_a_batch_gives_what_its_records_give_one_by_one(seed: int) -> None:
    rng = generator(seed)
    odd = rng.choice([0, 0, 0.02])
    values: list[Value] = [record(rng, odd, rng.choice("TTU")) for _ in range(rng.choice([2, 40]))]
    types, alone = GrowingTypes(), GrowingTypes()
    whole = converted(FREE, types, list(values))
    one_by_one = numbered_converter(FREE, alone, values)
    singles = [one_by_one.convert(consumed([str(row).encode()], [str(row).encode()])) for row in range(len(values))]
    assert [(bad.row, bad.reason) for bad in whole.bad] == [(row, bad.reason) for row, found in enumerate(singles) for bad in found.bad]
    made = {row: value for row, (_, value) in zip(whole.rows.tolist(), decoded(whole, types), strict=True)}
    for row, found in enumerate(singles):
        for _, value in decoded(found, alone):
            assert without_nulls(made[row]) == without_nulls(value)
    names = [one.name for one in types.known.values()]
    assert {name: field_names(types, name) for name in names} == {name: field_names(alone, name) for name in names}


def field_names(types: GrowingTypes, name: str) -> list[tuple[str, int]]:
    (kind,) = [one for one in types.known.values() if one.name == name]
    return [(one.name, one.type_code) for one in kind.fields]


def without_nulls(value: Any) -> Any:
    """Fields that the type got later are null in the objects of a batch."""
    if not hasattr(value, "fields"):
        return value
    return value.type_name, {name: without_nulls(one) for name, one in value.fields.items() if one is not None}


def part(row: int, schema: ConnectSchema, value: Any) -> ConnectPart:
    return ConnectPart(np.array([row]), ConnectColumn(column_of(schema, [value]), schema))


def test_however_many_schemas_are_one_part() -> None:
    names = [f"f{number}" for number in range(12)]
    schemas = [struct("T", id=INT64, **{one: INT32 for at, one in enumerate(names) if row >> at & 1}) for row in range(1 << 12)]
    parts = [part(row, schema, {one.name: row for one in schema.fields}) for row, schema in enumerate(schemas)]
    (joined,) = joined_parts(parts)
    assert joined.rows.tolist() == list(range(1 << 12))
    wanted = [{"id": row, **{one: row if row >> at & 1 else None for at, one in enumerate(names)}} for row in range(1 << 12)]
    assert joined.column.data.to_pylist() == wanted


T, A = struct("T", a=INT32), {"a": 1}
ODD: dict[str, tuple[ConnectSchema, Any]] = {
    "type": (struct("T", a=INT64), A),
    "case": (struct("T", A=INT32), {"A": 1}),
    "object": (struct("T", a=struct("I", x=INT32)), {"a": {"x": 1}}),
}


@pytest.mark.parametrize("name", ODD)
def test_schemas_that_contradict_each_other_are_kept(name: str) -> None:
    given = [
        (T, A),
        (struct("T", b=STRING), {"b": "x"}),
        ODD[name],
        (struct("U", a=INT64), A),
        (struct("U", b=STRING), {"b": "x"}),
        (INT32, 1),
    ]
    found = joined_parts([part(row, *one) for row, one in enumerate(given)])
    assert [one.rows.tolist() for one in found] == [[0], [1], [2], [3, 4], [5]]


def test_no_part_has_more_fields_than_a_type_may_get() -> None:
    wide = [struct("T", **{f"f{row}_{number}": INT32 for number in range(900)}) for row in range(3)]
    found = joined_parts([part(row, schema, {one.name: 1 for one in schema.fields}) for row, schema in enumerate(wide)])
    assert [one.rows.tolist() for one in found] == [[0], [1], [2]]
    assert max(one.column.data.type.num_fields for one in found) <= MAX_FIELDS
