"""One operation a key, against the plain meaning of doing one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.convert.to_ignite import Entries, concat_entries, last_per_key, merge_rows
from ignite_kafka.ignite.entry_versions import EntryVersions
from ignite_kafka.kafka.records import Consumed
from tests.support.randomness import generator


def entries(*operations: tuple[bytes, bytes | None]) -> Entries:
    keys, values = zip(*operations, strict=True) if operations else ((), ())
    return Entries(np.arange(len(operations)) + 10, pa.array(keys, pa.binary()), pa.array(values, pa.binary()))


def listed(made: Entries) -> list[tuple[int, bytes, bytes | None]]:
    return list(zip(made.rows.tolist(), made.keys.to_pylist(), made.values.to_pylist(), strict=True))


def test_the_last_operation_of_a_key_counts() -> None:
    made = last_per_key(entries((b"a", b"1"), (b"b", None), (b"a", None), (b"c", b"3"), (b"b", b"4")), overwrite=True)
    assert listed(made) == [(12, b"a", None), (13, b"c", b"3"), (14, b"b", b"4")]


def test_the_greatest_of_ordered_entries_counts_and_of_equal_ones_the_last() -> None:
    made = replace(
        entries((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4"), (b"b", b"5"), (b"a", b"6")),
        order=np.array([7, 1, 7, 0, -2, 6]),
    )
    for whole in (made, concat_entries([made.part(0, 3), made.part(3, 6)])):
        kept = last_per_key(whole, overwrite=True)
        assert [value for _, _, value in listed(kept)] == [b"2", b"3", b"4"]
        assert kept.order is not None
        assert kept.order.tolist() == [1, 7, 0]
    shuffled = merge_rows([made.part(3, 6), made.part(0, 3)])
    assert listed(shuffled) == listed(made)
    assert shuffled.order is not None
    assert shuffled.order.tolist() == [7, 1, 7, 0, -2, 6]


def test_insert_only_keeps_the_first_put_and_no_removal() -> None:
    made = last_per_key(entries((b"a", None), (b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"b", None)), overwrite=False)
    assert listed(made) == [(11, b"a", b"1"), (12, b"b", b"2")]


def test_distinct_keys_and_none_at_all_are_left_as_they_are() -> None:
    whole = entries((b"a", b"1"), (b"b", None))
    assert last_per_key(whole, overwrite=True) is whole
    assert len(last_per_key(entries(), overwrite=True)) == len(last_per_key(entries(), overwrite=False)) == 0


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_cache_ends_as_after_one_operation_after_the_other(overwrite: bool) -> None:
    chance = generator(7)
    operations = [(bytes([chance.randrange(40)]), chance.choice([None, *(bytes([n]) for n in range(5))])) for _ in range(1000)]
    wanted: dict[bytes, bytes] = {b"\1": b"before"}
    for key, value in operations:
        if overwrite and value is None:
            wanted.pop(key, None)
        elif value is not None:
            wanted[key] = value if overwrite else wanted.get(key, value)
    found: dict[bytes, bytes] = {b"\1": b"before"}
    made = last_per_key(entries(*operations), overwrite=overwrite)
    assert len(set(made.keys.to_pylist())) == len(made)
    for _, key, value in listed(made):
        if value is None:
            found.pop(key, None)
        else:
            found[key] = value if overwrite else found.get(key, value)
    assert found == wanted


def test_rows_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="1 keys, 0 values and 1 offsets"):
        Consumed("t", 0, pa.array([b"k"]), pa.array([], pa.binary()), np.zeros(1, np.int64))


def test_of_entries_with_versions_the_highest_of_a_key_is_kept() -> None:
    """Records of a key may come in any order: by several topics, or sent again."""
    chance = generator(8)
    operations = [(bytes([chance.randrange(20)]), chance.choice([None, b"x", b"y"])) for _ in range(500)]
    triples = [(chance.randrange(4), chance.randrange(60), chance.randrange(1, 4)) for _ in operations]
    ranks, orders, clusters = np.array(triples).T
    versions = EntryVersions(orders, clusters.astype(np.int8), ranks)
    half = len(operations) // 2
    whole = replace(entries(*operations), versions=versions)
    made = last_per_key(concat_entries([whole.part(0, half), whole.part(half, len(operations))]), overwrite=True)
    assert made.versions is not None
    found = {
        key: (rank, order, cluster, value)
        for (_, key, value), rank, order, cluster in zip(
            listed(made), made.versions.ranks.tolist(), made.versions.orders.tolist(), made.versions.clusters.tolist(), strict=True
        )
    }
    wanted: dict[bytes, tuple[int, int, int, bytes | None]] = {}
    for (key, value), version in zip(operations, triples, strict=True):
        if version >= wanted.get(key, (0, 0, 0))[:3]:
            wanted[key] = (*version, value)
    assert found == wanted
