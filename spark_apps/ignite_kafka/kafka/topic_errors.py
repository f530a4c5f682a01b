"""Classification of broker errors about a topic: unknown so far, leader changed, refused, or forbidden."""

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
"""Error codes after which a request to the controller may or may not have been carried out."""
_LEADER_MOVED = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError._NOENT,  # librdkafka's own: no partition of the request has a leader
}


def code_of(answer: Future[Any]) -> int | None:
    """Return the error code in a completed future of an admin request; None after success."""
    error = answer.exception()
    return error.args[0].code() if isinstance(error, KafkaException) else None


def not_known_yet(topic: str, doing: str, cause: KafkaException) -> KafkaUnavailable:
    """Return the error to raise when a broker does not know an existing topic yet.

    :param doing: the failed action, as in 'describing a topic'.
    """
    error = KafkaUnavailable(
        f"{doing}: the topic exists, but the brokers do not know it yet",
        "Brokers know a new topic within seconds: check that all of them are up and follow the controller.",
        topic=topic,
    )
    error.__cause__ = cause
    return error


def may_pass(error: IgniteKafkaError) -> bool:
    """Return whether a failed request may succeed if repeated, because a broker's metadata was outdated.

    The broker did not know the topic, or the leader or its epoch had changed.
    """
    cause = error.__cause__
    if not isinstance(error, KafkaUnavailable) or not isinstance(cause, KafkaException):
        return False
    return cause.args[0].code() in _LEADER_MOVED | UNKNOWN_TOPIC
