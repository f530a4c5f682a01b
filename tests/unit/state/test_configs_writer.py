"""The writer of a connector's records: its offsets topic must be known to keep offsets; how snapshots and secrets are recorded."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from ignite_kafka.errors import IgniteKafkaError, KafkaUnavailable, OffsetsLost, TopicError
from ignite_kafka.kafka.clients import KafkaClients, translate
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.configs_writer import ConfigsWriter
from ignite_kafka.state.signal_records import SignalPosition, SignalStatus
from ignite_kafka.state.signals import ForgottenEnds
from tests.support.fake_topics import Answer, described, refused

KNOWN = ConnectorRecord(3, 2, "id-p-offsets-c")


def offsets_topic(answer: Answer, known: ConnectorRecord | None = KNOWN) -> str:
    return ConfigsWriter(KafkaClients({}), described({"p-offsets-c": answer}), "p", "c")._offsets_topic(known, 2, -1)


@pytest.mark.parametrize("policy", ["compact", "delete,compact"])
def test_a_compacted_topic_keeps_offsets(policy: str) -> None:
    assert offsets_topic({"cleanup.policy": policy}) == "id-p-offsets-c"


def test_deleted_offsets_are_noticed_at_the_next_start() -> None:
    """As by retention, or by kafka-delete-records after the policy was changed. Before, a stream sent everything again in silence."""
    topics = described({"p-offsets-c": {"cleanup.policy": "compact"}}, first=3)
    with pytest.raises(OffsetsLost, match="records of the offsets topic before offset 3 were deleted") as lost:
        ConfigsWriter(KafkaClients({}), topics, "p", "c")._offsets_topic(KNOWN, 2, -1)
    assert (lost.value.where["topic"], lost.value.where["partition"]) == ("p-offsets-c", 0)


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


def test_a_forgotten_signal_leaves_no_request_that_would_be_done_without_its_end() -> None:
    writer = ConfigsWriter(KafkaClients({}), described({}), "p", "c")
    written: list[tuple[bytes, bytes | None]] = []
    writer._write = lambda records: written.extend((key, value) for _, key, value, _ in records) or {}  # type: ignore[method-assign,func-returns-value]
    writer.end_signal(SignalStatus("new", "COMPLETED"), ForgottenEnds(("old",), ("older", "old")))
    assert (b'["forgotten-signals","c"]', b'{"ids":["older","old"]}') in written
    removed = {key for key, value in written if value is None}
    old = {b'["signal","c","old"]', b'["signal","c","old","target"]', b'["signal","c","old","end"]'}
    assert removed == {b'["signal","c","new"]', b'["signal","c","new","target"]'} | old
    written.clear()
    writer.accept_signals(SignalPosition("id", {0: 1}), forgotten=ForgottenEnds(("old",), ("older", "old")))
    assert {key for key, value in written if value is None} == old
    written.clear()
    writer.end_signal(SignalStatus("new", "COMPLETED"))
    assert {key for key, _ in written} == {b'["signal","c","new"]', b'["signal","c","new","target"]', b'["signal","c","new","end"]'}


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


class Producer:
    """Gives the result of one commit: an error of a broker, or None."""

    spent = False
    written = {("p-configs", 0): 7}

    def __init__(self, commits: Iterable[int | None]) -> None:
        self._commits = iter(commits)

    def begin(self) -> None: ...

    def produce(self, *_: Any, **__: Any) -> None: ...

    def close(self) -> None: ...

    def commit(self) -> None:
        code = next(self._commits)
        if code is not None:
            raise translate(KafkaError(code), "commit_transaction") from KafkaException(KafkaError(code))


class Writer(ConfigsWriter):
    """A writer whose producers share a list of commits."""

    def __init__(self, topics: Any, commits: Iterable[int | None], patience_s: float = 60.0) -> None:
        super().__init__(KafkaClients({}, patience_s=patience_s), topics, "p", "c")
        self.commits = iter(commits)
        self._producer = self._initialised()

    def _initialised(self) -> Any:
        return Producer(self.commits)

    def _newest_generation(self) -> int:
        return 0


UNKNOWN = KafkaError.UNKNOWN_TOPIC_OR_PART
CONFIGS = {"p-configs": {"cleanup.policy": "compact"}}


def test_a_transaction_whose_coordinator_does_not_know_a_new_topic_is_retried() -> None:
    writer = Writer(described(CONFIGS), [UNKNOWN, UNKNOWN, None])
    assert writer._write([("p-configs", b"key", b"value", 0)]) == Producer.written
    assert not writer._in_doubt


def test_the_retries_end() -> None:
    writer = Writer(described(CONFIGS), itertools.repeat(UNKNOWN), patience_s=0.5)
    with pytest.raises(KafkaUnavailable, match="do not know it yet"):
        writer._write([("p-configs", b"key", b"value", 0)])


def test_a_transaction_in_a_deleted_topic_is_not_retried() -> None:
    writer = Writer(described({}), [UNKNOWN])
    with pytest.raises(TopicError, match="commit_transaction failed"):
        writer._write([("p-configs", b"key", b"value", 0)])
