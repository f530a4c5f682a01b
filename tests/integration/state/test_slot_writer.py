"""Slots, claims and fences on a real broker."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pytest

from ignite_kafka.errors import Fenced, KafkaUnavailable, OffsetsLost, RecordTooLarge, TopicError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.records import Records
from ignite_kafka.kafka.topics import Topics, TopicSpec, read_to_end
from ignite_kafka.plan.slots import Owner, SlotState
from ignite_kafka.state.configs import SnapshotRecord, read_connector
from ignite_kafka.state.configs_writer import ConfigsWriter
from ignite_kafka.state.internal_names import offsets_topic
from ignite_kafka.state.open_transaction import TransactionLimits
from ignite_kafka.state.slot_claim import SlotClaim
from ignite_kafka.state.slot_writer import SlotWriter
from tests.support.randomness import generator
from tests.support.waiting import wait_until
from tools.servers import KafkaBroker

PREFIX = "it-slots"


@dataclass
class Connector:
    """One connector of a test, with a data topic of two partitions."""

    clients: KafkaClients
    topics: Topics
    name: str
    topic: str
    ends: tuple[int, ...] = ()

    def take(self, slots: int = 4) -> ConfigsWriter:
        control = ConfigsWriter(self.clients, self.topics, PREFIX, self.name)
        control.take(slots, "run", {}, -1)
        self.ends = control.begin()
        return control

    def open(self, slot: int, generation: int, attempt: int = 0, end: int | None = None, **limits: int) -> SlotWriter:
        claim = SlotClaim.of(self.name, slot, Owner(generation, attempt=attempt), PREFIX, end)
        return SlotWriter(self.clients, claim, TransactionLimits(**limits), 1_000_000)

    def values(self) -> list[tuple[bytes | None, bytes | None]]:
        return [(message.key(), message.value()) for message in read_to_end(self.clients, self.topics, self.topic, [0, 1])]


@pytest.fixture
def connector(kafka: KafkaBroker) -> Connector:
    clients = KafkaClients({"bootstrap.servers": kafka.bootstrap})
    topics, name = Topics(clients), f"c{uuid.uuid4().hex[:8]}"
    topics.ensure([TopicSpec(f"{name}-data", 2, -1, {"max.message.bytes": "20000"})])
    return Connector(clients, topics, name, f"{name}-data")


def records(*values: bytes | None) -> Records:
    keys = [str(number).encode() for number in range(len(values))]
    return Records(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))


def send_and_commit(writer: SlotWriter, connector: Connector, batch: Records, topic_id: str = "") -> None:
    writer.send(connector.topic, 2, batch, topic_id)
    writer.commit()


def test_data_and_offsets_become_visible_together(connector: Connector) -> None:
    connector.take()
    writer = connector.open(3, 1)
    writer.send(connector.topic, 2, records(b"one", None, b""))
    writer.unit_done("cache", 3, "inc", "s", 3)
    assert connector.values() == []
    writer.commit()
    writer.close()
    assert sorted(connector.values()) == [(b"0", b"one"), (b"1", None), (b"2", b"")]
    assert connector.open(3, 1).state.done("s", "cache", "inc")[3].records == 3


def test_what_was_not_committed_is_sent_by_nobody(connector: Connector) -> None:
    connector.take()
    writer = connector.open(0, 1)
    writer.send(connector.topic, 2, records(b"lost"))
    writer.unit_done("cache", 0, "", "s", 1)
    writer.close()
    again = connector.open(0, 1)
    assert again.state.units == {}
    again.close()
    assert connector.values() == []


def test_a_newer_run_fences_the_older_ones_driver_and_tasks(connector: Connector) -> None:
    older = connector.take()
    writer = connector.open(0, 1)
    writer.send(connector.topic, 2, records(b"old"))
    connector.take()
    connector.open(0, 2).close()
    with pytest.raises(Fenced, match=r"generation 2 .* has taken over from generation 1"):
        writer.commit()
    with pytest.raises(Fenced, match="generation 2"):
        connector.open(1, 1)
    with pytest.raises(Fenced, match="generation 2"):
        older.end_snapshot(SnapshotRecord("s", {}), {})
    assert connector.values() == []


def test_what_an_older_task_commits_late_is_read_by_the_newer_one(connector: Connector) -> None:
    connector.take()
    writer = connector.open(0, 1)
    writer.send(connector.topic, 2, records(b"old"))
    writer.unit_done("cache", 0, "", "s", 1)
    connector.take()
    writer.commit()
    newer = connector.open(0, 2, end=connector.ends[0])
    assert newer.state.done("s", "cache", "")[0].records == 1
    newer.close()


def test_a_slot_that_nobody_has_written_to_is_not_read(connector: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
    connector.take()
    monkeypatch.setattr("ignite_kafka.state.slot_writer.read_slot", lambda *_: pytest.fail("read"))
    for slot, end in enumerate(connector.ends):
        writer = connector.open(slot, 1, end=end)
        assert writer.state == SlotState(slot, Owner(1))
        writer.close()


def test_an_older_drivers_begin_is_refused(connector: Connector) -> None:
    older = ConfigsWriter(connector.clients, connector.topics, PREFIX, connector.name)
    older.take(4, "older", {}, -1)
    connector.take()
    with pytest.raises(Fenced):
        older.begin()
    connector.open(2, 1).close()  # the one generation there is


def test_an_older_task_that_opens_a_slot_late_does_not_win(connector: Connector) -> None:
    connector.take()
    connector.take()
    writer = connector.open(2, 2)
    writer.send(connector.topic, 2, records(b"new"))
    with pytest.raises(Fenced):
        connector.open(2, 1)
    with pytest.raises(KafkaUnavailable, match="fenced by a task of an older run"):  # retriable: the task opens its slot again
        writer.commit()
    again = connector.open(2, 2)
    again.send(connector.topic, 2, records(b"new"))
    again.commit()
    with pytest.raises(Fenced):
        connector.open(2, 1)
    assert connector.values() == [(b"0", b"new")]


def test_an_older_attempt_of_a_task_ends_once_a_newer_one_has_written(connector: Connector) -> None:
    connector.take()
    first = connector.open(1, 1, attempt=0)
    second = connector.open(1, 1, attempt=1)
    second.send(connector.topic, 2, records(b"second"))
    second.commit()
    with pytest.raises(Fenced, match="attempt 1 of epoch 0 has taken over from attempt 0"):
        send_and_commit(first, connector, records(b"first"))
    with pytest.raises(Fenced, match="attempt 1 of epoch 0 has taken over from attempt 0"):
        connector.open(1, 1, attempt=0)
    assert connector.values() == [(b"0", b"second")]


def test_a_record_that_the_topic_refuses_is_named(connector: Connector) -> None:
    connector.take()
    writer = connector.open(0, 1)
    noise = generator(1).randbytes(64_000)  # does not compress: the broker compares the compressed batch
    with pytest.raises(RecordTooLarge, match="64001 bytes.*topic " + connector.topic):
        send_and_commit(writer, connector, records(b"small", noise))
    writer.close()
    assert connector.values() == []


def test_a_topic_that_was_extended_stops_the_slot(connector: Connector) -> None:
    connector.take()
    writer = connector.open(0, 1)
    writer.send(connector.topic, 3, records(b"x"))
    with pytest.raises(TopicError, match="2 partitions now, and had 3"):
        writer.commit()
    writer.close()
    assert connector.values() == []


def test_another_number_of_slots_is_refused(connector: Connector) -> None:
    connector.take(slots=4)
    with pytest.raises(TopicError, match="the setting slots is 8"):
        connector.take(slots=8)


def test_a_lost_offsets_topic_refuses_to_start(connector: Connector) -> None:
    connector.take()
    admin, _ = connector.clients.admin()
    topic = offsets_topic(PREFIX, connector.name)
    admin.delete_topics([topic])[topic].result()
    with pytest.raises(OffsetsLost, match="is missing"):
        connector.take()
    connector.topics.ensure([TopicSpec(topic, 4, -1, {"cleanup.policy": "compact"})])
    with pytest.raises(OffsetsLost, match="deleted and made again"):
        connector.take()


def test_an_offsets_topic_that_forgets_is_refused(connector: Connector) -> None:
    connector.topics.ensure([TopicSpec(offsets_topic(PREFIX, connector.name), 4, -1, {"cleanup.policy": "delete"})])
    with pytest.raises(OffsetsLost, match=r"cleanup\.policy 'delete'"):
        connector.take()


def test_a_superseded_snapshot_is_remembered(connector: Connector) -> None:
    control = connector.take()
    first, second = SnapshotRecord("first", {"caches": []}), SnapshotRecord("second", {})
    control.begin(first)
    control.begin(second, first)
    control.end_snapshot(second, {"c": {"topic": "t", "entries": 1}})
    state = read_connector(connector.clients, connector.topics, PREFIX, connector.name)
    assert state.snapshot == SnapshotRecord("second", {}, complete=True)
    assert state.ended["first"]["superseded_by"] == "second"
    ended = state.ended["second"]
    assert (ended["complete"], ended["superseded_by"], ended["caches"]["c"]["entries"]) == (True, None, 1)


def test_a_transaction_closes_past_any_limit(connector: Connector) -> None:
    connector.take()
    for limits in ({"records": 2}, {"bytes": 3}, {"open_ms": 0}):
        writer = connector.open(0, 1, **limits)
        past = [writer.past_limits]
        writer.send(connector.topic, 2, records(b"xx", b"yy"))
        past.append(writer.past_limits)
        writer.commit()
        assert [*past, writer.past_limits] == [False, True, False], limits
        writer.close()


def test_a_topic_that_was_deleted_is_named_and_not_made_again(kafka_broker: Callable[..., KafkaBroker]) -> None:
    clients = KafkaClients({"bootstrap.servers": kafka_broker(settings={"auto.create.topics.enable": "true"}).bootstrap})
    topics = Topics(clients)
    connector = Connector(clients, topics, "c", "data")
    topics.ensure([TopicSpec("data", 2)])
    connector.take()
    topic_id = topics.identities(["data"])["data"][0]
    writer = connector.open(0, 1)
    for _ in range(2):
        send_and_commit(writer, connector, records(b"one"), topic_id)
    admin, _ = clients.admin()
    admin.delete_topics(["data"])["data"].result()

    def send_again() -> None:
        nonlocal writer
        try:
            send_and_commit(writer, connector, records(b"two"), topic_id)
        except KafkaUnavailable:  # while the broker deletes the topic; a run tries again, too, with the slot opened anew
            writer.close()
            writer = connector.open(0, 1)

    with pytest.raises(TopicError, match="the topic was deleted during the run"):  # the broker deletes it when it gets to it
        wait_until(send_again, "the deletion is noticed")
    writer.close()
    assert "data" not in topics.existing()
    topics.ensure([TopicSpec("data", 2)])
    writer = connector.open(0, 1)
    with pytest.raises(TopicError, match="deleted and made again during the run") as error:
        send_and_commit(writer, connector, records(b"two"), topic_id)
    assert error.value.where["known_topic_id"] == topic_id
    writer.close()


def test_a_spent_control_producer_is_replaced_and_still_fenced(connector: Connector) -> None:
    control = connector.take()
    spend(control)
    control.begin(SnapshotRecord("s", {}))
    assert read_connector(connector.clients, connector.topics, PREFIX, connector.name).snapshot == SnapshotRecord("s", {})
    connector.take()
    spend(control)
    with pytest.raises(Fenced, match=r"generation 2 of connector .* has taken over from generation 1"):
        control.end_snapshot(SnapshotRecord("s", {}), {})


def spend(control: ConfigsWriter) -> None:
    """As after a commit whose answer came late."""
    assert control._producer is not None
    control._producer.spent = True
