"""Topics of an admin client that needs no broker: what their settings are, or which error the question for them ends in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, ConfigResource, NewTopic, OffsetSpec

from ignite_kafka.kafka.clients import ErrorMemory, KafkaClients
from ignite_kafka.kafka.topics import Topics
from tests.support.fake_time import FakeTime

Answer = Mapping[str, str] | KafkaException


class Admin:
    """Knows the topics that it has an answer for; each has two partitions and the id ``id-<name>``.

    :param late: how often a topic is not known to the broker that is asked, though the controller has it; counted down.
    :param refusal: of the controller, to say whether a topic exists: an error code; None: it says so.
    :param permitted: permissions of the user on each topic; None: the broker reports none.
    :param first: first offset of each partition; the end is 7.
    """

    def __init__(
        self,
        answers: Mapping[str, Answer],
        late: dict[str, int] | None = None,
        refusal: int | None = None,
        permitted: Sequence[AclOperation] | None = None,
        first: int = 0,
    ) -> None:
        self._answers, self._late, self._refusal = answers, {} if late is None else late, refusal
        self._permitted, self._first = permitted, first

    def list_topics(self, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(topics={name: SimpleNamespace(partitions=[0, 1], error=None) for name in self._answers})

    def describe_topics(self, names: TopicCollection, *, include_authorized_operations: bool = False, **_: Any) -> dict[str, Future[Any]]:
        permitted = self._permitted if include_authorized_operations else None
        return {name: _settled(self._unknown(name) or _description(name, permitted)) for name in names.topic_names}

    def describe_configs(self, wanted: Iterable[ConfigResource], **_: Any) -> dict[ConfigResource, Future[Any]]:
        return {resource: _settled(self._unknown(resource.name) or _entries(self._answers[resource.name])) for resource in wanted}

    def list_offsets(self, wanted: Mapping[TopicPartition, OffsetSpec], **_: Any) -> dict[TopicPartition, Future[Any]]:
        ends = {place: self._first if spec is OffsetSpec.earliest() else 7 for place, spec in wanted.items()}
        return {place: _settled(self._unknown(place.topic) or SimpleNamespace(offset=offset)) for place, offset in ends.items()}

    def create_topics(self, wanted: Iterable[NewTopic], *, validate_only: bool = False, **_: Any) -> dict[str, Future[Any]]:
        assert validate_only, "no test makes a topic"
        return {new.topic: _settled(self._of_controller(new.topic)) for new in wanted}

    def _of_controller(self, name: str) -> KafkaException | None:
        if self._refusal is not None:
            return refused(self._refusal)
        return refused(KafkaError.TOPIC_ALREADY_EXISTS) if name in self._answers else None

    def _unknown(self, name: str) -> KafkaException | None:
        left = self._late.get(name, 0)
        self._late[name] = left - 1
        return refused(KafkaError.UNKNOWN_TOPIC_OR_PART) if left > 0 or name not in self._answers else None


class Clients(KafkaClients):
    def admin(self) -> tuple[AdminClient, ErrorMemory]:
        return Admin(**self.common), ErrorMemory()  # type: ignore[return-value]


def described(
    answers: Mapping[str, Answer],
    late: Mapping[str, int] | None = None,
    refusal: int | None = None,
    permitted: Sequence[AclOperation] | None = None,
    first: int = 0,
    **named: Any,
) -> Topics:
    """Topics of an :class:`Admin`; no wait takes time."""
    time = FakeTime()
    answering = {"answers": answers, "late": dict(late or {}), "refusal": refusal, "permitted": permitted, "first": first}
    clients = Clients(answering, **named)
    return Topics(clients, clock=time, sleep=time.sleep)


def refused(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


def _description(name: str, permitted: Sequence[AclOperation] | None) -> SimpleNamespace:
    return SimpleNamespace(topic_id=f"id-{name}", partitions=[0, 1], authorized_operations=permitted)


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
