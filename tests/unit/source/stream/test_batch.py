"""Open changes and active units of a batch."""

from __future__ import annotations

import numpy as np
import pytest

from ignite_kafka.ignite.backlog_changes import EXPIRED, UPDATED, Changes
from ignite_kafka.ignite.entry_versions import EntryVersions
from ignite_kafka.source.stream.batch import ChangeBatch
from ignite_kafka.source.stream.dedup import Classification


def _batch(numbers: list[list[int]], *, done: list[bool], more: tuple[bool, ...] = (False, False)) -> ChangeBatch:
    """Changes of units 0 and 1 of a table of three; -1 is an expired key."""
    number = np.array([one for unit in numbers for one in unit], np.int64)
    rows, nothing = number.size, np.zeros(number.size, np.int64)
    changes = Changes(
        topology=1,
        mark_number=np.zeros(2, np.int64),
        expired_stamp=np.zeros(2, np.int64),
        count=np.array([len(unit) for unit in numbers], np.int32),
        marks=np.zeros(2, np.int32),
        more=np.array(more),
        number=number,
        time_ms=nothing,
        hash=nothing,
        kind=np.where(number < 0, EXPIRED, UPDATED).astype(np.int8),
        key_length=np.zeros(rows, np.int32),
        value_length=np.zeros(rows, np.int32),
        entries=memoryview(b""),
        versions=EntryVersions.none(rows),
    )
    unit = np.repeat([0, 1], changes.count)
    settled = np.array(done, bool)
    return ChangeBatch(
        changes,
        np.array([0, 1]),
        Classification(unit, settled, settled & False, ~settled),
        settled,
        np.zeros(2, bool),
        np.ones(2, bool),
        np.ones(2, np.int64),
    )


LIMITS = np.array([10, -1, 10])
GONE = np.zeros(3, bool)


@pytest.mark.parametrize(
    ("batch", "leaves"),
    [
        pytest.param(_batch([[], []], done=[]), False, id="nothing was there"),
        pytest.param(_batch([[9, 10], [3]], done=[True, True, False]), False, id="all up to the limit is settled"),
        pytest.param(_batch([[9, 10], []], done=[True, False]), True, id="a question is open"),
        pytest.param(_batch([[10, 11], []], done=[True, False]), False, id="what is open came later"),
        pytest.param(_batch([[10, -1], []], done=[True, False]), False, id="an expired key has no number"),
        pytest.param(_batch([[9], []], done=[True], more=(True, False)), True, id="the limit was not read"),
        pytest.param(_batch([[10], []], done=[True], more=(True, False)), False, id="what was not read came later"),
        pytest.param(_batch([[], []], done=[], more=(True, False)), True, id="nothing of the unit was read"),
        pytest.param(_batch([[], []], done=[], more=(False, True)), False, id="the unit had no backlog when the run began"),
    ],
)
def test_open_changes_of_a_batch(batch: ChangeBatch, leaves: bool) -> None:
    assert batch.has_open_changes(LIMITS, GONE) is leaves


def test_gone_and_moved_units_have_no_open_changes() -> None:
    batch = _batch([[9], []], done=[False], more=(True, False))
    assert not batch.has_open_changes(LIMITS, np.array([True, False, False]))
    batch.move_out(np.array([0]))
    assert not batch.has_open_changes(LIMITS, GONE)


def test_active_units_have_changes_states_or_entries() -> None:
    batch = _batch([[], [4]], done=[True])
    assert batch.active.tolist() == [1]
    batch.states = {(0, b"key"): None}
    assert batch.active.tolist() == [0, 1]
    batch.states, batch.scanned = {}, {0: []}
    assert batch.active.tolist() == [0, 1]
    batch.scanned, batch.reconciled = {}, {0: None}
    assert batch.active.tolist() == [0, 1]
    batch.reconciled, batch.unloaded = {}, frozenset([0])
    assert batch.active.tolist() == [0, 1]
