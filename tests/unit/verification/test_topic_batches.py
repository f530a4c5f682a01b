"""Partitions of a topic are read up to their ends, with the columns that are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from ignite_kafka.verification import topic_batches
from ignite_kafka.verification.direction import ComparedPair

TARGET = ComparedPair("c", "t", ((0, 2), (3, 3), (1, 4)), 1)


class Reader:
    """Keeps what it is made of, and has one batch."""

    made: dict[str, Any]

    def __init__(self, _clients: Any, _group: str, starts: Any, ends: Any, _limits: Any, **columns: bool) -> None:
        type(self).made = {"starts": starts, "ends": ends, **columns}
        self.finished = False

    def read(self, _timeout_s: float) -> Iterator[Any]:
        self.finished = True
        yield "batch"

    def close(self) -> None:
        pass


@pytest.mark.parametrize("timed", [False, True])
def test_records_have_the_columns_that_are_asked_for(timed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_batches, "RecordReader", Reader)
    found: list[Any] = list(topic_batches.topic_batches(cast(Any, None), TARGET, [0, 1, 2], timed=timed, headers=not timed))
    assert found == ["batch"]
    starts, ends = {("t", 0): 0, ("t", 2): 1}, {("t", 0): 2, ("t", 2): 4}
    assert Reader.made == {"starts": starts, "ends": ends, "timed": timed, "headers": not timed}


def test_nothing_is_read_where_all_partitions_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_batches, "RecordReader", None)
    assert list(topic_batches.topic_batches(cast(Any, None), TARGET, [1])) == []
