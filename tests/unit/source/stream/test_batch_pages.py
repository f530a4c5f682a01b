"""Rows of units in a batch, and pages of changes and of states."""

from __future__ import annotations

import struct

import numpy as np

from ignite_kafka.ignite.binary import raw_entries
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import Page
from ignite_kafka.source.stream.batch import ChangeBatch, page_of_rows, page_of_states, without_keys
from ignite_kafka.source.stream.dedup import ChangeDeduplicator
from tests.support.backlog_changes import Change, changes_of, key_bytes, value_bytes

OBJECT = struct.pack("<BBHiiiii", codes.OBJECT, 1, 0, 7, 8, 24, 0, 0)
CHANGES = changes_of(
    1, [[Change(1, key_bytes(1), value_bytes(1)), Change(2, key_bytes(2), None)], [], [Change(7, OBJECT, OBJECT)]], [False] * 3
)


def batch_of_changes() -> ChangeBatch:
    units = np.array([3, 5, 8])
    classified = ChangeDeduplicator(9).classify(units, CHANGES)
    return ChangeBatch(CHANGES, units, classified, classified.new, np.zeros(3, bool), np.ones(3, bool), np.zeros(3, np.int64))


def entries(page: Page) -> list[tuple[bytes, bytes]]:
    return list(raw_entries(page, "c"))


def test_rows_are_found_by_their_units() -> None:
    batch = batch_of_changes()
    assert [batch.rows_of(unit, unit) for unit in (3, 5, 8)] == [slice(0, 2), slice(2, 2), slice(2, 3)]
    assert batch.rows_of(3, 8) == slice(0, 3)
    assert batch.located_keys(np.array([0, 2])) == [(3, key_bytes(1)), (8, OBJECT)]


def test_units_move_out_of_a_batch() -> None:
    batch = batch_of_changes()
    batch.move_out(np.array([3]))
    assert batch.classified.new.tolist() == batch.settled.tolist() == [False, False, True]


def test_rows_and_states_are_pages_of_entries() -> None:
    null = bytes([codes.NULL])
    assert entries(page_of_rows(CHANGES, np.array([0, 2]))) == [(key_bytes(1), value_bytes(1)), (OBJECT, OBJECT)]
    assert entries(page_of_rows(CHANGES, np.arange(3)))[1] == (key_bytes(2), null)
    page = page_of_states([(key_bytes(1), None), (OBJECT, OBJECT), (key_bytes(2), value_bytes(3))])
    assert entries(page) == [(key_bytes(1), null), (OBJECT, OBJECT), (key_bytes(2), value_bytes(3))]
    assert bytes(page.data).count(struct.pack("<Bi", codes.WRAPPED, len(OBJECT))) == 2


def test_a_page_without_some_keys() -> None:
    page = Page(3, 3, page_of_states([(key_bytes(1), value_bytes(1)), (OBJECT, OBJECT), (key_bytes(2), value_bytes(2))]).data, True)
    assert entries(without_keys(page, {OBJECT, key_bytes(1)}, "c")) == [(key_bytes(2), value_bytes(2))]
    assert entries(without_keys(page, {key_bytes(2)}, "c")) == [(key_bytes(1), value_bytes(1)), (OBJECT, OBJECT)]
    assert without_keys(page, {OBJECT, key_bytes(1), key_bytes(2)}, "c").rows == 0
