"""Next offsets of a sink, set by the command line on real servers, while the test itself acts as the run."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import Producer

from ignite_kafka.admin import offsets as offset_changes
from ignite_kafka.admin.sink_offsets import move
from ignite_kafka.admin.target_state import newest_run
from ignite_kafka.errors import Fenced, KafkaUnavailable
from ignite_kafka.kafka.topics import TopicSpec
from ignite_kafka.plan.sink_offsets import PartitionOffset
from ignite_kafka.plan.slots import slot_of
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.support.connector_run import SLOTS, CommandLine, Run
from tests.support.waiting import REQUEST_S

RESET = ("offsets", "reset", "conn")
BEGAN_MS = 1_700_000_000_000


@pytest.fixture
def topic(run: Run) -> str:
    """A topic of two partitions with ten records each, one a minute. The connector reads it and another topic."""
    name = f"{run.prefix}-data"
    run.topics.ensure([TopicSpec(name, 2, 1), TopicSpec(f"{name}-2", 1, 1)])
    producer = Producer(dict(run.clients.common))
    for number in range(20):
        producer.produce(name, b"{}", b"1", number % 2, timestamp=BEGAN_MS + number // 2 * 60_000)
    assert producer.flush(REQUEST_S) == 0
    run.begin(settings=of_sink(run, name, f"{name}-2"))
    return name


def of_sink(run: Run, *topics: str) -> dict[str, Any]:
    """Settings as recorded by a sink's run."""
    return SinkSettings(name="conn", topics=topics, run_mode="continuous", internal_topic_prefix=run.prefix).to_dict()


def group(run: Run, topic: str) -> dict[int, int]:
    found = run.topics.group_offsets("connect-conn", [(topic, 0), (topic, 1)])
    return {partition: offset for (_, partition), (offset, _) in found.items()}


def copies(run: Run, topic: str) -> dict[int, tuple[int, str]]:
    """Copies of the group's offsets, with the id of the topic."""
    states = [run.slot(number) for number in range(SLOTS)]
    found = {part: (copy.offset, copy.topic_id) for slot in states for (name, part), copy in slot.state.by_topic.items() if name == topic}
    for slot in states:
        slot.close()
    return found


def test_a_sink_continues_where_it_is_told(run: Run, topic: str, command: CommandLine) -> None:
    run.end()
    assert command(*RESET, "--to", "earliest") == 0, command.error
    assert command.out.splitlines() == [
        f"topic {topic}, partition 0: next offset was none, is 0",
        f"topic {topic}, partition 1: next offset was none, is 0",
        f"topic {topic}-2, partition 0: next offset was none, is 0",
    ]
    assert group(run, topic) == {0: 0, 1: 0}
    assert command(*RESET, "--to", "latest", "--topic", topic) == 0
    assert group(run, topic) == {0: 10, 1: 10}
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime((BEGAN_MS + 4 * 60_000 - 30_000) / 1000))
    assert command(*RESET, "--to", since, "--topic", topic, "--partition", "1") == 0
    assert group(run, topic) == {0: 10, 1: 4}
    assert command(*RESET, "--to", "2100-01-01", "--topic", topic, "--partition", "1") == 0
    assert group(run, topic) == {0: 10, 1: 10}, "after the last record: at the end"
    moved = command.json(*RESET, "--to", "7", "--topic", topic, "--partition", "0")
    assert moved == {"offsets": [{"partition": {"kafka_topic": topic, "kafka_partition": 0}, "before": 10, "after": 7}]}
    topic_id = run.topics.describe([topic])[topic].topic_id
    assert copies(run, topic) == {0: (7, topic_id), 1: (10, topic_id)}, "so a group that has expired loses nothing"
    assert command("offsets", "show", "conn") == 0
    assert [topic, "0", "7", topic_id] in [line.split() for line in command.out.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "is a sink: its offsets are those of its consumer group"),
        (("--to", "11", "--topic", "TOPIC", "--partition", "0"), "offset 11 is outside of the partition"),
        (("--to", "11", "--topic", "TOPIC", "--partition", "0"), "The partition has offsets 0 to 10"),
        (("--to", "1", "--topic", "TOPIC"), "offset 1 is given without its partition"),
        (("--to", "earliest", "--partition", "0"), "a partition is given without its topic"),
        (("--to", "earliest", "--topic", "TOPIC", "--partition", "2"), "the topic has no such partition"),
        (("--to", "earliest", "--topic", "TOPIc"), "Did you mean TOPIC?"),
        (("--to", "yesterday"), "'yesterday' is no place in a topic"),
        (("--topic", "TOPIC"), "Give --to: earliest, latest, a time or an offset"),
        (("--to", "earliest", "--cache", "c"), "--cache is of a source"),
    ],
)
def test_a_wrong_place_is_refused(run: Run, topic: str, command: CommandLine, arguments: tuple[str, ...], told: str) -> None:
    run.end()
    assert command(*RESET, *(one.replace("TOPIc", f"{topic[:-1]}x").replace("TOPIC", topic) for one in arguments)) == 2
    assert told.replace("TOPIC", topic) in command.error
    assert group(run, topic) == {}


def test_offsets_of_a_source_are_not_of_topics(run: Run, command: CommandLine) -> None:
    run.begin()
    run.end()
    assert command(*RESET, "--to", "earliest") == 2
    assert "the connector is a source" in command.error


def test_a_run_that_is_alive_after_all_does_not_commit_over_it(run: Run, topic: str, command: CommandLine) -> None:
    number = slot_of(topic, 0, SLOTS)
    slot = run.slot(number)
    assert command(*RESET, "--to", "latest") == 1
    assert command.error.startswith("ignite-kafka: NotStopped ")
    reader = run.clients.reader(**{"group.id": "connect-conn"})
    slot.positions({(topic, 0): PartitionOffset(3)}, reader.consumer_group_metadata())
    assert command(*RESET, "--to", "latest", "--force") == 0, command.error
    with pytest.raises(KafkaUnavailable, match="was fenced"):
        slot.commit()
    slot.close()
    reader.close()
    assert group(run, topic) == {0: 10, 1: 10}
    run.end()


def test_a_run_that_starts_meanwhile_keeps_its_offsets(run: Run, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run.end()
    look = newest_run

    def start_after_the_look(*arguments: object) -> object:
        found = look(*arguments)  # type: ignore[arg-type]
        run.begin("r2", of_sink(run, topic))
        return found

    monkeypatch.setattr(offset_changes, "newest_run", start_after_the_look)
    settings = SourceSettings(name="conn", bootstrap_servers=run.clients.bootstrap, internal_topic_prefix=run.prefix)
    with pytest.raises(Fenced, match="generation 2"):
        move(settings, Secrets(), "latest")
    assert group(run, topic) == {}
    run.end()
