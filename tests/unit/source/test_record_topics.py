"""Topics of routed records: each is created once, before its first record, and checked by its name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.kafka.records import Records
from ignite_kafka.kafka.topics import TopicSpec
from ignite_kafka.plan.source_plan import CachePlan
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.record_topics import RecordTopics

CACHE = CachePlan("flights", 1, "to-flights", 8, 0, one_topic=False)
SETTINGS = SourceSettings.from_dict(
    {
        "name": "c", "topic_partitions": 3, "replication_factor": 2, "error_handling_policy": "DEAD_LETTER", "dead_letter_topic": "dead",
        "topic_creation_groups": {"old": {"include": [".*-1970"], "partitions": 1, "retention.ms": "1"}},
    }
)  # fmt: skip


class Writer:
    """A slot that creates topics."""

    def __init__(self) -> None:
        self.created: list[TopicSpec] = []

    def ensure_topic(self, spec: TopicSpec) -> tuple[str, int]:
        self.created.append(spec)
        return f"id of {spec.name}", spec.partitions


def records(*topics: str) -> Records:
    numbers = pa.array([b"%d" % number for number in range(len(topics))], pa.binary())
    return Records(numbers, numbers, topics=pa.array(topics, pa.string()))


def divided(topics: RecordTopics, writer: Writer, given: Records) -> list[tuple[CachePlan, list[bytes]]]:
    return [(plan, part.keys.to_pylist()) for plan, part in topics.divided(cast(Any, writer), CACHE, given)]


def test_records_are_divided_in_their_order_and_topics_created_once() -> None:
    topics, writer = RecordTopics(SETTINGS), Writer()
    new = replace(CACHE, topic="f-1973", topic_partitions=3, topic_id="id of f-1973")
    old = replace(CACHE, topic="f-1970", topic_partitions=1, topic_id="id of f-1970")
    assert divided(topics, writer, records("f-1973", "f-1970", "f-1973")) == [(new, [b"0", b"2"]), (old, [b"1"])]
    assert divided(topics, writer, records("f-1970")) == [(old, [b"0"])]
    assert writer.created == [TopicSpec("f-1973", 3, 2, {}), TopicSpec("f-1970", 1, 2, {"retention.ms": "1"})]


def test_records_without_topics_of_their_own_are_left_alone() -> None:
    given = replace(records("x"), topics=None)
    assert RecordTopics(SETTINGS).divided(cast(Any, None), CACHE, given) == [(CACHE, given)]


@pytest.mark.parametrize(
    ("topic", "message"),
    [("a b", "not valid"), ("ignite-kafka-offsets", "internal topic"), ("dead", "topic of dead_letter_topic"), ("", "not valid")],
)
def test_a_name_that_cannot_be_used_is_refused_before_anything_is_created(topic: str, message: str) -> None:
    writer = Writer()
    with pytest.raises(SettingsError, match=f"{message}.*flights"):
        divided(RecordTopics(SETTINGS), writer, records(topic))
    assert writer.created == []
