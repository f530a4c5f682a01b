"""Rights on topics by an admin client that needs no broker: those that brokers report, and what a missing topic has."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AclOperation

from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.kafka.topic_rights import TopicRights
from tests.support.fake_topics import Clients


def rights(name: str, refusal: int | None = None, permitted: Sequence[AclOperation] | None = None) -> set[str] | None:
    found = TopicRights(Clients({"answers": {"present": {}}, "refusal": refusal, "permitted": permitted})).of([name])[name]
    return None if found is None else set(found)


def test_a_topic_that_is_visible_has_the_rights_that_the_broker_reports() -> None:
    assert rights("present", permitted=[AclOperation.DESCRIBE, AclOperation.READ]) == {"DESCRIBE", "READ"}
    assert rights("present") is None


@pytest.mark.parametrize(
    ("refusal", "creation"),
    [
        (None, {"CREATE"}),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, set()),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, set()),
        (KafkaError.TOPIC_ALREADY_EXISTS, set()),
        (KafkaError.POLICY_VIOLATION, None),
        (KafkaError.INVALID_PARTITIONS, None),
    ],
)
def test_what_a_topic_has_that_is_not_visible(refusal: int | None, creation: set[str] | None) -> None:
    assert rights("missing", refusal) == creation


def test_a_controller_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(KafkaUnavailable):
        rights("missing", KafkaError._TIMED_OUT)
