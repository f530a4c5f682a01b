"""Ids of writes in the connector's records."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ignite_kafka.datasources import write_ids
from ignite_kafka.errors import Fenced, SnapshotConflict
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState, SnapshotRecord
from ignite_kafka.state.configs_writer import ConfigsWriter

STATE = ConnectorState(
    ConnectorRecord(generation=4),
    SnapshotRecord("c", {}),
    {"a": {"complete": True, "superseded_by": None, "caches": {}}, "b": {"complete": False, "superseded_by": "c", "caches": {}}},
)


class Recorded:
    """Keeps the records that it is given."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._refusal = refusal

    def begin(self, snapshot: SnapshotRecord | None, before: SnapshotRecord | None) -> None:
        self.calls.append((snapshot, before))

    def end_snapshot(self, snapshot: SnapshotRecord, caches: dict[str, object]) -> None:
        self.calls.append((snapshot, caches))
        if self._refusal is not None:
            raise self._refusal

    @property
    def control(self) -> ConfigsWriter:
        return cast(ConfigsWriter, self)


def test_only_a_finished_write_is_complete() -> None:
    assert write_ids.is_complete(STATE, "w", "a")
    assert not write_ids.is_complete(STATE, "w", "c")
    assert not write_ids.is_complete(STATE, "w", "d")
    assert not write_ids.is_complete(ConnectorState(), "w", "a")


def test_a_superseded_write_id_is_refused() -> None:
    with pytest.raises(SnapshotConflict, match=r"write 'c' was begun before .*write id b.* Give another write_id"):
        write_ids.is_complete(STATE, "w", "b")


def test_the_last_write_continues_and_another_supersedes_it() -> None:
    recorded = Recorded()
    write_ids.begin_write(recorded.control, STATE, "c", named=True)
    write_ids.begin_write(recorded.control, STATE, "d", named=True)
    write_ids.begin_write(recorded.control, STATE, "random", named=False)
    assert recorded.calls == [
        (None, STATE.snapshot),
        (SnapshotRecord("d", {}), STATE.snapshot),
        (SnapshotRecord("random", {}, complete=True), STATE.snapshot),
    ]


def test_a_continued_write_knows_its_topic_id() -> None:
    recorded = Recorded()
    write_ids.begin_write(recorded.control, STATE, "d", named=True, topic_id="7f")
    begun = recorded.calls[0][0]
    assert begun == SnapshotRecord("d", {"topic_id": "7f"})
    assert write_ids.find_topic_id(ConnectorState(snapshot=begun), "d") == "7f"
    assert write_ids.find_topic_id(ConnectorState(snapshot=begun), "e") == ""
    assert write_ids.find_topic_id(STATE, "c") == ""


def test_the_end_is_recorded_by_the_newest_write_alone() -> None:
    recorded = Recorded()
    write_ids.end_write(recorded.control, STATE, "c", 3)
    assert recorded.calls == []
    write_ids.end_write(recorded.control, STATE, "c", 4)
    assert recorded.calls == [(SnapshotRecord("c", {}), {})]


def test_a_newer_write_does_not_fail_this_one() -> None:
    recorded = Recorded(Fenced("a newer driver"))
    write_ids.end_write(recorded.control, STATE, "c", 4)
    assert len(recorded.calls) == 1
