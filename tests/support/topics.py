"""Topics of an admin client that needs no broker: what their settings are, or which error the question for them ends in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource

from ignite_kafka.kafka.clients import ErrorMemory, KafkaClients
from ignite_kafka.kafka.topics import Topics

Answer = Mapping[str, str] | KafkaException


class Admin:
    """Knows the topics that it has an answer for; each has two partitions and the id ``id-<name>``."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = answers

    def list_topics(self, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(topics={name: SimpleNamespace(partitions=[0, 1], error=None) for name in self._answers})

    def describe_topics(self, names: TopicCollection, **_: Any) -> dict[str, Future[Any]]:
        there = {name: SimpleNamespace(topic_id=f"id-{name}", partitions=[0, 1]) for name in self._answers}
        return {name: _settled(there.get(name, refused(KafkaError.UNKNOWN_TOPIC_OR_PART))) for name in names.topic_names}

    def describe_configs(self, wanted: Iterable[ConfigResource], **_: Any) -> dict[ConfigResource, Future[Any]]:
        return {resource: _settled(_entries(self._answers[resource.name])) for resource in wanted}


class Clients(KafkaClients):
    def admin(self) -> tuple[AdminClient, ErrorMemory]:
        return Admin(self.common["answers"]), ErrorMemory()  # type: ignore[return-value]


def described(answers: Mapping[str, Answer]) -> Topics:
    return Topics(Clients({"answers": answers}))


def refused(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


def _entries(answer: Answer) -> dict[str, SimpleNamespace] | KafkaException:
    if isinstance(answer, KafkaException):
        return answer
    return {name: SimpleNamespace(name=name, value=value) for name, value in answer.items()}


def _settled(answer: Any) -> Future[Any]:
    future = Future[Any]()
    if isinstance(answer, KafkaException):
        future.set_exception(answer)
    else:
        future.set_result(answer)
    return future
