"""Sinks with strict delivery: nothing of a superseded task or run is stored after something newer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
import pytest

from ignite_kafka.admin.connectors import delete_connector
from ignite_kafka.errors import Fenced, RecordRefused
from ignite_kafka.ignite.cache_writer import CacheWriter
from ignite_kafka.ignite.write_fence import WriteFence, WriterToken, generation_in_force
from ignite_kafka.runtime.clients import ignite_cluster
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.verification.connector import verify_connector
from ignite_kafka.verification.result import VerifyOptions
from tests.support.sink_connector import Sink, expected, trade


def test_entries_are_put_overwritten_and_removed(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    assert sink.run(delivery="strict").caches[sink.cache].records == 30
    assert sink.entries() == {number: expected(number) for number in range(30)}
    sink.send([(b"3", None), trade(4, symbol="new"), trade(31)], partition=0)
    assert sink.run(delivery="strict").caches[sink.cache].records == 3
    entries = sink.entries()
    assert 3 not in entries
    assert entries[4]["symbol"] == "new"
    assert set(entries) == {*range(30), 31} - {3}


def fence_of(sink: Sink) -> str:
    return f"{sink.admin.list_topics().cluster_id}/{sink.settings.internal_topic_prefix}/{sink.name}"


@contextmanager
def task_writer(sink: Sink, token: WriterToken) -> Iterator[CacheWriter]:
    """Writer of a task: a connection to the nodes with the token of its run."""
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        fence = WriteFence(cluster, fence_of(sink), [0, 1], token, [sink.cache])
        with CacheWriter(cluster, cluster.cache(sink.cache), overwrite=True, fence=fence) as writer:
            yield writer


def long_keys(*keys: int) -> pa.BinaryArray:
    return pa.array([b"\x04" + key.to_bytes(8, "little") for key in keys], pa.binary())


def text_values(*values: str) -> pa.BinaryArray:
    return pa.array([b"\x09" + len(value).to_bytes(4, "little") + value.encode() for value in values], pa.binary())


def test_a_task_that_resumes_after_a_newer_run_changes_nothing(sink: Sink) -> None:
    """Neither a value that it puts late, nor one of a key that the newer run has removed, nor its removals."""
    sink.send([trade(number) for number in range(6)], partition=0)
    sink.run(delivery="strict")
    with task_writer(sink, WriterToken(1)) as older_writer:
        sink.send([trade(1, symbol="newer"), (b"2", None)], partition=0)
        sink.run(delivery="strict")
        before = sink.entries()
        older_writer.put(long_keys(1, 2, 9), text_values("a", "b", "c"))
        with pytest.raises(Fenced, match="generation 1"):
            older_writer.flush()
        older_writer.remove(long_keys(3))
        with pytest.raises(Fenced, match="generation 1"):
            older_writer.flush()
    assert sink.entries() == before
    assert before[1]["symbol"] == "newer"


def test_a_request_of_an_earlier_turn_changes_nothing(sink: Sink) -> None:
    """A request that got no answer is repeated in the next turn; the first one, which arrives later, is refused."""
    sink.send([trade(1)], partition=0)
    sink.run(delivery="strict")
    token = WriterToken(1, epoch=9)
    with task_writer(sink, token) as first, task_writer(sink, token) as second:
        assert first.fence is not None
        assert second.fence is not None
        first.fence.establish()
        second.fence.take_turn()
        second.put(long_keys(1), text_values("repeated"))
        second.flush()
        first.put(long_keys(1), text_values("late"))
        with pytest.raises(Fenced, match="turn 0"):
            first.flush()
        with sink.ignite.client() as client:
            assert client.get_cache(sink.cache).get(1) == "repeated"


def test_a_repair_fences_the_run_before_it(sink: Sink) -> None:
    sink.send([trade(number) for number in range(4)], partition=0)
    sink.run(delivery="strict")
    with task_writer(sink, WriterToken(1, epoch=1)) as older_writer:
        older_writer.remove(long_keys(2))
        older_writer.flush()
        settings = replace(sink.settings, delivery="strict")
        verification = verify_connector(sink.spark, settings, Secrets(), None, VerifyOptions(repair=True))
        assert [cache.repaired for cache in verification.caches] == [1]
        older_writer.remove(long_keys(2))
        with pytest.raises(Fenced, match="slot 0"):
            older_writer.flush()
    assert sink.entries() == {number: expected(number) for number in range(4)}
    sink.send([(b"1", None)], partition=0)
    sink.run(delivery="strict")
    assert set(sink.entries()) == {0, 2, 3}


def test_a_repair_ends_before_the_record_that_stopped_the_run(sink: Sink) -> None:
    """The run has committed a limit behind that record, and stored nothing behind it."""
    sink.send([trade(1), trade(2), (b"3", b"no JSON"), trade(4)], partition=0)
    with pytest.raises(RecordRefused):
        sink.run(delivery="strict")
    with sink.ignite.client() as client:
        client.get_cache(sink.cache).remove_key(1)
    settings = replace(sink.settings, delivery="strict")
    compared = verify_connector(sink.spark, settings, Secrets(), None, VerifyOptions(repair=True))
    assert [cache.repaired for cache in compared.caches] == [1]
    assert (sink.entries(), sink.group()[0]) == ({1: expected(1), 2: expected(2)}, 2)


def test_a_deleted_sink_leaves_no_fence(sink: Sink) -> None:
    sink.send([trade(1)], partition=0)
    sink.run(delivery="strict")
    with ignite_cluster(sink.settings, Secrets()) as cluster:
        assert generation_in_force(cluster, fence_of(sink)) == 1
        assert delete_connector(sink.settings, Secrets()).ended
        assert generation_in_force(cluster, fence_of(sink)) == 0
    with task_writer(sink, WriterToken(1, epoch=1)) as older_writer:
        older_writer.remove(long_keys(1))
        with pytest.raises(Fenced):
            older_writer.flush()
    assert set(sink.entries()) == {1}
