"""The oracle must see every kind of fault: a judge that passes everything proves nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.oracle import (
    TopicContents,
    TopicRecord,
    UnitsDone,
    assert_offsets_match,
    faults_of,
    half_units,
    hidden_keys,
    partition_of,
)  # fmt: skip

ENTRIES = {b"1": b'"a"', b"2": b'"b"', b"3": b'"c"', b"4": b'"d"'}
UNIT_OF = {b"1": 0, b"2": 0, b"3": 1, b"4": 2}


def contents(*records: tuple[bytes, bytes]) -> TopicContents:
    return TopicContents("t", tuple(TopicRecord(key, value, 0, offset) for offset, (key, value) in enumerate(records)), frozenset())


WHOLE = tuple(ENTRIES.items())


def test_whole_topic_passes() -> None:
    assert faults_of(contents(*WHOLE), ENTRIES) == []


@pytest.mark.parametrize(
    ("records", "fault"),
    [
        (WHOLE[1:], "t: 1 keys missing: b'1'"),
        ((*WHOLE, (b"9", b'"z"')), "t: 1 keys not in the cache: b'9' at 0@4"),
        ((*WHOLE, WHOLE[0]), "t: 1 keys more than once: b'1' at 0@0, 0@4"),
        ((*WHOLE[1:], (b"1", b'"x"')), "t: 1 keys different: b'1' at 0@3: b'\"x\"', in the cache b'\"a\"'"),
    ],
)
def test_fault_is_named_with_key_and_place(records: tuple[tuple[bytes, bytes], ...], fault: str) -> None:
    assert faults_of(contents(*records), ENTRIES) == [fault]


def test_only_first_five_are_listed() -> None:
    entries = {str(number).encode(): b"0" for number in range(9)}
    assert faults_of(contents(), entries) == ["t: 9 keys missing: b'0'; b'1'; b'2'; b'3'; b'4' and 4 more"]


def test_values_are_compared_after_parsing() -> None:
    assert faults_of(contents((b"1", b'{"b": 2, "a": 1}')), {b"1": {"a": 1, "b": 2}}, parse=json.loads) == []


def test_half_unit_is_found() -> None:
    assert half_units(contents(WHOLE[0], WHOLE[2]), UNIT_OF) == ["t: 1 of 2 keys of Ignite partition 0 are visible"]
    assert half_units(contents(WHOLE[2], WHOLE[3]), UNIT_OF) == []


def test_partitions_are_those_of_java() -> None:
    """The hashes of Kafka's own UtilsTest."""
    hashes = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}
    assert {key: partition_of(key, 1 << 31) for key in hashes} == {key: found & 0x7FFFFFFF for key, found in hashes.items()}


def test_what_an_open_transaction_hides_is_no_half() -> None:
    """Of a unit's two keys, one is in a partition where another slot's transaction is open; the other one must be visible."""
    keys = sorted((b"%d" % number for number in range(20)), key=lambda key: partition_of(key, 2))
    unit_of = {keys[0]: 0, keys[-1]: 0}
    shown = TopicContents("t", (TopicRecord(keys[0], b"x", 0, 0),), frozenset({1}))
    assert half_units(shown, unit_of, hidden_keys(shown, unit_of, 2)) == []
    closed = replace(shown, open_partitions=frozenset({0}))
    assert half_units(closed, unit_of, hidden_keys(closed, unit_of, 2)) == ["t: 1 of 2 keys of Ignite partition 0 are visible"]


@pytest.mark.parametrize("marked", [{0: 2}, {0: 2, 1: 1, 2: 1}, {0: 1, 1: 1}])
def test_offsets_ahead_of_or_behind_data_are_found(marked: dict[int, int]) -> None:
    done = UnitsDone({("c", unit): count for unit, count in marked.items()})
    with pytest.raises(AssertionError, match="offsets and data differ"):
        assert_offsets_match(done, "c", contents(*WHOLE[:3]), UNIT_OF)


def test_offsets_of_empty_units_match() -> None:
    done = UnitsDone({("c", 0): 2, ("c", 1): 1, ("c", 7): 0, ("other", 2): 5})
    assert_offsets_match(done, "c", contents(*WHOLE[:3]), UNIT_OF)
