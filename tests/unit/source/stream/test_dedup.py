"""What a stream remembers: whether a change is new, known, or to be looked up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
from tests.unit.source.stream.backlog_simulator import Change, changes_of, key_bytes, value_bytes

UNITS = np.arange(2)


def change(number: int, key: int, value: int = 0) -> Change:
    return Change(number, key_bytes(key), value_bytes(value))


def read(*units: Sequence[Change]) -> Changes:
    return changes_of(1, list(units), [False] * len(units))


def judged(memory: ChangeDeduplicator, changes: Changes) -> str:
    """S to send, K known, ? to be looked up, of each change."""
    classified = memory.classify(UNITS[: len(changes.count)], changes)
    assert (classified.new.astype(int) + classified.duplicate + classified.lookup == 1).all()
    return "".join("S" if send else "K" if known else "?" for send, known in zip(classified.new, classified.duplicate, strict=True))


def send(memory: ChangeDeduplicator, changes: Changes, now_s: float = 0.0) -> Classification:
    classified = memory.classify(UNITS[: len(changes.count)], changes)
    memory.remember(classified, np.ones(len(changes.number), bool), changes, now_s)
    return classified


def test_numbers_are_of_their_unit() -> None:
    memory = ChangeDeduplicator(2)
    first = read([change(5, 1), change(9, 2)], [change(3, 3)])
    assert judged(memory, first) == "SSS"
    send(memory, first)
    assert (memory.high(0), memory.high(1)) == (9, 3)
    assert judged(memory, first) == "KKK"
    assert judged(memory, read([change(10, 1)], [change(4, 3)])) == "SS"


def test_a_late_number_is_sent_unless_its_key_was_sent_with_a_higher_one() -> None:
    memory = ChangeDeduplicator(1)
    send(memory, read([change(5, 1), change(9, 2)]))
    assert judged(memory, read([change(6, 3), change(7, 1), change(8, 2)])) == "SS?"


def test_two_contents_of_one_number_are_looked_up() -> None:
    memory = ChangeDeduplicator(1)
    assert judged(memory, read([change(4, 1), change(5, 1), change(5, 2), change(6, 2)])) == "S??S"
    send(memory, read([change(5, 1)]))
    assert judged(memory, read([change(5, 1), change(5, 2)])) == "K?"
    assert judged(memory, read([change(5, 1, value=8)])) == "?"


def test_what_is_forgotten_is_looked_up() -> None:
    memory = ChangeDeduplicator(1)
    send(memory, read([change(5, 1)]), now_s=0.0)
    send(memory, read([change(9, 2)]), now_s=REMEMBERED_S)
    memory.forget(REMEMBERED_S + 1)
    assert judged(memory, read([change(4, 3), change(5, 1), change(6, 4), change(9, 2)])) == "??SK"
    memory.forget(3 * REMEMBERED_S)
    assert judged(memory, read([change(6, 4), change(9, 2), change(10, 2)])) == "??S"


def test_more_than_may_be_remembered_is_forgotten() -> None:
    memory = ChangeDeduplicator(1, most_remembered=3)
    for number in range(1, 6):
        send(memory, read([change(number, number)]))
    memory.forget(0.0)
    assert judged(memory, read([change(number, number) for number in range(1, 6)])) == "??KKK"


def test_offsets_bring_back_numbers_and_hashes() -> None:
    first, second = ChangeDeduplicator(1), ChangeDeduplicator(1)
    send(first, read([change(5, 1), change(9, 2)]))
    offset = UnitOffset(1, "1", "s", True, 2, 9, pack_settled(first.recent(0, 0.0)))
    second.restore(0, UnitOffset.from_json(offset.to_json()), 0.0)
    assert judged(second, read([change(5, 1), change(5, 3), change(6, 4), change(9, 2), change(10, 2)])) == "K??KS"
    assert second.last_sent([0]) == first.last_sent([0])
    assert second.recent(0, 1.0)["number"].tolist() == [5, 9], "for the task after that one"


def test_what_was_settled_in_the_last_seconds_is_told_of_each_unit() -> None:
    memory = ChangeDeduplicator(2)
    send(memory, read([change(5, 1)], [change(3, 3)]), now_s=0.0)
    send(memory, read([change(6, 1), change(6, 2)], []), now_s=RECENT_S)
    memory.remember_state(0, key_bytes(1), None, RECENT_S)
    rows = memory.recent(0, RECENT_S)
    assert rows["number"].tolist() == [5, 6, 6, -1]
    assert rows["sent"].tolist() == [True, False, False, True]
    assert rows["hash"][3] == change_hash(key_bytes(1), None)
    assert memory.recent(0, RECENT_S + 1)["number"].tolist() == [6, 6, -1]
    memory.forget(RECENT_S + 1)
    assert memory.recent(1, 0.0).size == 0
    memory.loaded(0, RECENT_S + 1)
    assert not memory.recent(0, RECENT_S + 1)["sent"].any()


def test_so_many_are_told_at_most() -> None:
    memory = ChangeDeduplicator(1)
    send(memory, read([change(number, number) for number in range(MOST_RECENT)]))
    send(memory, read([change(MOST_RECENT, 1)]))
    assert memory.recent(0, 0.0)["number"].tolist() == list(range(1, MOST_RECENT + 1))


def test_expired_keys_are_looked_up_and_say_no_number() -> None:
    memory = ChangeDeduplicator(1)
    changes = read([change(5, 1), Change(-1, key_bytes(1), None, EXPIRED), Change(-1, key_bytes(2), None, EXPIRED)])
    assert judged(memory, changes) == "S??"
    send(memory, changes)
    assert memory.high(0) == 5


def test_the_last_state_of_a_key_is_known_until_its_unit_is_loaded() -> None:
    memory = ChangeDeduplicator(1)
    send(memory, read([change(5, 1, value=1), change(6, 1, value=2)]), now_s=1.0)
    memory.remember_state(0, key_bytes(2), None, 1.0)
    assert memory.last_sent([0]) == {
        (0, key_hash(hashed)): hashed for hashed in (change_hash(key_bytes(1), value_bytes(2)), change_hash(key_bytes(2), None))
    }
    assert memory.sent_since(1.0) == {(0, key_bytes(1)), (0, key_bytes(2))}
    assert memory.sent_since(1.5) == set()
    memory.loaded(0, 2.0)
    assert memory.last_sent([0]) == {}
    assert judged(memory, read([change(5, 1, value=1)])) == "K"


def test_what_is_settled_but_not_sent_is_known_and_has_no_state() -> None:
    memory = ChangeDeduplicator(1)
    changes = read([change(5, 1), change(5, 2)])
    send(memory, changes)
    assert judged(memory, changes) == "KK"
    assert memory.last_sent([0]) == {}


def test_hashes_are_those_of_the_service() -> None:
    one = change(5, 1)
    assert change_hash(one.key, one.value) == one.hash
    assert key_hash(change_hash(b"a", b"any")) == 0xE40C292C


def test_rows_come_back_as_they_were_packed() -> None:
    rows = settled_rows(np.array([1, 1 << 40, -1]), np.array([change(5, 1).hash, -1, 1 << 62]), np.array([True, False, True]), 3.0)
    assert unpack_settled(pack_settled(rows), 3.0).tolist() == rows.tolist()
    assert pack_settled(rows[:0]) == ""
    assert unpack_settled("", 0.0).size == 0
