"""A sink's filters and `select`: unmatched records are not stored, offsets advance, tombstones pass; selected fields are stored."""

from __future__ import annotations

import json

import pytest

from ignite_kafka.errors import RecordRefused
from tests.support.sink_connector import Sink, expected, trade


def test_records_that_do_not_match_are_not_stored_and_their_offsets_are_committed(sink: Sink) -> None:
    sink.send([trade(number) for number in range(300)])
    counts = sink.run(where="price >= 50 AND open").caches[sink.cache]
    kept = {number: expected(number) for number in range(300) if number / 4 >= 50 and number % 2 == 0}
    assert sink.entries() == kept
    assert (counts.records, counts.entries, counts.filtered) == (300, len(kept), 300 - len(kept))
    assert sum(sink.group().values()) == 300


def test_tombstones_pass_whatever_the_filter_says(sink: Sink) -> None:
    sink.send([trade(1), trade(2)], partition=0)
    sink.run()
    sink.send([(b"1", None), trade(2, price=1_000)], partition=0)
    counts = sink.run(where="id < 0").caches[sink.cache]
    assert sink.entries() == {2: expected(2)}
    assert (counts.records, counts.entries, counts.filtered) == (2, 1, 1)


def test_columns_of_the_record(sink: Sink) -> None:
    sink.send([trade(number) for number in range(10)], partition=1)
    where = f"_topic = '{sink.topic}' AND _partition = 1 AND _offset BETWEEN 3 AND 5 AND _timestamp > TIMESTAMP '2020-01-01 00:00:00Z'"
    sink.run(where=where)
    assert set(sink.entries()) == {3, 4, 5}


def test_a_wrong_column_is_a_bad_record(sink: Sink) -> None:
    sink.send([trade(1)], partition=0)
    with pytest.raises(RecordRefused, match="names column pricee") as refused:
        sink.run(where="pricee > 1")
    assert refused.value.where["stage"] == "TRANSFORMATION"
    assert sink.group()[0] == 0
    counts = sink.run(where="pricee > 1", error_handling_policy="LOG_ONLY").caches[sink.cache]
    assert (counts.records, counts.entries, counts.bad) == (1, 0, 1)


def test_a_function_of_the_user_filters(sink: Sink) -> None:
    sink.send([trade(number) for number in range(50)])
    sink.run(filter="tests.support.filters:every_tenth")
    assert set(sink.entries()) == {0, 10, 20, 30, 40}


@pytest.mark.parametrize("schemas", ["true", "false"])
def test_the_fields_of_select_are_stored_and_no_other(sink: Sink, schemas: str) -> None:
    """Unselected fields are not part of the type in the cluster either; a renamed field has the declared type of its new name."""
    columns = {"symbol": "java.lang.String", "cost": "java.lang.Float"}
    records = [trade(number) for number in range(60)]
    if schemas == "true":
        types = {"id": "int64", "symbol": "string", "price": "double", "open": "boolean"}
        schema = {"type": "struct", "fields": [{"field": name, "type": kind, "optional": True} for name, kind in types.items()]}
        wrapped = [(key, json.dumps({"schema": schema, "payload": json.loads(value or b"")}).encode()) for key, value in records]
        records = list(wrapped)
    sink.send([*records, (b"0", None)], partition=0)
    config = {"value_converter_config": {"schemas.enable": schemas}}
    counts = sink.run(select="SYMBOL, price AS cost", where="cost < 10 AND _key <> 2", cache_fields=columns, **config).caches[sink.cache]
    kept = [number for number in range(1, 40) if number != 2]
    assert sink.entries() == {number: {"symbol": f"SYM \u00fc {number % 7}", "cost": number / 4} for number in kept}
    assert (counts.records, counts.filtered, counts.bad) == (61, 21, 0)
    with sink.ignite.client() as client:
        (row,) = client.sql(f'select count(*), sum(cost) from "{sink.cache}".Trade{sink.name}')
        assert row == [len(kept), sum(number / 4 for number in kept)]


def test_a_record_without_the_selected_fields_is_a_bad_record(sink: Sink) -> None:
    sink.send([trade(1), (b"2", b'{"other":1}')], partition=0)
    with pytest.raises(RecordRefused, match="select names symbol, and the value has other") as refused:
        sink.run(select="symbol")
    assert (refused.value.where["stage"], refused.value.where["setting"], sink.group()[0]) == ("TRANSFORMATION", "select", 1)
