"""The comparison of connectors on real servers, by Spark: equal after a copy, differences found, repaired, and fenced from runs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer
from pyignite.datatypes import LongObject

from ignite_kafka.errors import Fenced, NotStopped
from ignite_kafka.kafka.topics import Topics, read_to_end
from ignite_kafka.runtime.clients import ignite_cluster
from ignite_kafka.runtime.connector_run import RunRequest
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.source.snapshot.run import run_snapshot
from ignite_kafka.verification.direction import Judged
from ignite_kafka.verification.job import VerifyJob
from tests.support.sink_connector import Running, Sink, expected, trade
from tests.support.snapshot_world import ROWS, World
from tests.support.verified_results import counts, verified
from tests.support.waiting import REQUEST_S, wait_until


@pytest.mark.parametrize("converter", ["json", "ignite-binary"])
@pytest.mark.parametrize("thorough", [False, True])
def test_a_copy_is_equal_to_its_caches(converter: str, thorough: bool, fresh: World) -> None:
    settings = replace(fresh.settings, key_converter=converter, value_converter=converter)
    run_snapshot(fresh.spark, RunRequest(settings, uuid.uuid4().hex, None))
    found = verified(fresh, settings, thorough=thorough)
    assert {name: counts(one) for name, one in found.items()} == {
        "trades": (ROWS, ROWS, 0, 0, 0),
        "names": (50, 50, 0, 0, 0),
        "accounts": (40, 40, 0, 0, 0),
        "empty": (0, 0, 0, 0, 0),
    }
    part = verified(fresh, settings, percent=10)["trades"].result
    assert 0 < part.entries == part.records < ROWS / 4


def damage(fresh: World) -> None:
    """Remove a record of the copy, change one, and add one that no entry has."""
    topic = f"{fresh.settings.topic_prefix}{fresh.stem}-names"
    producer = Producer({"bootstrap.servers": fresh.kafka.bootstrap, "partitioner": "murmur2_random"})
    for key, value in ((b'"key 1"', None), (b'"key 2"', b'"wrong"'), (b'"key 99"', b'"too much"')):
        producer.produce(topic, value, key)
    assert producer.flush(REQUEST_S) == 0


def last_records(fresh: World, topic: str) -> Mapping[bytes | None, bytes | None]:
    messages = read_to_end(fresh.clients, Topics(fresh.clients), topic, [0, 1, 2])
    return {message.key(): message.value() for message in messages}


def test_differences_of_a_source_are_found_and_repaired(fresh: World) -> None:
    fresh.run()
    topic = f"{fresh.settings.topic_prefix}{fresh.stem}-names"
    before = last_records(fresh, topic)
    assert set(before) == {b'"key %d"' % number for number in range(50)}
    damage(fresh)
    found = verified(fresh)["names"]
    assert counts(found) == (50, 53, 0, 2, 1)
    assert [one.key for one in found.result.noted] == [b'"key 1"', b'"key 2"', b'"key 99"']
    repaired = verified(fresh, repair=True)
    assert (repaired["names"].repaired, repaired["names"].equal, repaired["trades"].repaired) == (3, True, 0)
    assert counts(verified(fresh)["names"]) == (50, 56, 0, 0, 0)
    assert last_records(fresh, topic) == {**before, b'"key 99"': None}
    assert fresh.verify()["names"].equal


def test_differences_of_a_sink_are_found_and_repaired(sink: Sink) -> None:
    sink.send([trade(number) for number in range(3_000)])
    sink.send([(b"7", None)], partition=1)
    sink.run()
    assert counts(verified(sink)["cache"]) == (2_999, 3_001, 0, 0, 0)
    with sink.ignite.client() as client:
        cache = client.get_cache(sink.cache)
        wrong, gone = cache.get(20, key_hint=LongObject), cache.get(8, key_hint=LongObject)
        cache.put(8, wrong, key_hint=LongObject)
        cache.put(7, gone, key_hint=LongObject)
        cache.put(9_999, gone, key_hint=LongObject)
        cache.remove_key(9, key_hint=LongObject)
    found = verified(sink)["cache"]
    assert counts(found) == (3_000, 3_001, 1, 1, 2)
    texts = "\n".join(found.result.examples)
    assert "no entry of key 9" in texts
    assert "key 8: id is 8 in the record, 20 in the entry" in texts
    repaired = verified(sink, repair=True)["cache"]
    assert (repaired.repaired, repaired.equal) == (3, False), "an entry of which the topic has no record is left as it is"
    assert counts(verified(sink)["cache"]) == (3_000, 3_001, 0, 0, 1)
    assert {key: value for key, value in sink.entries().items() if key < 20} == {at: expected(at) for at in range(20) if at != 7}


def test_records_that_a_sink_has_not_stored_yet_are_no_differences(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run()
    sink.send([trade(number) for number in range(100, 130)])
    assert counts(verified(sink)["cache"]) == (30, 30, 0, 0, 0)


def test_a_repair_beside_a_run_is_refused(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    with Running(sink, slots=1) as running:  # it holds one of the session's two cores, the comparison has the other one
        running.awaits(set(range(30)))
        wait_until(lambda: running.alive and verified(sink)["cache"].result.equal, "the commit of the stored records")
        with pytest.raises(NotStopped, match="its newest run has not ended"):
            verified(sink, repair=True)
        assert verified(sink, repair=True, force=True)["cache"].equal
        running.ended = True  # the repair has taken the connector, as a run would
        running.stop()
        with pytest.raises(Fenced, match=r"a run that is starting, a repair, or a change of offsets .* of connector"):
            wait_until(lambda: not running.alive, "the end of the run")


@contextmanager
def run_before_the_end(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    job = VerifyJob.run

    def run(self: Any, entries: int = 0) -> list[Judged]:
        found = job(self, entries)
        sink.run()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(VerifyJob, "run", run)
        yield


def test_a_run_that_begins_during_a_repair_is_reported(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run()
    with run_before_the_end(sink, monkeypatch), pytest.raises(Fenced, match="began during the repair"):
        verified(sink, repair=True)


def test_the_size_of_a_cache(fresh: World) -> None:
    with ignite_cluster(fresh.settings, Secrets()) as cluster:
        assert [cluster.size(f"{fresh.stem}-{name}") for name in ("trades", "names", "empty")] == [ROWS, 50, 0]
