"""Retries of a slot last `retry_timeout_ms` from its first failure on."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ignite_kafka import transform_function
from ignite_kafka.common.retry import GROWING
from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, TopicError
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import Page
from ignite_kafka.kafka.clients import BRIEF_S, KafkaClients
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.runtime.clients import slot_clients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.snapshot.task import SlotCopy, Turn, batch_bytes
from ignite_kafka.state.status import CacheCount
from tests.support.ignite_bytes import CACHE, Types, number, page, string

ATTEMPT_S = 1.5


class Clock:
    """A clock that moves by waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True)
class FailingOpener:
    """Opens no slot: each attempt ends with one error after a while. Collects the patience of each attempt's clients."""

    clients: KafkaClients
    clock: Clock
    error: IgniteKafkaError
    patience: list[float] = field(default_factory=list)

    def __call__(self, _slot: int, _end: int | None = None) -> None:
        self.patience.append(self.clients.patience_s)
        self.clock.now += ATTEMPT_S
        raise self.error


def patience_until_failure(error: IgniteKafkaError, retry_s: int) -> list[float]:
    """Patience of each attempt of a slot that waits an hour for its turn and then always fails."""
    clock, stop = Clock(), threading.Event()
    settings = SourceSettings(name="c", retry_timeout_ms=retry_s * 1000)
    opener = FailingOpener(slot_clients(settings, Secrets()), clock, error)
    signal = SimpleNamespace(is_set=stop.is_set, set=stop.set, wait=clock.wait)
    turn = Turn(cast(Any, None), cast(Any, opener), stop=cast(Any, signal))
    copy = SlotCopy(TransferPlan("c", "s", 1, 16, settings, ()), 0, turn, clock=clock)
    clock.now += 3600
    begun = clock.now
    result = copy.run()
    assert result.error is not None
    assert (type(result.error), result.error.what) == (type(error), error.what)
    assert stop.is_set()
    assert clock.now - begun <= ATTEMPT_S + (retry_s if len(opener.patience) > 1 else 0) + ATTEMPT_S + GROWING.longest_s
    return opener.patience


def test_the_retry_time_begins_with_the_first_failure() -> None:
    patience = patience_until_failure(KafkaUnavailable("away"), 30)
    assert len(patience) * (ATTEMPT_S + GROWING.longest_s) >= 30
    assert patience[0] == 30
    assert patience == sorted(patience, reverse=True)
    assert patience[-1] == BRIEF_S


def test_a_short_retry_time_still_waits_for_an_answer() -> None:
    assert set(patience_until_failure(KafkaUnavailable("away"), 3)) == {BRIEF_S}


def test_a_final_error_is_not_retried() -> None:
    assert len(patience_until_failure(TopicError("gone"), 30)) == 1


@pytest.mark.parametrize(
    ("read", "written", "limit"),
    [(8 << 20, 8 << 20, 8 << 20), (8 << 20, 16 << 20, 8 << 20), (8 << 20, 64 << 20, 2 << 20), (100, 0, 8 << 20)],
)
def test_batches_are_smaller_where_records_are_larger_than_entries(read: int, written: int, limit: int) -> None:
    assert batch_bytes(4 << 20, read, written) == limit


class CountingWriter:
    """Keeps the records and offset records of a slot."""

    def __init__(self) -> None:
        self.state: Any = SimpleNamespace(by_cache={})
        self.sent: list[bytes] = []
        self.units: dict[int, tuple[int, int]] = {}
        self.dropped: dict[int, int] = {}
        self.dead_letters: dict[int, int] = {}
        self.past_limits, self.types_sent, self.uses_sent = False, dict[int, Any](), dict[str, Any]()

    def send_type_record(self, *_: Any) -> None:
        pass

    def send(self, topic: str, partitions: int, records: Any, topic_id: str) -> None:
        self.sent += records.keys.to_pylist()

    def too_large(self, *_: Any) -> dict[int, IgniteKafkaError]:
        return {}

    def unit_done(self, cache: str, partition: int, incarnation: str, snapshot: str, records: int, bad: int, *more: Any) -> None:
        self.units[partition] = records, bad
        self.dropped[partition], self.dead_letters[partition] = more[-2:]


def test_filtered_entries_are_counted_and_wholly_filtered_partitions_are_done() -> None:
    """Partition 1 is cut into two batches, of partition 2 nothing matches, and an entry of partition 3 is bad."""
    settings = SourceSettings(name="c", where="_value > 1", error_handling_policy="LOG_ONLY")
    cache, writer, count = CachePlan("tested", 1, "topic", 8, 2), CountingWriter(), CacheCount()
    turn = Turn(cast(Any, Types()), cast(Any, None))
    copy = SlotCopy(TransferPlan("c", "s", 1, 16, settings, (cache,)), 0, turn)

    def entries(partition: int, *values: bytes, last: bool = True) -> Page:
        return replace(page([(number(codes.LONG, at), value) for at, value in enumerate(values)], partition), last=last)

    low, high = number(codes.INT, 1), number(codes.INT, 2)
    first, second = entries(1, low, high, high, last=False), entries(1, low, low)
    for batch in ([first], [second, entries(2, low, low), entries(3, string("bad"), high, low), entries(4)]):
        copy._copy_batch(cast(Any, writer), cache, CACHE, batch, count)
    assert writer.sent == [b"1", b"2", b"1"]
    assert writer.units == {1: (2, 0), 2: (0, 0), 3: (1, 1), 4: (0, 0)}
    assert (count.entries, count.records, count.bad, count.filtered, count.units) == (4, 3, 1, 6, 4)


def test_entries_that_transforms_drop_are_counted_beside_filtered_ones() -> None:
    """Of partition 1 the filter leaves one entry out, transforms drop another one and refuse a third one."""
    chain = {
        "drop": {"type": f"{__name__}:without_two"},
        "cast": {"type": "org.apache.kafka.connect.transforms.Cast$Value", "spec": "int32"},
    }
    settings = SourceSettings(
        name="c", where="_value <> '1'", error_handling_policy="LOG_ONLY", transforms=tuple(chain), transform_config=chain,
        overrides={".*": {"topic": "topic"}},
    )  # fmt: skip
    cache, writer, count = CachePlan("tested", 1, "topic", 8, 2), CountingWriter(), CacheCount()
    copy = SlotCopy(TransferPlan("c", "s", 1, 16, settings, (cache,)), 0, Turn(cast(Any, Types()), cast(Any, None)))
    entries = page([(number(codes.LONG, at), string(value)) for at, value in enumerate("12x34")], 1)
    copy._copy_batch(cast(Any, writer), cache, CACHE, [entries], count)
    assert writer.sent == [b"3", b"4"]
    assert (writer.units, writer.dropped) == ({1: (2, 1)}, {1: 1})
    assert (count.entries, count.records, count.bad, count.filtered, count.units) == (4, 2, 1, 1, 1)


@transform_function
def without_two(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Drop the records of value 2."""
    return batch.filter(pc.not_equal(batch["value"], "2"))
