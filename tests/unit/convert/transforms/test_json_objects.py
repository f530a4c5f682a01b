"""Objects as columns of members: split, joined, and transformed with the same results as row by row."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectColumn
from ignite_kafka.convert.transforms.catalog import make_transform
from ignite_kafka.convert.transforms.chain import Step, apply_chain
from ignite_kafka.convert.transforms.json_objects import JsonObjects, is_split, joined, objects_of
from tests.support.connect_transforms import Records, outcomes
from tests.support.randomness import examples
from tests.support.transform_cases import CONFIGURATIONS, FLAT_MAPS

TEXTS = [b'{"a":1.50,"b":"x"}', None, b'{"b":null}', b"null", b'{"a":[1],"c":true}', b'{"a":2,"c":"\\n"}']
FLAT = [text for text in TEXTS if text is None or b"[" not in text]


def column(texts: list[bytes | None]) -> ConnectColumn:
    return ConnectColumn(pa.array(texts, pa.binary()), None)


def test_objects_are_joined_to_the_texts_that_they_were() -> None:
    objects = objects_of(column(FLAT))
    assert objects is not None
    assert list(objects.members) == ["a", "b", "c"]
    made = objects.column()
    assert is_split(made)
    assert objects_of(made) == objects
    assert joined(made).data.to_pylist() == [None if text == b"null" else text for text in FLAT]
    assert joined(ConnectColumn(made.data.slice(2), None)).data.to_pylist() == [FLAT[2], None, FLAT[4]]


def test_members_may_all_be_missing() -> None:
    nothing = pa.nulls(2, pa.binary())
    assert joined(JsonObjects(2, {"a": nothing, "b": nothing}).column()).data.to_pylist() == [b"{}", b"{}"]
    assert joined(JsonObjects(2).column()).data.to_pylist() == [b"{}", b"{}"]
    assert joined(JsonObjects(2, {}, pa.array([True, False])).column()).data.to_pylist() == [None, b"{}"]


def test_names_are_escaped() -> None:
    assert joined(JsonObjects(1, {'"\n': pa.array([b"1"], pa.binary())}).column()).data.to_pylist() == [b'{"\\"\\n":1}']


@pytest.mark.parametrize("texts", [TEXTS, [None, None], [b"1"], []])
def test_other_columns_stay(texts: list[bytes | None]) -> None:
    assert objects_of(column(texts)) is None
    assert joined(column(texts)).data.to_pylist() == texts


MODULES = (
    "cast", "extract_field", "flatten", "headers", "hoist_field", "insert_field", "mask_field", "replace_field", "timestamp_converter",
    "value_to_key",
)  # fmt: skip


@pytest.mark.parametrize("name", [name for name in CONFIGURATIONS if name.endswith("$Value")] + ["ValueToKey"])
def test_transforms_make_of_columns_what_they_make_of_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compares bytes of larger batches; tests/integration/convert/transforms compares with Kafka's own results."""

    @settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.none() | FLAT_MAPS, min_size=1, max_size=12), CONFIGURATIONS[name])
    def run(values: list[Any], properties: dict[str, str]) -> None:
        records = Records(None, [None] * len(values), None, values)
        by_columns = outcomes(name, properties, records)
        with monkeypatch.context() as rows:
            for module in MODULES:
                rows.setattr(importlib.import_module(f"ignite_kafka.convert.transforms.{module}"), "objects_of", lambda _: None)
            assert by_columns == outcomes(name, properties, records)

    run()


def test_a_chain_splits_once_and_gives_whole_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    module = importlib.import_module("ignite_kafka.convert.transforms.json_objects")
    split = module.split

    def counting(texts: pa.BinaryArray) -> Any:
        calls.append(len(texts))
        return split(texts)

    monkeypatch.setattr(module, "split", counting)
    chain = {
        "InsertField$Value": {"static.field": "s", "static.value": "v"}, "ReplaceField$Value": {"renames": "a:b"},
        "MaskField$Value": {"fields": "t"}, "Cast$Value": {"spec": "b:string"}, "HoistField$Value": {"field": "h"},
    }  # fmt: skip
    steps = [Step(name, make_transform(name, properties, sink=True)) for name, properties in chain.items()]
    records = Records(None, [None] * 3, None, [{"a": row, "t": "x"} for row in range(3)])
    made = apply_chain(records.batch(), steps).batches[0].value
    assert [json.loads(text) for text in made.data.to_pylist()] == [{"h": {"b": str(row), "t": "", "s": "v"}} for row in range(3)]
    assert calls == [3]
