"""The header with a cache's name: appended to those of a record, and of several the last one counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ignite_kafka.kafka.cache_headers import cache_in, is_of_cache, with_cache_header
from ignite_kafka.kafka.headers import Header, headers_of, pairs
from ignite_kafka.kafka.records import Records

KEYS, VALUES = pa.array([b"1", b"2"], pa.binary()), pa.array([b"a", None], pa.binary())


def test_each_record_gets_the_header_behind_its_own() -> None:
    own = headers_of(np.array([1, 0]), pa.array(["cache"]), pa.array([b"of a transform"], pa.binary()))
    headers = with_cache_header(Records(KEYS, VALUES, headers=own), "cache", "größe").headers
    assert headers is not None
    name = "größe".encode()
    assert pairs(headers) == [[("cache", b"of a transform"), ("cache", name)], [("cache", name)]]
    assert [cache_in(row, "cache") for row in pairs(headers)] == [name, name]
    assert is_of_cache(headers, "cache", "größe").tolist() == [True, True]
    assert is_of_cache(headers, "cache", "of a transform").tolist() == [False, False]


def test_without_the_setting_records_stay_as_they_are() -> None:
    records = Records(KEYS, VALUES)
    assert with_cache_header(records, "", "orders") is records


def test_records_without_the_header_are_of_no_cache() -> None:
    rows: list[list[Header]] = [
        [],
        [("other", b"orders")],
        [("cache", None)],
        [("cache", b"orders")],
        [("cache", b"orders"), ("cache", b"")],
    ]
    headers = headers_of(
        np.array(list(map(len, rows))),
        pa.array([name for row in rows for name, _ in row]),
        pa.array([value for row in rows for _, value in row], pa.binary()),
    )
    assert is_of_cache(headers, "cache", "orders").tolist() == [False, False, False, True, False]
    assert [cache_in(row, "cache") for row in rows] == [None, None, None, b"orders", b""]
    assert is_of_cache(headers[:2], "cache", "orders").tolist() == [False, False]
    assert cache_in(None, "cache") is None
