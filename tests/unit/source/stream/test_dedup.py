"""Classes of changes: new, duplicate, or to be looked up."""

from __future__ import annotations

import base64
import struct
import tracemalloc
import zlib
from collections.abc import Sequence

import numpy as np
import pytest

from ignite_kafka.errors import OffsetsLost
from ignite_kafka.ignite.backlog_changes import EXPIRED, Changes
from ignite_kafka.plan.slots import UnitOffset
from ignite_kafka.source.stream.dedup import (
    MOST_RECENT,
    RECENT_S,
    REMEMBERED_S,
    ChangeDeduplicator,
    Classification,
    change_hash,
    key_hash,
    pack_settled,
    settled_rows,
    unpack_settled,
)
from tests.support.backlog_changes import Change, changes_of, key_bytes, value_bytes

UNITS = np.arange(2)


def change(number: int, key: int, value: int = 0) -> Change:
    return Change(number, key_bytes(key), value_bytes(value))


def read(*units: Sequence[Change]) -> Changes:
    return changes_of(1, list(units), [False] * len(units))


def classes(dedup: ChangeDeduplicator, changes: Changes) -> str:
    """The class of each change: N new, D duplicate, ? to be looked up."""
    classified = dedup.classify(UNITS[: len(changes.count)], changes)
    assert (classified.new.astype(int) + classified.duplicate + classified.lookup == 1).all()
    return "".join("N" if new else "D" if duplicate else "?" for new, duplicate in zip(classified.new, classified.duplicate, strict=True))


def send(dedup: ChangeDeduplicator, changes: Changes, now_s: float = 0.0) -> Classification:
    classified = dedup.classify(UNITS[: len(changes.count)], changes)
    dedup.remember(classified, np.ones(len(changes.number), bool), changes, now_s)
    return classified


def test_update_numbers_count_within_their_unit() -> None:
    dedup = ChangeDeduplicator(2)
    first = read([change(5, 1), change(9, 2)], [change(3, 3)])
    assert classes(dedup, first) == "NNN"
    send(dedup, first)
    assert (dedup.high(0), dedup.high(1)) == (9, 3)
    assert classes(dedup, first) == "DDD"
    assert classes(dedup, read([change(10, 1)], [change(4, 3)])) == "NN"


def test_every_change_with_a_version_is_sent_and_expired_keys_are_looked_up() -> None:
    dedup = ChangeDeduplicator(1, versioned=True)
    send(dedup, read([change(5, 1), change(9, 2)]))
    assert classes(dedup, read([change(5, 1), change(6, 3), change(8, 2), change(9, 7), change(9, 8)])) == "NNNNN"
    assert classes(dedup, read([Change(-1, key_bytes(4), None, EXPIRED)])) == "?"


def test_a_late_number_is_sent_unless_its_key_was_sent_with_a_higher_one() -> None:
    dedup = ChangeDeduplicator(1)
    send(dedup, read([change(5, 1), change(9, 2)]))
    assert classes(dedup, read([change(6, 3), change(7, 1), change(8, 2)])) == "NN?"


def test_two_contents_of_one_number_are_looked_up() -> None:
    dedup = ChangeDeduplicator(1)
    assert classes(dedup, read([change(4, 1), change(5, 1), change(5, 2), change(6, 2)])) == "N??N"
    send(dedup, read([change(5, 1)]))
    assert classes(dedup, read([change(5, 1), change(5, 2)])) == "D?"
    assert classes(dedup, read([change(5, 1, value=8)])) == "?"


def test_forgotten_changes_are_looked_up() -> None:
    dedup = ChangeDeduplicator(1)
    send(dedup, read([change(5, 1)]), now_s=0.0)
    send(dedup, read([change(9, 2)]), now_s=REMEMBERED_S)
    dedup.forget(REMEMBERED_S + 1)
    assert classes(dedup, read([change(4, 3), change(5, 1), change(6, 4), change(9, 2)])) == "??ND"
    dedup.forget(3 * REMEMBERED_S)
    assert classes(dedup, read([change(6, 4), change(9, 2), change(10, 2)])) == "??N"


def test_changes_beyond_the_limit_are_forgotten() -> None:
    dedup = ChangeDeduplicator(1, most_remembered=3)
    for number in range(1, 6):
        send(dedup, read([change(number, number)]))
    dedup.forget(0.0)
    assert classes(dedup, read([change(number, number) for number in range(1, 6)])) == "??DDD"


def test_an_offset_record_restores_numbers_and_hashes() -> None:
    first, second = ChangeDeduplicator(1), ChangeDeduplicator(1)
    send(first, read([change(5, 1), change(9, 2)]))
    offset = UnitOffset(1, "1", "s", True, 2, 9, pack_settled(first.recent(0, 0.0)))
    second.restore(0, UnitOffset.from_json(offset.to_json()), 0.0)
    assert classes(second, read([change(5, 1), change(5, 3), change(6, 4), change(9, 2), change(10, 2)])) == "D??DN"
    assert second.last_sent([0]) == first.last_sent([0])
    assert second.recent(0, 1.0)["number"].tolist() == [5, 9], "for the task after that one"


