"""Strict sinks that begin again amid their records: no key steps back, as a continuous query of a Java client hears it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable
from ignite_kafka.kafka.topics import TopicPartition, Topics
from ignite_kafka.runtime.epoch import Epoch
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import STRICT
from ignite_kafka.sink.planning import make_plan
from ignite_kafka.sink.slots import SinkSlots
from ignite_kafka.sink.task import sink_slots
from ignite_kafka.verification.connector import verify_connector
from ignite_kafka.verification.result import VerifyOptions
from tests.integration.sink.test_strict import fence_of
from tests.support.java_programs import SOURCES, compile_java
from tests.support.sink_connector import Record, Sink
from tests.support.watched_cache import steps_back, watched
from tools.servers import Jars

KEYS = 6
FIRST, SECOND = 180, 30


def record(seq: int) -> Record:
    """Records of few keys, some of which are tombstones."""
    return b"%d" % (seq % KEYS), None if seq % 11 == 7 else json.dumps({"seq": seq}).encode()


def send(sink: Sink, first: int, last: int) -> None:
    sink.send([record(seq) for seq in range(first, last)], partition=0)


def histories(last: int) -> dict[int, list[int | None]]:
    return {key: [None if seq % 11 == 7 else seq for seq in range(key, last, KEYS)] for key in range(KEYS)}


class Commits:
    """Commits of a task, the first of which fail once they have come to an offset."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, *errors: IgniteKafkaError) -> None:
        self.errors = list(errors)
        commit = SinkSlots.commit

        def commit_or_fail(slots: SinkSlots, offsets: Mapping[TopicPartition, int], *rest: Any) -> None:
            if self.errors and any(offset >= at for offset in offsets.values()):
                raise self.errors.pop(0)
            commit(slots, offsets, *rest)

        monkeypatch.setattr(SinkSlots, "commit", commit_or_fail)


@pytest.mark.parametrize("mode", ["ATOMIC", pytest.param("TRANSACTIONAL", marks=pytest.mark.long("ATOMIC"))])
def test_no_key_steps_back_when_a_task_or_a_run_begins_again(
    sink: Sink, jars: Jars, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """A task stores records and fails before it commits them, twice; a repair and a run begin where nothing is committed."""
    columns: dict[str, Any] = {"cache_fields": {"seq": "java.lang.Integer"}, "cache_atomicity": mode}
    sink.settings = replace(sink.settings, delivery=STRICT, batch_size=KEYS, push_interval_ms=600_000, **columns)
    generation = sink.run().generation
    compile_java([SOURCES / "WatchEntries.java"], jars.thin_client, tmp_path)
    with watched(jars, tmp_path, tmp_path / "changes", sink.ignite.address, sink.cache) as changes:
        send(sink, 0, FIRST)
        plan = replace(make_plan(sink.settings, Topics(sink.clients), 2), generation=generation, fence=fence_of(sink))
        failed = Commits(monkeypatch, FIRST, KafkaUnavailable("the first end"), IgniteKafkaError("the second end"))
        results = list(sink_slots(plan, Secrets(), [0, 1], 0, Epoch(1_000, 0, seconds=600.0)))
        assert [str(result.error) for result in results] == ["the second end"] * 2
        assert not failed.errors
        assert sink.group()[0] < FIRST - 6 * KEYS
        newest = {key: sequence[-1] for key, sequence in histories(FIRST).items()}
        assert {key: entry["seq"] for key, entry in sink.entries().items()} == {k: s for k, s in newest.items() if s is not None}
        compared = verify_connector(sink.spark, sink.settings, Secrets(), None, VerifyOptions(repair=True))
        assert [cache.repaired for cache in compared.caches] == [0]
        send(sink, FIRST, FIRST + SECOND)
        sink.run()
        entries = {key: entry["seq"] for key, entry in sink.entries().items()}
        last = {key: sequence[-1] for key, sequence in histories(FIRST + SECOND).items()}
        assert entries == {key: seq for key, seq in last.items() if seq is not None}
        assert sink.group()[0] == FIRST + SECOND
        heard = changes.await_newest(entries)
    assert not steps_back(heard, histories(FIRST + SECOND))
    assert len(heard) > FIRST
