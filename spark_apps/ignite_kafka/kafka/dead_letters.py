"""Dead letters: the original record, with additional headers that describe the failure.

The added headers have the names and the order of ``org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter``
(KIP-298), each as text. An Ignite entry has no topic, partition and offset: headers with the prefix
``ignite_kafka.errors.`` name its cache instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import IgniteKafkaError
from .headers import Header

CONNECT = "__connect.errors."
OURS = "ignite_kafka.errors."


@dataclass(frozen=True)
class DeadLetter:
    """A record to be sent to the dead-letter topic; ``timestamp_ms`` 0 means the time of sending."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    timestamp_ms: int = 0


def context_headers(
    error: IgniteKafkaError, stage: str, component: type | str, connector: str, task: int, place: Mapping[str, object]
) -> list[Header]:
    """Return the headers of a dead letter that describe the failure, as Kafka Connect names them.

    :param stage: the failed stage, as Kafka Connect names it.
    :param component: the failed class; for a transform, the name of its Java class or function.
    :param place: topic, partition and offset of a record; empty for an entry.
    """
    exception = str(error.where.get("exception") or f"{type(error).__module__}.{type(error).__name__}")
    failed = component if isinstance(component, str) else f"{component.__module__}.{component.__name__}"
    context = {
        **place,
        "connector.name": connector,
        "task.id": task,
        "stage": stage,
        "class.name": failed,
        "exception.class.name": exception,
        "exception.message": error.what,
        "exception.stacktrace": f"{exception}: {error}",
    }
    return _headers(CONNECT, context)


def entry_headers(cache: str, partition: int, topic: str) -> list[Header]:
    """Return the headers of a dead letter that name an entry's cache, partition and topic."""
    return _headers(OURS, {"cache": cache, "partition": partition, "topic": topic})


def _headers(prefix: str, values: Mapping[str, object]) -> list[Header]:
    # a message may contain a part of a text that is not valid Unicode
    return [(f"{prefix}{name}", str(value).encode("utf-8", "backslashreplace")) for name, value in values.items()]
