"""Dead letters of bad records, which are read once more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.common import redaction
from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.convert.to_ignite import BadRecord
from ignite_kafka.errors import RecordsOvertaken
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.dead_letters import DeadLetter
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.sink.dead_letters import dead_letters, error_of


class Partition:
    """Clients of a partition that has records of these offsets."""

    patience_s = 5.0

    def __init__(self, *offsets: int) -> None:
        self._messages = [
            SimpleNamespace(
                error=lambda: None,
                offset=lambda at=at: at,
                headers=lambda: None,
                timestamp=lambda: (0, 0),
                key=lambda at=at: b"\0\0\0\0\1k%d" % at,
                value=lambda at=at: b"\xff v%d" % at,
            )
            for at in offsets
        ]

    def reader(self) -> Any:
        return SimpleNamespace(assign=lambda _: None, consume=lambda *_: self._messages, close=lambda: None)


def dead_letters_of(clients: Partition) -> list[DeadLetter]:
    values = pa.array([b"v"] * 3, pa.binary())
    consumed = Consumed("t", 0, values, values, np.array([5, 6, 7]))
    bad = [BadRecord(row, Stage.VALUE, "broken JSON \ud83d") for row in (0, 1)]
    return dead_letters(cast(KafkaClients, clients), "dead", "c", 1, consumed, bad)


def test_each_bad_record_becomes_a_dead_letter_with_its_bytes() -> None:
    letters = dead_letters_of(Partition(5, 6, 7))
    assert [(letter.topic, letter.key, letter.value) for letter in letters] == [
        ("dead", b"\0\0\0\0\1k%d" % at, b"\xff v%d" % at) for at in (5, 6)
    ]


def test_a_compacted_bad_record_is_a_passing_error() -> None:
    """The next attempt reads from the committed offset on and does not meet the record."""
    with pytest.raises(RecordsOvertaken, match="not in the topic any more") as gone:
        dead_letters_of(Partition(6, 7))
    assert gone.value.where == {"topic": "t", "partition": 0, "offset": 5}
    assert not gone.value.final


@pytest.mark.parametrize(("stage", "key"), [(Stage.PUT, "k\\xff"), (Stage.VALUE, None)])
def test_the_error_of_an_entry_that_its_cache_refuses_has_the_key(stage: Stage, key: str | None) -> None:
    keys = pa.array([b"other", b"k\xff"], pa.binary())
    error = error_of(Consumed("t", 3, keys, keys, np.array([5, 6])), BadRecord(1, stage, "no such class", {"cache": "orders"}))
    where = {"topic": "t", "partition": 3, "offset": 6, "stage": str(stage), "cache": "orders"}
    assert error.where == ({**where, "key": key} if key else where)


def test_a_key_is_shown_in_part_and_not_at_all_where_no_values_are_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = pa.array([b"k" * 100, None], pa.binary())
    given = Consumed("t", 3, keys, keys, np.array([5, 6]))
    assert error_of(given, BadRecord(0, Stage.PUT, "no such class")).where["key"] == "k" * 80
    assert "key" not in error_of(given, BadRecord(1, Stage.PUT, "no such class")).where
    monkeypatch.setattr(redaction, "_show", False)
    assert error_of(given, BadRecord(0, Stage.PUT, "no such class")).where["key"] == redaction.HIDDEN
