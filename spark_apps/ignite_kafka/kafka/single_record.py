"""Writing of a single record, with a wait until the brokers confirm it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException

from ..errors import KafkaUnavailable
from .clients import REQUEST_TIMEOUT_S, KafkaClients, translate

if TYPE_CHECKING:
    from .headers import Header  # loads Arrow, which Dags must not

ANY_PARTITION = -1


def write_record(
    clients: KafkaClients,
    topic: str,
    key: bytes,
    value: bytes | None,
    what: str,
    *,
    partition: int = ANY_PARTITION,
    headers: Sequence[Header] = (),
    **where: Any,
) -> None:
    """Write one record to an existing topic, and wait until the broker confirms it.

    :param value: None for a tombstone.
    :param what: name of the record's content for errors, such as ``the target state``.
    :param partition: number of the partition; -1 for the key's partition.
    :raises KafkaUnavailable: the broker did not confirm the record in time; it may still be written.
    :raises IgniteKafkaError: the broker refused the record.
    """
    refused: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _: Any) -> None:
        if error is not None:
            refused.append(error)

    producer = clients.writer()
    doing = f"writing {what}"
    try:
        producer.produce(topic, value, key, partition, on_delivery=on_delivery, headers=[*headers])
    except KafkaException as cause:
        raise translate(cause.args[0], doing, topic=topic, **where) from cause
    if producer.flush(min(REQUEST_TIMEOUT_S, clients.patience_s)):
        raise KafkaUnavailable(
            f"the broker did not confirm {what} in time", "Repeat the request.", topic=topic, **where
        )
    if refused:
        raise translate(refused[0], doing, topic=topic, **where)
