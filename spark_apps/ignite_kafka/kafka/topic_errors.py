"""What the brokers' errors say of a topic: not known yet, moved, refused, or not to be told."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from ..errors import IgniteKafkaError, KafkaUnavailable

UNKNOWN_TOPIC = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID}
NOT_ALLOWED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}
NOT_REFUSED = {
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.NOT_CONTROLLER,
    KafkaError.THROTTLING_QUOTA_EXCEEDED,
}
"""Of a request to the controller: it has not decided, or its answer did not come."""
_LEADER_MOVED = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError._NOENT,  # librdkafka's own: no partition of the request has a leader
}


def code_of(answer: Future[Any]) -> int | None:
    """Error code of an answer, None of a good one; waits for it."""
    error = answer.exception()
    return error.args[0].code() if isinstance(error, KafkaException) else None


def not_known_yet(topic: str, doing: str, cause: KafkaException) -> KafkaUnavailable:
    """The error for a topic that exists, and that a broker does not know.

    :param doing: what failed, as in 'describing a topic'.
    """
    error = KafkaUnavailable(
        f"{doing}: the topic exists, and the brokers that were asked do not know it yet",
        "Brokers know a new topic within seconds: check that all of them are up and follow the controller.",
        topic=topic,
    )
    error.__cause__ = cause
    return error


def may_pass(error: IgniteKafkaError) -> bool:
    """Whether a broker does not know a topic yet, or the leader of a partition is another one, or under another epoch, than was known."""
    cause = error.__cause__
    if not isinstance(error, KafkaUnavailable) or not isinstance(cause, KafkaException):
        return False
    return cause.args[0].code() in _LEADER_MOVED | UNKNOWN_TOPIC
