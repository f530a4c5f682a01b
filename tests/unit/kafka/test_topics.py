"""End offsets while a partition's leader changes: librdkafka's admin client goes on asking with an old leader epoch, a new one does not.
The settings of a topic: known, not to be known, or asked for in vain."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from ignite_kafka.errors import KafkaUnavailable, OffsetsLost
from ignite_kafka.kafka.clients import ErrorMemory, KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicState
from tests.support.topics import described, refused


class Admin:
    """Answers every ListOffsets with one error, or with the offset 7."""

    def __init__(self, code: int | None) -> None:
        self._code = code

    def list_offsets(self, wanted: Mapping[TopicPartition, Any], **_: Any) -> dict[TopicPartition, Future[Any]]:
        answers = {}
        for place in wanted:
            answers[place] = future = Future[Any]()
            if self._code is None:
                future.set_result(SimpleNamespace(offset=7))
            else:
                future.set_exception(KafkaException(KafkaError(self._code)))
        return answers


class Clients(KafkaClients):
    """Makes one admin client after the other, each with the next error."""

    made = 0

    def admin(self) -> tuple[AdminClient, ErrorMemory]:
        code = self.common["codes"][Clients.made]
        Clients.made += 1
        return Admin(code), ErrorMemory()  # type: ignore[return-value]


def topics(*codes: int | None) -> Topics:
    Clients.made = 0
    return Topics(Clients({"codes": codes}))


@pytest.mark.parametrize("code", [KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.NOT_LEADER_FOR_PARTITION])
def test_a_new_client_asks_where_the_leader_moved(code: int) -> None:
    assert topics(code, code, None).ends("t", [0, 1]) == {0: 7, 1: 7}
    assert Clients.made == 3


def test_other_errors_are_not_asked_again() -> None:
    with pytest.raises(KafkaUnavailable):
        topics(KafkaError._TIMED_OUT).ends("t", [0])
    with pytest.raises(OffsetsLost):
        topics(KafkaError.UNKNOWN_TOPIC_OR_PART).ends("t", [0])
    assert Clients.made == 1


def test_what_a_topic_is_set_to() -> None:
    answers = {"a": {"max.message.bytes": "20000", "cleanup.policy": "compact"}, "b": {}}
    assert described(answers).describe(["a", "b"]) == {
        "a": TopicState("a", "id-a", 2, 20_000, "compact"),
        "b": TopicState("b", "id-b", 2, None, None),
    }


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED])
def test_what_may_not_be_described_is_not_known(code: int) -> None:
    assert described({"t": refused(code)}).describe(["t"]) == {"t": TopicState("t", "id-t", 2, None, None)}


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.REQUEST_TIMED_OUT])
def test_settings_asked_for_in_vain_are_an_error(code: int) -> None:
    with pytest.raises(KafkaUnavailable, match=r"describing a topic's settings failed.*topic t"):
        described({"t": refused(code)}).describe(["t"])


def test_a_topic_that_goes_while_it_is_described_is_left_out() -> None:
    assert set(described({"a": {}, "t": refused(KafkaError.UNKNOWN_TOPIC_OR_PART)}).describe(["a", "t"])) == {"a"}
