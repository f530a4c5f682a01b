"""Lookup of topics by name, correct even while some brokers do not know a new topic yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType, TopicDescription

from ..common.deadline import Clock
from ..common.retry import retry
from ..errors import IgniteKafkaError
from .bounded_calls import answer_of, await_answer
from .clients import BRIEF_S, REQUEST_TIMEOUT_S, ErrorMemory, KafkaClients, translate
from .topic_errors import NOT_ALLOWED, NOT_REFUSED, UNKNOWN_TOPIC, code_of, may_pass, not_known_yet

T = TypeVar("T")


class TopicLookup:
    """Lookup of topics' descriptions and settings, which threads may share.

    A broker learns of a new topic within seconds, and knows few topics after its start. So a topic unknown to a broker
    is looked up at the controller, which knows all topics: if the topic exists there, the lookup waits until
    the broker knows it.

    :param sleep: waits between two attempts; called with the number of seconds.
    """

    def __init__(
        self, clients: KafkaClients, *, clock: Clock = time.monotonic, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self._clients = clients
        self._clock = clock
        self._sleep = sleep
        self._unknown_since: dict[str, float] = {}
        self._timeout_s = min(REQUEST_TIMEOUT_S, clients.patience_s)
        # a caller that waits for an answer holds its client, because another thread may replace it meanwhile
        self._admin: AdminClient
        self._memory: ErrorMemory
        self._admin, self._memory = clients.admin()

    def _descriptions(self, names: list[str], *, permissions: bool = False) -> dict[str, TopicDescription]:
        return self._known_by_all(lambda: self._describe(names, permissions)) if names else {}

    def _describe(self, names: list[str], permissions: bool) -> dict[str, TopicDescription]:
        admin = self._admin
        collection = TopicCollection(names)
        answers = admin.describe_topics(
            collection, include_authorized_operations=permissions, request_timeout=self._timeout_s
        )
        descriptions = self._answers(answers, admin, "describing a topic")
        for name, topic in descriptions.items():
            if not topic.partitions:
                raise not_known_yet(
                    name, "describing a topic", KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
                )
        return descriptions

    def _configs(self, names: list[str]) -> dict[str, dict[str, str]]:
        """Return the settings of each topic, without topics deleted meanwhile.

        A topic has no settings here if the permission to describe it is missing.
        """
        if not names:
            return {}
        admin = self._admin
        doing = "describing a topic's settings"
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        futures = admin.describe_configs(resources, request_timeout=self._timeout_s)
        answers = {resource.name: future for resource, future in futures.items()}
        for name in names:
            await_answer(answers[name], admin, self._timeout_s, doing, topic=name)
        hidden = {name for name in names if code_of(answers[name]) in NOT_ALLOWED}
        shown = self._answers({name: answers[name] for name in names if name not in hidden}, admin, doing)
        return {name: {} for name in hidden} | {
            name: {entry.name: entry.value for entry in settings.values()} for name, settings in shown.items()
        }

    def _answers(self, answers: Mapping[str, Future[Any]], admin: AdminClient, doing: str) -> dict[str, Any]:
        """Wait for the broker's answers about topics, and return them by topic; topics that do not exist are left out.

        :raises KafkaUnavailable: among others, if a topic exists but the broker does not know it yet.
        """
        by_name = {}
        for name, future in answers.items():
            try:
                by_name[name] = answer_of(future, admin, self._timeout_s, doing, topic=name)
                self._unknown_since.pop(name, None)
            except KafkaException as cause:
                if cause.args[0].code() not in UNKNOWN_TOPIC:
                    raise translate(cause.args[0], doing, self._memory, topic=name) from cause
                if self._exists_at_controller(name):
                    raise not_known_yet(name, doing, cause) from cause
        return by_name

    def _exists_at_controller(self, name: str) -> bool:
        """Ask the controller whether a topic exists that a broker does not know.

        A create request that is only validated fails at the controller if the topic exists. Without permission to
        create topics, a topic counts as missing once it has been unknown for some seconds.
        """
        admin = self._admin
        try:
            asked = admin.create_topics([NewTopic(name, -1, -1)], validate_only=True, request_timeout=self._timeout_s)
            answer_of(asked[name], admin, self._timeout_s, "asking for a topic", topic=name)
        except KafkaException as cause:
            code = cause.args[0].code()
            if code == KafkaError.TOPIC_ALREADY_EXISTS:
                return True
            if code in NOT_REFUSED:
                raise translate(
                    cause.args[0], "looking up a topic at the controller", self._memory, topic=name
                ) from cause
            if code in NOT_ALLOWED and self._clock() - self._unknown_since.setdefault(name, self._clock()) < BRIEF_S:
                return True
        self._unknown_since.pop(name, None)
        return False

    def _known_by_all(self, request: Callable[[], T]) -> T:
        """Repeat a request until the brokers know all its topics and their leaders."""
        return retry(
            request, self._timeout_s, may_pass, failed=self._renew_client, sleep=self._sleep, clock=self._clock
        )

    def _renew_client(self, _error: IgniteKafkaError) -> None:
        # librdkafka's admin client repeats its outdated leader epoch for five minutes
        # (topic.metadata.refresh.interval.ms), because rd_kafka_admin_result_err_refresh ignores FENCED_LEADER_EPOCH. A
        # new client reads metadata anew, perhaps from another broker
        self._admin, self._memory = self._clients.admin()