def test_recent_changes_of_a_unit() -> None:
    dedup = ChangeDeduplicator(2)
    send(dedup, read([change(5, 1)], [change(3, 3)]), now_s=0.0)
    send(dedup, read([change(6, 1), change(6, 2)], []), now_s=RECENT_S)
    dedup.remember_state(0, key_bytes(1), None, RECENT_S)
    rows = dedup.recent(0, RECENT_S)
    assert rows["number"].tolist() == [5, 6, 6, -1]
    assert rows["sent"].tolist() == [True, False, False, True]
    assert rows["hash"][3] == change_hash(key_bytes(1), None)
    assert dedup.recent(0, RECENT_S + 1)["number"].tolist() == [6, 6, -1]
    dedup.forget(RECENT_S + 1)
    assert dedup.recent(1, 0.0).size == 0
    dedup.loaded(0, RECENT_S + 1)
    assert not dedup.recent(0, RECENT_S + 1)["sent"].any()


def test_recent_changes_are_limited() -> None:
    dedup = ChangeDeduplicator(1)
    send(dedup, read([change(number, number) for number in range(MOST_RECENT)]))
    send(dedup, read([change(MOST_RECENT, 1)]))
    assert dedup.recent(0, 0.0)["number"].tolist() == list(range(1, MOST_RECENT + 1))


def test_expired_keys_are_looked_up_and_have_no_number() -> None:
    dedup = ChangeDeduplicator(1)
    changes = read([change(5, 1), Change(-1, key_bytes(1), None, EXPIRED), Change(-1, key_bytes(2), None, EXPIRED)])
    assert classes(dedup, changes) == "N??"
    send(dedup, changes)
    assert dedup.high(0) == 5


def test_the_last_state_of_a_key_is_known_until_its_unit_is_loaded() -> None:
    dedup = ChangeDeduplicator(1)
    send(dedup, read([change(5, 1, value=1), change(6, 1, value=2)]), now_s=1.0)
    dedup.remember_state(0, key_bytes(2), None, 1.0)
    assert dedup.last_sent([0]) == {
        (0, key_hash(hashed)): hashed for hashed in (change_hash(key_bytes(1), value_bytes(2)), change_hash(key_bytes(2), None))
    }
    assert dedup.sent_since(1.0) == {(0, key_bytes(1)), (0, key_bytes(2))}
    assert dedup.sent_since(1.5) == set()
    dedup.loaded(0, 2.0)
    assert dedup.last_sent([0]) == {}
    assert classes(dedup, read([change(5, 1, value=1)])) == "D"


def test_a_settled_change_that_was_not_sent_is_a_duplicate_without_state() -> None:
    dedup = ChangeDeduplicator(1)
    changes = read([change(5, 1), change(5, 2)])
    send(dedup, changes)
    assert classes(dedup, changes) == "DD"
    assert dedup.last_sent([0]) == {}


def test_hashes_are_those_of_the_service() -> None:
    one = change(5, 1)
    assert change_hash(one.key, one.value) == one.hash
    assert key_hash(change_hash(b"a", b"any")) == 0xE40C292C


@pytest.mark.parametrize(
    "text",
    [
        "x", "ü", "AAAA", base64.b64encode(struct.pack("<ii", -1, 0)).decode(), base64.b64encode(struct.pack("<ii", 1 << 30, 8)).decode(),
        base64.b64encode(struct.pack("<ii", 1, 4) + b"nozl" + bytes(8)).decode(),
    ],
)  # fmt: skip
def test_recent_changes_of_another_program_are_refused(text: str) -> None:
    with pytest.raises(OffsetsLost, match="the recent changes in the offset of a unit cannot be read"):
        unpack_settled(text, 0.0)


def test_recent_changes_use_no_more_memory_than_their_count_needs() -> None:
    steps = zlib.compress(bytes(50_000_000))
    text = base64.b64encode(struct.pack("<ii", 1, len(steps)) + steps + bytes(8)).decode()
    tracemalloc.start()
    assert unpack_settled(text, 0.0).size == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_settled_rows_survive_packing() -> None:
    rows = settled_rows(np.array([1, 1 << 40, -1]), np.array([change(5, 1).hash, -1, 1 << 62]), np.array([True, False, True]), 3.0)
    assert unpack_settled(pack_settled(rows), 3.0).tolist() == rows.tolist()
    assert pack_settled(rows[:0]) == ""
    assert unpack_settled("", 0.0).size == 0
