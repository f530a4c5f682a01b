"""Fingerprints are joined by key as a dictionary would join them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.verification.fingerprint_join import find_keys, find_last_of_keys, join_fingerprints, split_moved
from ignite_kafka.verification.fingerprints import fingerprint, record_order
from tests.unit.verification.test_fingerprints import rows

KEYS = st.sampled_from([b"", b"1", b"2", b"a longer key than twelve bytes"])
VALUES = st.sampled_from([b"", b"x", b"y"])
RANKS = st.sampled_from([-(1 << 63), -1, 0, 1, (1 << 63) - 1])
Record = tuple[bytes, bytes | None]


def hashes_of(keys: Sequence[bytes]) -> set[tuple[int, int]]:
    return {(int(one["high"]), int(one["low"])) for one in rows([(key, b"") for key in keys])}


@given(st.lists(st.tuples(KEYS, st.none() | VALUES)), st.lists(st.tuples(KEYS, VALUES)), st.booleans(), st.randoms())
def test_the_join_finds_what_dictionaries_find(topic: list[Record], cache: list[Record], first: bool, chance: Random) -> None:
    counting = [(key, value) for key, value in topic if not first or value is not None]
    last = dict(counting[::-1] if first else counting)
    entries: dict[bytes, list[bytes | None]] = {}
    for key, value in cache:
        entries.setdefault(key, []).append(value)
    suspects = {key for key in {*last, *entries} if entries.get(key, [None]) != [last.get(key)]}

    shuffled = rows(topic)
    order = list(range(len(topic)))
    chance.shuffle(order)
    entry_rows = rows(cache)
    entry_rows["order"] = 0
    found = join_fingerprints(shuffled[order], entry_rows, first=first)
    assert (found.records, found.entries) == (len(topic), len(cache))
    assert found.repeated == len(topic) - len({key for key, _ in topic})
    assert {(int(one["high"]), int(one["low"])) for one in found.suspects} == hashes_of(sorted(suspects))
    assert len(found.suspects) == len(suspects)


@given(st.lists(st.tuples(KEYS, st.none() | VALUES, st.integers(0, 2))), st.booleans())
def test_the_records_that_may_count_are_one_of_each_key_and_place(topic: list[tuple[bytes, bytes | None, int]], first: bool) -> None:
    made = rows([(key, value) for key, value, _ in topic])
    made["order"] = [record_order(place, np.array([at]))[0] for at, (_, _, place) in enumerate(topic)]
    counting = [(key, place, at) for at, (key, value, place) in enumerate(topic) if not first or value is not None]
    expected = {(key, place): at for key, place, at in (counting[::-1] if first else counting)}
    for at, (key, _, place) in reversed(list(enumerate(topic))):
        if (key, place) not in {(key, place) for key, place, _ in counting}:  # only tombstones: the first is kept
            expected[key, place] = at
    found = find_last_of_keys(made, first=first)
    assert found.tolist() == sorted(expected.values())
    assert len(join_fingerprints(made[found], made[:0], first=first).suspects) == len(
        join_fingerprints(made, made[:0], first=first).suspects
    )


@given(st.lists(st.tuples(KEYS, VALUES, st.integers(0, 2), RANKS)), st.lists(st.tuples(KEYS, VALUES)), st.randoms())
def test_the_last_record_of_the_greatest_rank_counts(
    topic: list[tuple[bytes, bytes, int, int]], cache: list[Record], chance: Random
) -> None:
    made = rows([(key, value) for key, value, _, _ in topic])
    made["order"] = [record_order(place, np.array([at]))[0] for at, (_, _, place, _) in enumerate(topic)]
    made["rank"] = [rank for _, _, _, rank in topic]
    of_place: dict[tuple[bytes, int], int] = {}
    counting: dict[bytes, int] = {}
    for at, (key, _, place, rank) in enumerate(topic):
        if (key, place) not in of_place or rank >= topic[of_place[key, place]][3]:
            of_place[key, place] = at
        if key not in counting or (rank, place) >= (topic[counting[key]][3], topic[counting[key]][2]):
            counting[key] = at
    last = find_last_of_keys(made)
    assert last.tolist() == sorted(of_place.values())
    entries: dict[bytes, list[bytes | None]] = {}
    for key, value in cache:
        entries.setdefault(key, []).append(value)
    suspects = {key for key in {*counting, *entries} if entries.get(key) != ([topic[counting[key]][1]] if key in counting else [])}
    entry_rows = rows(cache)
    entry_rows["order"] = 0
    for some in (np.arange(len(topic)), last):
        shuffled = made[some][np.array(chance.sample(range(len(some)), len(some)), np.int64)]
        found = join_fingerprints(shuffled, entry_rows)
        assert found.records == len(some)
        assert {(int(one["high"]), int(one["low"])) for one in found.suspects} == hashes_of(sorted(suspects))
        of_key = {key: rows([(key, b"")])[0]["high"] for key in counting}
        counted = {int(one["high"]): int(one["order"]) for one in found.suspects if one["order"] >= 0}
        assert counted == {int(of_key[key]): int(made["order"][at]) for key, at in counting.items() if key in suspects}


def test_a_record_of_a_lesser_rank_does_not_move_a_key() -> None:
    """So that a difference counts, although its key gets lesser records at each look."""
    records = rows([(b"1", b"x"), (b"1", b"y"), (b"1", b"z")])
    records["rank"] = [7, 6, 8]
    entry = rows([(b"1", b"a")])
    before = join_fingerprints(records[:1], entry).suspects
    still, moved = split_moved(before, records[:2], entry)
    assert (still["order"].tolist(), len(moved)) == ([0], 0)
    still, moved = split_moved(before, records, entry)
    assert (len(still), moved["order"].tolist()) == (0, [2])


def test_an_entry_that_is_to_be_judged_is_a_suspect_and_counts_once() -> None:
    entry = rows([(b"1", b"x")])
    second = fingerprint(pa.array([b"1"], pa.binary()), pa.array([b"x"], pa.binary()), np.array([-1]))
    assert len(join_fingerprints(entry, entry).suspects) == 0
    found = join_fingerprints(entry, np.concatenate([entry, second]))
    assert (found.entries, len(found.suspects)) == (1, 1)


def test_rows_within_a_set_of_keys() -> None:
    many = rows([(b"%d" % number, b"x") for number in range(100)])
    keys = np.sort(many[[3, 50, 99]], order=["high", "low"])
    assert find_keys(many, keys).tolist() == [3, 50, 99]
    assert find_keys(many, keys[:0]).tolist() == []
