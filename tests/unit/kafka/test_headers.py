"""Headers as Arrow lists: to and from single records, sizes, the last one of a name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.kafka.headers import HEADERS, Header, header_bytes, headers_of, joined_headers, last_values, pairs, same_headers
from ignite_kafka.kafka.records import Records, concat_records, record_sizes, take_rows

NAMES = st.sampled_from(["a", "b", "é", ""])
ROWS = st.lists(st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=5)), max_size=4), max_size=6)


def built(rows: list[list[tuple[str, bytes | None]]]) -> pa.ListArray:
    keys, values = [key for row in rows for key, _ in row], [value for row in rows for _, value in row]
    return headers_of(np.array([len(row) for row in rows], np.int64), pa.array(keys, pa.string()), pa.array(values, pa.binary()))


@given(ROWS)
def test_headers_of_each_record_in_their_order(rows: list[list[tuple[str, bytes | None]]]) -> None:
    headers = built(rows)
    headers.validate(full=True)
    assert headers.type == HEADERS
    assert headers.to_pylist() == [[{"key": key, "value": value} for key, value in row] or None for row in rows]
    assert pairs(headers) == rows
    for start in range(len(rows)):
        assert pairs(headers[start:]) == rows[start:]
    assert header_bytes(headers).tolist() == [sum(len(key.encode()) + len(value or b"") for key, value in row) for row in rows]


@given(ROWS)
def test_the_last_header_of_a_name(rows: list[list[tuple[str, bytes | None]]]) -> None:
    values, there = last_values(built(rows), "a")
    wanted = [[value for key, value in row if key == "a"] for row in rows]
    assert there.tolist() == [bool(found) for found in wanted]
    assert values.to_pylist() == [found[-1] if found else None for found in wanted]


def test_headers_and_times_stay_with_their_records() -> None:
    rows: list[list[tuple[str, bytes | None]]] = [[("a", b"1")], [], [("b", None), ("b", b"2")]]
    keys = pa.array([b"x", b"y", b"z"])
    records = Records(keys, keys, headers=built(rows), times_ms=np.array([5, 6, 7]))
    taken = take_rows(records, np.array([2, 0]))
    assert taken.headers is not None
    assert taken.times_ms is not None
    wanted: list[list[Header]] = [[("b", None), ("b", b"2")], [("a", b"1")]]
    assert (pairs(taken.headers), taken.times_ms.tolist()) == (wanted, [7, 5])
    both = concat_records([taken, records])
    assert both.headers is not None
    assert both.times_ms is not None
    assert (pairs(both.headers), both.times_ms.tolist()) == ([*wanted, *rows], [7, 5, 5, 6, 7])
    assert record_sizes(records).tolist() == [4, 2, 5]
    assert records.nbytes == 11
    assert concat_records([Records(keys, keys), Records(keys, keys)]).headers is None


@given(ROWS, st.data())
def test_further_headers_follow_those_of_their_record(rows: list[list[tuple[str, bytes | None]]], data: st.DataObject) -> None:
    more = data.draw(
        st.lists(st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=5)), max_size=3), min_size=len(rows), max_size=len(rows))
    )
    joined = joined_headers(built(rows), built(more))
    assert joined is not None
    assert pairs(joined) == [[*first, *second] for first, second in zip(rows, more, strict=True)]
    assert joined_headers(None, None) is None
    for one in (joined_headers(built(rows), None), joined_headers(None, built(rows))):
        assert one is not None
        assert pairs(one) == rows


def test_records_with_the_same_names() -> None:
    values = [pa.array([b"1", None], pa.binary()), pa.array([b"x", b"y"], pa.binary())]
    assert pairs(same_headers(["a", "b"], values, 2)) == [[("a", b"1"), ("b", b"x")], [("a", None), ("b", b"y")]]
    assert same_headers([], [], 2).to_pylist() == [None, None]


def test_batches_with_headers_and_without_are_joined() -> None:
    one = Records(pa.array([b"k"], pa.binary()), pa.array([b"v"], pa.binary()))
    with_headers = Records(one.keys, one.values, headers=built([[("a", b"1")]]), times_ms=np.array([5]))
    joined = concat_records([one, with_headers])
    assert joined.headers is not None
    assert pairs(joined.headers) == [[], [("a", b"1")]]
    assert joined.times_ms is not None
    assert joined.times_ms.tolist() == [0, 5]
