"""Headers with the version of a write: written as texts, and refused in any other form."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.ignite.entry_versions import MOST_RANK, EntryVersions
from ignite_kafka.kafka.headers import HEADERS, pairs
from ignite_kafka.kafka.version_headers import CLUSTER, ORDER, RANK, RULE, has_rule, read_versions, version_headers

HIGHEST = 10**18 - 1  # orders are milliseconds since 1970, times 65,536: they have 18 digits until 2453


def test_what_is_written_is_read_again() -> None:
    versions = EntryVersions(np.array([0, 1, HIGHEST], np.int64), np.array([1, 7, 31], np.int8), np.array([0, 5, MOST_RANK]))
    plain = [(ORDER, str(HIGHEST).encode()), (CLUSTER, b"31")]
    for rule, expected in (("", plain), ("field a", [*plain, (RANK, str(MOST_RANK).encode()), (RULE, b"field a")])):
        headers = version_headers(versions, rule)
        assert pairs(headers)[2] == expected
        read, valid = read_versions(headers)
        assert valid.all()
        assert read.orders.tolist() == versions.orders.tolist()
        assert read.clusters.tolist() == versions.clusters.tolist()
        assert read.ranks.tolist() == (versions.ranks.tolist() if rule else [0, 0, 0])
        assert [has_rule(headers, other).all() for other in ("", "field a", "field b")] == [not rule, bool(rule), False]


@pytest.mark.parametrize(
    "headers",
    [
        None,
        [],
        [(ORDER, b"1")],
        [(CLUSTER, b"1")],
        [(ORDER, None), (CLUSTER, b"1")],
        [(ORDER, b"1"), (CLUSTER, b"0")],
        [(ORDER, b"1"), (CLUSTER, b"32")],
        [(ORDER, b"-1"), (CLUSTER, b"1")],
        [(ORDER, b"1\n"), (CLUSTER, b"1")],
        [(ORDER, b"\xff\xfe"), (CLUSTER, b"1")],
        [(ORDER, b"9223372036854775808"), (CLUSTER, b"1")],
        [(ORDER, "１".encode()), (CLUSTER, b"1")],
        [(ORDER, b"1"), (CLUSTER, b"1"), (RULE, b"field a")],
        [(ORDER, b"1"), (CLUSTER, b"1"), (RULE, b"field a"), (RANK, b"-1")],
        [(ORDER, b"1"), (CLUSTER, b"1"), (RULE, b"field a"), (RANK, str(MOST_RANK + 1).encode())],
    ],
)
def test_other_headers_are_no_version(headers: list[tuple[str, bytes | None]] | None) -> None:
    good = [(ORDER, b"2"), (CLUSTER, b"3")]
    of_records = [None if row is None else [{"key": key, "value": value} for key, value in row] for row in (good, headers, good)]
    read, valid = read_versions(pa.array(of_records, HEADERS))
    assert valid.tolist() == [True, False, True]
    assert read.orders[valid].tolist() == [2, 2]
    assert read.clusters[valid].tolist() == [3, 3]


def test_the_last_header_of_a_name_counts() -> None:
    rows = [[{"key": key, "value": value} for key, value in ((ORDER, b"1"), (CLUSTER, b"1"), (ORDER, b"5"))]]
    read, valid = read_versions(pa.array(rows, HEADERS))
    assert (valid.tolist(), read.orders.tolist()) == ([True], [5])
