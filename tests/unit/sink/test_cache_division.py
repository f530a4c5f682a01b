"""Records of one topic by the header that names their cache: only admitted names choose one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.kafka.headers import headers_of
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.cache_division import cache_of_name, divide_by_cache
from tests.support.to_ignite_records import consumed


def with_names(given: Consumed, names: list[bytes | None]) -> Consumed:
    """Give each record a header with its name; None: the record has no header."""
    counts = np.array([name is not None for name in names], np.int64)
    present = [name for name in names if name is not None]
    return replace(given, headers=headers_of(counts, pa.array(["cache"] * len(present), pa.string()), pa.array(present, pa.binary())))


def settings(**more: object) -> SinkSettings:
    return SinkSettings.from_dict({"name": "c", "topics": "topic", "cache_header": "cache", "header_caches": "orders,returns", **more})


def test_the_records_of_each_cache_keep_their_order() -> None:
    given = consumed([b"1", b"2", None, b"4", b"5"], [b"k", b"k", b"k", b"k", b"l"])
    parts, bad = divide_by_cache(with_names(given, [b"orders", b"returns", b"orders", b"returns", b"orders"]), settings())
    assert bad == []
    assert [(part.named, part.cache, part.rows.tolist()) for part in parts] == [
        ("orders", "orders", [0, 2, 4]),
        ("returns", "returns", [1, 3]),
    ]
    orders = parts[0].consumed
    assert (orders.keys.to_pylist(), orders.values.to_pylist()) == ([b"k", b"k", b"l"], [b"1", None, b"5"])
    assert (orders.topic, orders.partition, orders.offsets.tolist()) == ("topic", 3, [100, 102, 104])


def test_records_that_name_no_admitted_cache_are_bad_records() -> None:
    names = [None, b"staff", b"orders", b"", b"\xff", b"orders2", b"o" * 300]
    parts, bad = divide_by_cache(with_names(consumed([b"1"] * 7), names), settings(header_caches="orders,o+,\\uFFFD"))
    assert [part.rows.tolist() for part in parts] == [[2]]
    assert [(record.row, record.stage) for record in bad] == [(row, Stage.HEADER) for row in (0, 1, 3, 4, 5, 6)]
    assert bad[0].reason == "the record has no header cache, which names its cache"
    assert bad[1].reason == "header cache names cache staff, which header_caches does not admit"
    assert max(len(record.reason) for record in bad) < 400


def test_no_record_has_the_header() -> None:
    parts, bad = divide_by_cache(with_names(consumed([b"1", b"2"]), [None, None]), settings())
    assert (parts, [record.row for record in bad]) == ([], [0, 1])


@pytest.mark.parametrize(
    ("name", "cache"),
    [
        ("orders", "copy-orders"),
        ("ignite-sys-cache", None),
        ("atomic", None),
        ("ignite-kafka-tombstones-staff", None),
        ("backlog", None),
        ("own", "mine"),
        ("none", None),
        ("up", None),
        ("twice" * 40, None),
        ("datastructures_x", None),
        ("default-ds-group", None),
        ("a/b", None),
        ("a\\b", None),
        ("a\nb", None),
        ("a\0b", None),
    ],
)
def test_a_name_becomes_a_cache_by_the_settings_and_never_one_of_the_nodes(name: str, cache: str | None) -> None:
    rules = {
        "none()": "$1",
        "up": "..",
        "(twice)+": "$0$0",
        "datastructures_.*|default.*": "$0",
        "atomic": "ignite-sys-atomic",
        "backlog": "kafka-connect-backlog-c",
        "own": "mine",
        "ignite-.*": "$0",
    }
    assert cache_of_name(name, settings(header_caches=".*", cache_prefix="copy-", cache_names=rules)) == cache
