"""The writer of a connector's records: its offsets topic must be known to keep offsets; how snapshots and secrets are recorded."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, OffsetsLost, TopicError
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.configs_writer import ConfigsWriter
from tests.support.fake_topics import Answer, described, refused

KNOWN = ConnectorRecord(3, 2, "id-p-offsets-c")


def offsets_topic(answer: Answer, known: ConnectorRecord | None = KNOWN) -> str:
    return ConfigsWriter(KafkaClients({}), described({"p-offsets-c": answer}), "p", "c")._offsets_topic(known, 2, -1)


@pytest.mark.parametrize("policy", ["compact", "delete,compact"])
def test_a_compacted_topic_keeps_offsets(policy: str) -> None:
    assert offsets_topic({"cleanup.policy": policy}) == "id-p-offsets-c"


@pytest.mark.parametrize("known", [KNOWN, None])
@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ({"cleanup.policy": "delete"}, OffsetsLost, r"cleanup\.policy 'delete'"),
        (refused(KafkaError.TOPIC_AUTHORIZATION_FAILED), TopicError, r"Grant the user .* DESCRIBE_CONFIGS on the topics p-\*"),
        (refused(KafkaError._TIMED_OUT), KafkaUnavailable, "describing a topic's settings failed"),
    ],
)
def test_a_topic_of_which_that_is_not_known_is_an_error(
    answer: Answer, error: type[IgniteKafkaError], message: str, known: ConnectorRecord | None
) -> None:
    with pytest.raises(error, match=message) as caught:
        offsets_topic(answer, known)
    assert caught.value.where["topic"] == "p-offsets-c"


def test_a_topic_that_brokers_do_not_know_yet_is_waited_for() -> None:
    topics = described({"p-offsets-c": {"cleanup.policy": "compact"}}, late={"p-offsets-c": 3})
    assert ConfigsWriter(KafkaClients({}), topics, "p", "c")._offsets_topic(KNOWN, 2, -1) == "id-p-offsets-c"


def test_a_topic_that_is_missing_is_lost_at_once() -> None:
    with pytest.raises(OffsetsLost, match="is missing") as lost:
        ConfigsWriter(KafkaClients({}), described({}), "p", "c")._offsets_topic(KNOWN, 2, -1)
    assert "waited" not in lost.value.where


def test_the_oldest_ended_snapshots_are_forgotten_with_one_more() -> None:
    writer = ConfigsWriter(KafkaClients({}), described({}), "p", "c", 2)
    writer._ended = ["a", "b", "c", "d"]
    (_, _, ended, _), *forgotten = writer._ended_records("b", {"complete": True})
    assert ended == b'{"complete":true}'
    assert [(key, value) for _, key, value, _ in forgotten] == [(b'["snapshot","c","a"]', None), (b'["snapshot","c","c"]', None)]
    assert writer._ended == ["d", "b"]


def test_a_connector_has_one_secret_for_its_life() -> None:
    writer = ConfigsWriter(KafkaClients({}), described({}), "p", "c")
    written: list[bytes] = []
    writer._write = lambda records: written.extend(value for _, _, value, _ in records) or {}  # type: ignore[method-assign,func-returns-value,misc]
    made = writer.ensure_capture_secret(ConnectorState())
    assert len(made) >= 43
    assert made.encode() in written[0]
    assert writer.ensure_capture_secret(ConnectorState(capture_secret=made)) == made
    assert len(written) == 1
    writer.begin_epoch(1)
    assert made.encode() in written[1]
