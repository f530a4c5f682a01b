"""Where a sink reads on: offsets of its group, records that retention deleted, topics made again or grown."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ignite_kafka.admin.sink_offsets import move
from ignite_kafka.errors import CacheDestroyed, RecordsLost, SettingsError, TopicError
from ignite_kafka.events import CACHE_LACKS_RECORDS, CACHES_MADE, OFFSET_RESET, OFFSETS_GUESSED, RECORDS_OPEN
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.plan.slots import slot_of
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.state.internal_names import slot_transactional_id
from tests.support.frozen_workers import frozen
from tests.support.kept_events import assert_kept
from tests.support.sink_connector import Running, Sink, trade
from tests.support.waiting import REQUEST_S, wait_until


def test_an_expired_group_loses_no_offset(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run()
    (deleted,) = sink.admin.delete_consumer_groups([f"connect-{sink.name}"]).values()
    deleted.result()
    assert sink.group() == {}
    sink.send([trade(31)], partition=0)
    assert sink.run().caches[sink.cache].records == 1
    assert sink.group() == {0: 11, 1: 10, 2: 10}


def test_group_offsets_of_another_program_are_used(sink: Sink) -> None:
    """Such as those of a Kafka Connect sink of the same name, which this one replaces, or of kafka-consumer-groups."""
    sink.send([trade(number) for number in range(30)], partition=0)
    sink.alter_group(0, 20)
    assert sink.run().caches[sink.cache].records == 10
    sink.alter_group(0, 5)
    assert sink.run().caches[sink.cache].records == 25


@pytest.mark.parametrize("same", ["name", "consumer_group"])
def test_two_connectors_do_not_share_a_group(sink: Sink, same: str) -> None:
    """Before this was refused, the second run stored nothing, and its state was COMPLETED."""
    sink.send([trade(number) for number in range(30)])
    sink.run()
    own = {"internal_topic_prefix": f"other-{sink.name}", "cache_prefix": f"{sink.cache}-other"}
    if same == "consumer_group":
        own |= {"name": f"{sink.name}-other", "consumer_group": f"connect-{sink.name}"}
    with pytest.raises(SettingsError, match=f"another connector commits the offsets of consumer group connect-{sink.name}"):
        sink.run(**own)
    assert not [topic for topic in sink.admin.list_topics(timeout=REQUEST_S).topics if topic.startswith(f"other-{sink.name}-offsets")]
    sink.alter_group(0, 4)  # kafka-consumer-groups takes the group over, with no metadata
    sink.alter_group(1, 10)
    sink.alter_group(2, 10)
    assert sink.run(**own).caches[f"{sink.cache}-other"].records == 6
    with pytest.raises(SettingsError, match="another connector commits"):
        sink.run()


def test_records_behind_an_open_transaction_are_told_and_stored_by_the_next_run(sink: Sink) -> None:
    sink.send([trade(number) for number in range(3)], partition=0)
    producer = Producer({"bootstrap.servers": sink.kafka.bootstrap, "transactional.id": sink.name})
    producer.init_transactions(REQUEST_S)
    producer.begin_transaction()
    key, value = trade(3)
    producer.produce(sink.topic, value, key, 0)
    assert producer.flush(REQUEST_S) == 0
    sink.send([trade(number) for number in range(4, 9)], partition=0)
    ended = sink.run()
    assert (ended.caches[sink.cache].records, ended.events[str(RECORDS_OPEN.id)]) == (3, 1)
    lag = sink.lag()
    assert (lag.counts(), lag.open_counts()) == ({}, {sink.topic: 6})
    producer.commit_transaction(REQUEST_S)
    assert sink.lag().counts() == {sink.topic: 7}  # with the marker of the transaction's end
    ended = sink.run()
    assert (ended.caches[sink.cache].records, ended.events.get(str(RECORDS_OPEN.id))) == (6, None)
    assert_kept(sink.settings, RECORDS_OPEN)
    assert sink.lag().to_dict()["total"] == 0


def test_offsets_in_the_transaction_of_a_killed_run_are_not_waited_for(sink: Sink) -> None:
    """The next run ends that transaction when it takes the slot over; to read stable offsets before would take until it times out."""
    sink.send([trade(number) for number in range(30)])
    slot = slot_of(sink.topic, 0, sink.settings.slots or 0)
    killed = Producer({"bootstrap.servers": sink.kafka.bootstrap, "transactional.id": slot_transactional_id(sink.name, slot)})
    killed.init_transactions(REQUEST_S)
    killed.begin_transaction()
    group = Consumer({"bootstrap.servers": sink.kafka.bootstrap, "group.id": f"connect-{sink.name}"})
    killed.send_offsets_to_transaction([TopicPartition(sink.topic, 0, 5)], group.consumer_group_metadata(), REQUEST_S)
    group.close()
    assert sink.run(retry_timeout_ms=20_000).caches[sink.cache].records == 30


def test_a_cache_that_lacks_what_was_read_before_is_told(sink: Sink) -> None:
    """Before, a run that created the cache anew went on behind the records that the destroyed one had, without a word."""
    sink.send([trade(number) for number in range(30)])
    assert str(CACHE_LACKS_RECORDS.id) not in sink.run().events
    sink.ignite.destroy_caches(sink.cache)
    sink.send([trade(30)])
    assert sink.run().events[str(CACHE_LACKS_RECORDS.id)] == 1
    assert_kept(sink.settings, CACHE_LACKS_RECORDS, CACHES_MADE)
    assert set(sink.entries()) == {30}
    move(sink.settings, Secrets(), "earliest")
    sink.run()
    assert set(sink.entries()) == set(range(31))


def test_a_cache_destroyed_during_a_run_ends_it(sink: Sink) -> None:
    sink.send([trade(1)])
    with Running(sink) as running:
        running.awaits({1})
        wait_until(lambda: sum(sink.group().values()) == 1, "its commit")
        sink.ignite.destroy_caches(sink.cache)
        sink.send([trade(2)])
        with pytest.raises(CacheDestroyed, match="went away while entries were put into it") as ended:
            wait_until(lambda: not running.alive, "its end")
        running.ended = True
    assert ended.value.where["cache"] == sink.cache
    assert sum(sink.group().values()) == 1, "a record was committed that no cache has"


def test_a_sink_that_is_reset_stores_its_topic_again(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    assert sink.run().caches[sink.cache].records == 30
    assert move(sink.settings, Secrets(), "earliest").offsets == {(sink.topic, number): (10, 0) for number in range(3)}
    assert sink.run().caches[sink.cache].records == 30
    move(sink.settings, Secrets(), "7", sink.topic, 2)
    assert sink.run().caches[sink.cache].records == 3


@pytest.mark.parametrize(("reset", "stored"), [("none", 0), ("earliest", 5), ("latest", 0)])
def test_records_that_retention_has_deleted(sink: Sink, reset: str, stored: int) -> None:
    sink.send([trade(number) for number in range(10)], partition=0)
    sink.run()
    sink.send([trade(number) for number in range(10, 20)], partition=0)
    (cut,) = sink.admin.delete_records([TopicPartition(sink.topic, 0, 15)]).values()
    cut.result()
    if reset == "none":
        with pytest.raises(RecordsLost, match="next record to read is offset 10, and the partition starts at offset 15") as lost:
            sink.run()
        assert (lost.value.where["topic"], lost.value.where["partition"]) == (sink.topic, 0)
        assert sink.group()[0] == 10
        return
    assert sink.run(auto_offset_reset=reset).caches[sink.cache].records == stored
    assert sink.group()[0] == 20
    assert_kept(sink.settings, OFFSETS_GUESSED, OFFSET_RESET)


def overtake(sink: Sink) -> None:
    """The tasks of a run that has stored offsets 0 and 1 are suspended; meanwhile 2 to 11 are added and 2 to 9 deleted."""
    with frozen():
        time.sleep(0.5)  # the broker answers the requests in flight
        sink.send([trade(number) for number in range(2, 12)], partition=0)
        (cut,) = sink.admin.delete_records([TopicPartition(sink.topic, 0, 10)]).values()
        cut.result()


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_a_continuous_run_skips_records_that_retention_deletes(sink: Sink, reset: str) -> None:
    left = {10, 11} if reset == "earliest" else set()
    sink.send([trade(0)], partition=0)
    sink.run()
    sink.send([trade(1)], partition=0)
    with Running(sink, auto_offset_reset=reset) as running:
        running.awaits({0, 1})
        wait_until(lambda: sink.group()[0] == 2, "its commit")
        overtake(sink)
        wait_until(lambda: running.alive and sink.group()[0] == 12, "the end of the topic")
        sink.send([trade(12)], partition=0)
        running.awaits({0, 1, 12, *left})


def test_a_continuous_run_ends_at_lost_records_without_a_reset_policy(sink: Sink) -> None:
    sink.send([trade(0), trade(1)], partition=0)
    with Running(sink) as running:
        running.awaits({0, 1})
        overtake(sink)
        with pytest.raises(RecordsLost, match="set auto_offset_reset to earliest or latest") as lost:
            wait_until(lambda: not running.alive, "its end")
        running.ended = True
    assert lost.value.where == {"topic": sink.topic, "partition": 0, "offset": 2}
    assert sink.group().get(0, 0) <= 2


def test_a_first_start_may_begin_at_the_topics_ends(sink: Sink) -> None:
    sink.send([trade(number) for number in range(10)], partition=0)
    assert sink.run(auto_offset_reset="latest").caches[sink.cache].records == 0
    sink.send([trade(number) for number in range(10, 13)], partition=0)
    sink.add_partitions(sink.topic, 4)
    wait_until(lambda: Topics(sink.clients).partitions(sink.topic) == 4, "the new partition")
    sink.send([trade(20)], partition=3)
    assert sink.run(auto_offset_reset="latest").caches[sink.cache].records == 4
    assert set(sink.entries()) == {10, 11, 12, 20}


def test_a_topic_that_was_made_again_is_refused(sink: Sink) -> None:
    sink.send([trade(number) for number in range(10)], partition=0)
    sink.run()
    sink.delete_topic(sink.topic)
    wait_until(lambda: sink.topic not in Topics(sink.clients).existing(), "the topic's end")
    sink.make_topic(sink.topic, 3)
    sink.send([trade(number) for number in range(100, 120)], partition=0)
    with pytest.raises(TopicError, match="deleted and made again since it was read") as refused:
        sink.run()
    assert refused.value.where["topic"] == sink.topic
    assert set(sink.entries()) == set(range(10))
    move(sink.settings, Secrets(), "earliest")
    assert sink.run().caches[sink.cache].records == 20


def test_a_topic_may_get_more_partitions_between_runs(sink: Sink) -> None:
    sink.send([trade(number) for number in range(30)])
    sink.run()
    sink.add_partitions(sink.topic, 5)
    wait_until(lambda: Topics(sink.clients).partitions(sink.topic) == 5, "the new partitions")
    sink.send([trade(40)], partition=3)
    sink.send([trade(41)], partition=4)
    result = sink.run()
    assert (result.caches[sink.cache].records, result.caches[sink.cache].units) == (2, 5)
    assert sink.group() == {0: 10, 1: 10, 2: 10, 3: 1, 4: 1}


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_at_a_transaction_marker_is_reached(sink: Sink, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": sink.kafka.bootstrap, "transactional.id": f"{sink.name}-writer"})
    producer.init_transactions(30)
    producer.begin_transaction()
    key, value = trade(1)
    producer.produce(sink.topic, value, key, 0)
    producer.flush(REQUEST_S)
    if commit:
        producer.commit_transaction(-1)
    else:
        producer.abort_transaction(-1)
    assert sink.run().caches[sink.cache].records == commit
    assert sink.group()[0] == 2
    assert set(sink.entries()) == ({1} if commit else set())
