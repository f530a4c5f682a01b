"""Bad entries among good ones: snapshot and stream under each error policy, on real servers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import pytest
from confluent_kafka import Message
from pyspark.sql import SparkSession

from ignite_kafka.errors import DecodeError, IgniteKafkaError, RecordTooLarge, SettingsError, UnsupportedType
from ignite_kafka.events import BAD_RECORDS_SKIPPED, CONVERTER_FAILED
from ignite_kafka.ignite.backlog_service import BacklogService
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from ignite_kafka.plan.slots import slot_of
from ignite_kafka.run import RunRequest, run_source
from ignite_kafka.runtime.clients import ignite_cluster, kafka_clients
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state import status
from ignite_kafka.state.status import CacheStatus, RunStatus
from ignite_kafka.verification.connector import verify_connector
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.result import VerifyOptions
from tests.support.bad_entries import NULL_KEY, OF_UNKNOWN_TYPE, long, put_bytes
from tests.support.ignite_bytes import string
from tests.support.kept_events import assert_kept
from tests.support.randomness import generator
from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker

GOOD = 300
BAD = {1_001: OF_UNKNOWN_TYPE, 1_002: NULL_KEY}
LARGE = "".join(generator(1).choices("0123456789abcdefghijklmnopqrstuvwxyz", k=40_000))  # no codec makes a quarter of it
ALIKE = "x" * 40_000
LETTERS: dict[str, Any] = {"error_handling_policy": "DEAD_LETTER"}


class World:
    """The connector of one test, its cache, its topic and its dead letters."""

    def __init__(self, spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> None:
        self.spark, self.ignite = spark, ignite
        self.name = f"d{uuid.uuid4().hex[:8]}"
        self.cache, self.letters = f"{self.name}-cache", f"{self.name}-letters"
        self.settings = SourceSettings(
            name=self.name,
            ignite_addresses=ignite.addresses,
            bootstrap_servers=kafka.bootstrap,
            cache_whitelist=(self.cache,),
            internal_topic_prefix=f"in-{self.name}",
            topic_partitions=2,
            slots=4,
            poll_interval_ms=50,
            backlog_flush_freq_ms=20,
        )
        self.clients = kafka_clients(self.settings, Secrets())
        self.put({key: f"v{key}" for key in range(GOOD)})

    def put(self, values: Mapping[int, str]) -> None:
        with self.ignite.client() as client:
            client.get_or_create_cache(self.cache).put_all(dict(values))

    def put_bad(self, entries: Mapping[int, bytes]) -> None:
        put_bytes(self.ignite, self.cache, {long(key): value for key, value in entries.items()})

    def request(self, snapshot_id: str | None = None, **changed: Any) -> RunRequest[SourceSettings]:
        letters = self.letters if changed.get("error_handling_policy") == "DEAD_LETTER" else ""
        return RunRequest(replace(self.settings, dead_letter_topic=letters, **changed), uuid.uuid4().hex, snapshot_id)

    def run(self, snapshot_id: str | None = None, **changed: Any) -> RunStatus:
        return run_source(self.spark, self.request(snapshot_id, **changed))

    def counts(self, result: RunStatus) -> tuple[int, int, int]:
        found = result.caches[self.cache]
        return found.entries, found.records, found.bad

    def messages(self, topic: str) -> list[Message]:
        topics = Topics(self.clients)
        found = topics.existing().get(topic, 0)
        return list(read_to_end(self.clients, topics, topic, list(range(found)))) if found else []

    def records(self) -> list[tuple[bytes | None, bytes | None]]:
        return [(message.key(), message.value()) for message in self.messages(self.cache)]

    def found_letters(self) -> dict[bytes | None, bytes | None]:
        """Key to value of each dead letter; no key comes twice."""
        messages = self.messages(self.letters)
        found = {message.key(): message.value() for message in messages}
        assert len(found) == len(messages)
        return found


@pytest.fixture
def world(spark: SparkSession, ignite: IgniteCluster, kafka: KafkaBroker) -> Iterator[World]:
    made = World(spark, ignite, kafka)
    yield made
    with ignite.client() as client:
        client.get_cache(made.cache).destroy()


def good_records() -> list[tuple[bytes, bytes]]:
    return sorted((b"%d" % key, b'"v%d"' % key) for key in range(GOOD))


def bad_letters() -> dict[bytes, bytes]:
    return {long(key): value for key, value in BAD.items()}


def headers_of(message: Message) -> dict[str, bytes]:
    return dict(cast(list[tuple[str, bytes]], message.headers()))


# snapshot


def verified(world: World, policy: str) -> PairDifferences:
    settings = replace(world.settings, error_handling_policy=policy, dead_letter_topic=world.letters if policy == "DEAD_LETTER" else "")
    (found,) = verify_connector(world.spark, settings, Secrets(), None, VerifyOptions(limit=10)).caches
    return found.result


def test_verify_reports_skipped_entries(world: World) -> None:
    world.put_bad(BAD)
    world.run(**LETTERS)
    found = verified(world, "DEAD_LETTER")
    assert (found.equal, found.entries, found.skipped) == (True, GOOD + len(BAD), len(BAD))
    assert any(
        "an entry cannot be converted to a record" in example and "no metadata of a binary type" in example for example in found.examples
    )
    with pytest.raises(DecodeError):
        verified(world, "STOP_TASK")


def test_a_bad_entry_stops_the_run(world: World) -> None:
    world.put_bad({1_001: OF_UNKNOWN_TYPE})
    with pytest.raises(DecodeError, match="no metadata of a binary type"):
        world.run()


def test_bad_entries_are_skipped_and_counted(world: World) -> None:
    world.put_bad(BAD)
    result = world.run(error_handling_policy="LOG_ONLY")
    assert result.state == status.COMPLETED
    assert world.counts(result) == (GOOD + 2, GOOD, 2)
    assert sorted(world.records()) == good_records()
    assert world.messages(world.letters) == []
    assert_kept(world.settings, CONVERTER_FAILED, BAD_RECORDS_SKIPPED)


def test_each_policy_is_for_its_errors(world: World) -> None:
    """Entries that make no Connect data are the connector's; a record that is too large is Kafka's."""
    world.put_bad(BAD)
    with pytest.raises((DecodeError, UnsupportedType)):
        world.run(conversion_error_policy="LOG_ONLY")
    assert set(world.records()) <= set(good_records()), "other partitions may have been sent before"
    limits: dict[str, Any] = {"producer_override": {"message.max.bytes": "10000", "batch.size": "10000"}}
    policies = {"error_handling_policy": "LOG_ONLY", "conversion_error_policy": "STOP_TASK"}
    assert world.counts(world.run(**policies, **limits)) == (GOOD + 2, GOOD, 2)
    world.put({1_003: LARGE})
    with pytest.raises(RecordTooLarge):
        world.run(**policies, **limits)


def test_dead_letters_have_the_entrys_bytes_and_the_error(world: World) -> None:
    world.put_bad(BAD)
    assert world.counts(world.run(**LETTERS)) == (GOOD + 2, GOOD, 2)
    assert sorted(world.records()) == good_records()
    letters = {message.key(): message for message in world.messages(world.letters)}
    assert {key: letter.value() for key, letter in letters.items()} == bad_letters()
    wanted = {long(1_001): ("UnknownBinaryType", "no metadata"), long(1_002): ("UnsupportedType", "null key")}
    for key, (error, reason) in wanted.items():
        headers = headers_of(letters[key])
        partition = int(headers["ignite_kafka.errors.partition"])
        message = headers.pop("__connect.errors.exception.message").decode()
        trace = headers.pop("__connect.errors.exception.stacktrace").decode()
        assert reason in message
        assert trace.startswith(f"ignite_kafka.errors.{error}: {message} [")
        assert f"partition {partition}" in trace
        assert headers == {
            "__connect.errors.connector.name": world.name.encode(),
            "__connect.errors.task.id": b"%d" % slot_of(world.cache, partition, 4),
            "__connect.errors.stage": b"TASK_POLL",
            "__connect.errors.class.name": b"ignite_kafka.convert.to_kafka.entry_converter.EntryConverter",
            "__connect.errors.exception.class.name": f"ignite_kafka.errors.{error}".encode(),
            "ignite_kafka.errors.cache": world.cache.encode(),
            "ignite_kafka.errors.partition": b"%d" % partition,
            "ignite_kafka.errors.topic": world.cache.encode(),
        }


@pytest.mark.parametrize("form", ["avro", "string", "ignite-binary"])
def test_dead_letters_have_the_entrys_bytes_whatever_the_converter(world: World, form: str, request: pytest.FixtureRequest) -> None:
    world.put_bad({1_001: OF_UNKNOWN_TYPE})
    config = {"schema.registry.url": request.getfixturevalue("schema_registry").url} if form == "avro" else {}
    assert world.counts(world.run(**LETTERS, value_converter=form, value_converter_config=config)) == (GOOD + 1, GOOD, 1)
    assert sorted(int(key or b"") for key, _ in world.records()) == list(range(GOOD))
    assert world.found_letters() == {long(1_001): OF_UNKNOWN_TYPE}


def test_a_continued_run_sends_no_dead_letter_twice_and_counts_all(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.put_bad(BAD)

    def stops(*_: object) -> None:
        raise IgniteKafkaError("the driver stops here")

    with monkeypatch.context() as patch:
        patch.setattr("ignite_kafka.state.configs_writer.ConfigsWriter.end_snapshot", stops)
        with pytest.raises(IgniteKafkaError, match="stops here"):
            world.run("s", **LETTERS)
    continued, complete_already = world.run("s", **LETTERS), world.run("s", **LETTERS)
    assert world.counts(continued) == world.counts(complete_already) == (GOOD + 2, GOOD, 2)
    assert continued.caches[world.cache].dead_letters == complete_already.caches[world.cache].dead_letters == 2
    assert world.found_letters() == bad_letters()
    assert sorted(world.records()) == good_records()


def test_the_error_policy_may_change_within_a_snapshot(world: World) -> None:
    world.put_bad(BAD)
    with pytest.raises(IgniteKafkaError):
        world.run("s", transaction_max_records=1, page_bytes=1024)
    world.run("s", **LETTERS)
    assert sorted(world.records()) == good_records()
    assert world.found_letters() == bad_letters()


def test_a_record_too_large_for_its_topic_becomes_a_dead_letter(world: World) -> None:
    """The limit applies to the compressed size."""
    world.put({1_001: LARGE, 1_002: ALIKE})
    limits: dict[str, Any] = {"topic_config": {"max.message.bytes": "10000"}}
    assert world.counts(world.run(**LETTERS, **limits)) == (GOOD + 2, GOOD + 1, 1)
    assert (b"1002", b'"%s"' % ALIKE.encode()) in world.records()
    (letter,) = world.messages(world.letters)
    headers = headers_of(letter)
    assert (letter.key(), letter.value()) == (long(1_001), string(LARGE))
    assert headers["__connect.errors.stage"] == b"KAFKA_PRODUCE"
    assert headers["__connect.errors.class.name"] == b"ignite_kafka.kafka.producer.TransactionalProducer"
    assert b"larger than the topic's max.message.bytes" in headers["__connect.errors.exception.message"]


def test_a_record_whose_dead_letter_is_too_large_is_skipped(world: World) -> None:
    world.put({1_001: LARGE, 1_002: ALIKE})
    limits: dict[str, Any] = {"producer_override": {"message.max.bytes": "10000", "batch.size": "10000"}}
    assert world.counts(world.run(error_handling_policy="LOG_ONLY", **limits)) == (GOOD + 2, GOOD, 2)
    with pytest.raises(RecordTooLarge, match=world.letters):
        world.run(**LETTERS, **limits)


def test_a_dead_letter_that_its_topic_refuses_stops_the_run(world: World) -> None:
    world.put_bad({1_001: OF_UNKNOWN_TYPE})
    Topics(world.clients).ensure([TopicSpec(world.letters, 1, -1, {"max.message.bytes": "100"})])
    with pytest.raises(RecordTooLarge, match=world.letters):
        world.run(**LETTERS)
    assert world.messages(world.letters) == []


def test_the_topic_of_a_cache_cannot_be_the_dead_letter_topic(world: World) -> None:
    world.letters = world.cache
    with pytest.raises(SettingsError, match="topic of a cache"):
        world.run(**LETTERS)


# stream


STREAM: dict[str, Any] = {"run_mode": "continuous", "failover_policy": "BACKLOG", "process_removals": True}


@pytest.fixture
def streaming(world: World) -> Iterator[World]:
    yield world
    with ignite_cluster(world.settings, Secrets()) as cluster:
        cluster.ask(lambda connection: BacklogService(connection).force_stop(world.name, True))


def streamed(world: World, steps: Callable[[Callable[[Callable[[], bool], str], None]], None], **changed: Any) -> CacheStatus:
    """Run a stream while `steps` changes the cache, and stop it; `steps` gets a function that waits for a condition."""
    request = world.request(**STREAM, **changed)
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(run_source, world.spark, request)

        def wait_for(true: Callable[[], bool], what: str) -> None:
            def true_or_ended() -> bool:
                return true() or (ended.done() and ended.result() is None)

            wait_until(true_or_ended, what)

        try:
            steps(wait_for)
        finally:
            request.stop.set()
            ended.exception(DEADLINE_S)
        return ended.result().caches[world.cache]


@pytest.mark.parametrize("policy", ["LOG_ONLY", "DEAD_LETTER"])
def test_a_stream_continues_after_bad_entries(streaming: World, policy: str) -> None:
    """An earlier bad entry, then changes: bad, good, good and bad of the same key, and a removal."""
    world = streaming
    world.put_bad({1_001: OF_UNKNOWN_TYPE})

    def steps(wait_for: Callable[[Callable[[], bool], str], None]) -> None:
        wait_for(lambda: len(world.records()) == GOOD, "the entries that were there")
        world.put({5: "again"})
        world.put_bad({5: NULL_KEY, 1_002: NULL_KEY})
        world.put({5: "and again", 1_003: "new"})
        with world.ignite.client() as client:
            client.get_cache(world.cache).remove_keys([1_001])
        wait_for(lambda: {(b"1003", b'"new"'), (b"1001", None)} <= set(world.records()), "the last changes")

    found = streamed(world, steps, error_handling_policy=policy)
    of_key = [value for key, value in world.records() if key == b"5"]
    assert (of_key[0], of_key[-1]) == (b'"v5"', b'"and again"')
    assert set(of_key) <= {b'"v5"', b'"again"', b'"and again"'}
    assert found.records == len(world.records())
    assert found.bad == 3
    wanted = {long(1_001): OF_UNKNOWN_TYPE, long(5): NULL_KEY, long(1_002): NULL_KEY}
    assert world.found_letters() == (wanted if policy == "DEAD_LETTER" else {})


def test_a_later_start_of_a_stream_repeats_no_dead_letter(streaming: World) -> None:
    world = streaming
    world.put_bad(BAD)
    settings = {**STREAM, "run_mode": "once", **LETTERS}
    assert world.counts(world.run(**settings)) == (GOOD + 2, GOOD, 2)
    world.put_bad({1_003: OF_UNKNOWN_TYPE})
    third = world.run(**settings).caches[world.cache]
    assert (third.bad, third.dead_letters) == (1, 1)
    assert world.run(**settings).caches[world.cache].bad == 0
    assert world.found_letters() == {**bad_letters(), long(1_003): OF_UNKNOWN_TYPE}


def test_a_dead_letter_that_its_topic_refuses_stops_the_stream(streaming: World) -> None:
    streaming.put_bad({1_001: OF_UNKNOWN_TYPE})
    Topics(streaming.clients).ensure([TopicSpec(streaming.letters, 1, -1, {"max.message.bytes": "100"})])
    with pytest.raises(RecordTooLarge, match=streaming.letters):
        streaming.run(**STREAM, **LETTERS)
