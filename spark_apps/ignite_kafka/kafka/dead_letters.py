"""What could not be moved, for a dead-letter topic: the original, and behind its headers those that tell the context.

These have the names and the order of ``org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter`` (KIP-298), each as text. An entry
of Ignite was never in a topic: it has no Kafka place, and headers of our own say where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import IgniteKafkaError
from .producer import Header

_CONNECT, _OURS = "__connect.errors.", "ignite_kafka.errors."


@dataclass(frozen=True)
class DeadLetter:
    """A record for the dead letter topic. A timestamp of 0 is the time at which it is sent."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    timestamp_ms: int = 0


def context_headers(
    error: IgniteKafkaError, stage: str, component: type, connector: str, task: int, place: Mapping[str, object]
) -> list[Header]:
    """The headers that tell what failed.

    :param stage: in Kafka Connect's words.
    :param component: the class whose work it was.
    :param place: topic, partition and offset of a record; nothing of an entry.
    """
    exception = f"{type(error).__module__}.{type(error).__name__}"
    context = {
        **place,
        "connector.name": connector,
        "task.id": task,
        "stage": stage,
        "class.name": f"{component.__module__}.{component.__name__}",
        "exception.class.name": exception,
        "exception.message": error.what,
        "exception.stacktrace": f"{exception}: {error}",
    }
    return _headers(_CONNECT, context)


def entry_headers(cache: str, partition: int, topic: str) -> list[Header]:
    """The headers that tell where an entry was in Ignite, and which topic it was for."""
    return _headers(_OURS, {"cache": cache, "partition": partition, "topic": topic})


def _headers(prefix: str, values: Mapping[str, object]) -> list[Header]:
    return [(f"{prefix}{name}", str(value).encode()) for name, value in values.items()]
