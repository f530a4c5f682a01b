"""Versions of a sink's entries come from headers; records without one are bad."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.convert.to_ignite import BadRecord, Entries
from ignite_kafka.ignite.entry_versions import EntryVersions
from ignite_kafka.kafka.headers import HEADERS
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.kafka.version_headers import version_headers
from ignite_kafka.sink.record_versions import ORDER_SHIFT, with_versions

CLOCK = Path(__file__).parents[3] / "backlog-service/src/main/java/ignitekafka/backlog/VersionClock.java"


def versions(orders: list[int], clusters: list[int], ranks: list[int]) -> EntryVersions:
    return EntryVersions(np.array(orders, np.int64), np.array(clusters, np.int8), np.array(ranks, np.int64))


def test_entries_get_the_versions_of_their_records() -> None:
    headers = version_headers(versions([5, 6, 7, 8], [1, 2, 3, 1], [0] * 4), "")
    headers = pa.concat_arrays([headers, pa.nulls(1, HEADERS)])
    keys = pa.array([b"a", b"b", b"c", b"d", b"e"], pa.binary())
    consumed = Consumed("t", 0, keys, keys, np.arange(5), headers=headers)
    unreadable = BadRecord(0, Stage.KEY, "no key")
    entries = Entries(np.array([1, 2, 3, 4]), keys[1:], pa.array([b"1", None, b"3", b"4"], pa.binary()), (unreadable,))

    made = with_versions(entries, consumed, "")

    assert (made.rows.tolist(), made.keys.to_pylist(), made.values.to_pylist()) == ([1, 2, 3], [b"b", b"c", b"d"], [b"1", None, b"3"])
    assert made.versions is not None
    assert (made.versions.orders.tolist(), made.versions.clusters.tolist()) == ([6, 7, 8], [2, 3, 1])
    assert [(bad.row, bad.stage) for bad in made.bad] == [(0, Stage.KEY), (4, Stage.PUT)]
    assert "no version" in made.bad[1].reason


def test_a_version_far_ahead_of_the_time_reaches_no_node() -> None:
    """Stored, it raises the clock of the nodes; at its end, they refuse each write of their own programs."""
    headers = version_headers(versions([5, 10**18 - 1], [2, 2], [0, 0]), "")
    keys = pa.array([b"a", b"b"], pa.binary())

    made = with_versions(Entries(np.arange(2), keys, keys), Consumed("t", 0, keys, keys, np.arange(2), headers=headers), "")

    assert made.keys.to_pylist() == [b"a"]
    assert [(bad.row, bad.stage) for bad in made.bad] == [(1, Stage.PUT)]
    assert "more than a day ahead" in made.bad[0].reason


def test_the_nodes_shift_times_by_as_many_bits() -> None:
    """Otherwise every version of a source's nodes, or none, would be far ahead of the time."""
    assert re.findall(r"static final int SHIFT = (\d+);", CLOCK.read_text()) == [str(ORDER_SHIFT)]


@pytest.mark.parametrize(("rule", "kept"), [("", [b"plain"]), ("field a", [b"a"]), ("class a", [])])
def test_a_record_of_another_rule_than_the_nodes_is_bad(rule: str, kept: list[bytes]) -> None:
    ranks = versions([5, 6], [1, 1], [7, 8])
    headers = pa.concat_arrays([version_headers(ranks[:1], "field a"), version_headers(ranks[1:], "")])
    keys = pa.array([b"a", b"plain"], pa.binary())

    made = with_versions(Entries(np.arange(2), keys, keys), Consumed("t", 0, keys, keys, np.arange(2), headers=headers), rule)

    assert made.keys.to_pylist() == kept
    assert made.versions is not None
    assert made.versions.ranks.tolist() == ([7] if kept == [b"a"] else [0] * len(kept))
    assert all(f"whose rule is '{rule or 'the order of writes alone'}'" in bad.reason for bad in made.bad)
