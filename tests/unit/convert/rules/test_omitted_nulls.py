"""Null fields left out of JSON objects, whatever names and texts are there."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.json.write_columns import JsonFormat, text
from tests.support.randomness import examples

NAMES = ["a", "b", "a.b", "null", "x$y", "ä", 'q"', ",", ":", '":null', "a b", "\\", "{", "n\0"]
TEXTS = (
    st.none()
    | st.sampled_from(['","a":null', '{"a":null}', ',"a":null,', '\\"a":null', ":null", '"', "a", "{", ",", "x{"])
    | st.text(max_size=4)
)


@st.composite
def structs(draw: st.DrawFn, depth: int = 0) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    kinds: dict[str, pa.DataType] = {}
    made: dict[str, st.SearchStrategy[Any]] = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)):
        choice = draw(st.sampled_from(["text", "int", "map", "list", "struct"] if depth < 2 else ["text", "int"]))
        if choice == "text":
            kinds[name], made[name] = pa.string(), TEXTS
        elif choice == "int":
            kinds[name], made[name] = pa.int64(), st.none() | st.integers(0, 9)
        elif choice == "map":
            kinds[name] = pa.map_(pa.string(), pa.string())
            made[name] = st.none() | st.dictionaries(st.sampled_from(["a", "b"]), TEXTS, max_size=2).map(lambda one: list(one.items()))
        else:
            inner, values = draw(structs(depth + 1))
            kinds[name] = inner if choice == "struct" else pa.list_(inner)
            made[name] = st.none() | (values if choice == "struct" else st.lists(st.none() | values, max_size=2))
    return pa.struct([pa.field(name, kind) for name, kind in kinds.items()]), st.fixed_dictionaries(made)


def expected(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {one.name: expected(value[one.name], one.type) for one in kind if value[one.name] is not None}
    if pa.types.is_list(kind):
        return [expected(item, kind.value_type) for item in value]
    return dict(value) if pa.types.is_map(kind) else value


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_null_fields_are_left_out_and_nothing_else(data: st.DataObject) -> None:
    kind, values = data.draw(structs())
    rows = data.draw(st.lists(values, min_size=1, max_size=5))
    made = text(pa.array(rows, kind), pa.field("", kind), JsonFormat(omit_nulls=True))
    for row, found in zip(rows, made.to_pylist(), strict=True):
        wanted = expected(row, kind)
        assert json.loads(found) == wanted
        assert list(json.loads(found)) == list(wanted)


@pytest.mark.parametrize("value", [{"a": None, "b": 1}, {"a": None, "b": None}, {"a": 1, "b": None}, {"a": 1, "b": 2}])
def test_an_object_alone_and_among_others_has_the_same_bytes(value: dict[str, int | None]) -> None:
    kind = pa.struct([("a", pa.int64()), ("b", pa.int64())])
    others = [{"a": None, "b": None}, value, {"a": 5, "b": 6}]
    form, field = JsonFormat(omit_nulls=True), pa.field("", kind)
    (alone,) = text(pa.array([value], kind), field, form).to_pylist()
    assert text(pa.array(others, kind), field, form).to_pylist()[1] == alone
    assert alone.decode() == json.dumps({name: item for name, item in value.items() if item is not None}, separators=(",", ":"))
