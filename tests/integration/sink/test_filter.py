"""Filters of a sink: records that do not match are not stored, offsets move, tombstones pass."""

from __future__ import annotations

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
