"""Rights of a user on topics, as brokers report them."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AclOperation, NewTopic

from .bounded_calls import answer_of
from .clients import translate
from .topic_errors import NOT_ALLOWED, NOT_REFUSED
from .topics import Topics

_DOING = "asking for rights on a topic"


class TopicRights(Topics):
    """Administration client that reads rights; it creates nothing."""

    def of(self, names: Iterable[str]) -> dict[str, frozenset[str] | None]:
        """Return the operations on each topic that the user is allowed, such as ``READ``.

        A missing topic has CREATE or nothing. So does one that exists and that the user may not describe: it has
        nothing. None: unknown, because the broker reports no permissions, or gives no verdict on a creation.

        :raises KafkaUnavailable: the brokers do not answer.
        """
        names = list(names)
        visible = self.existing().keys() & set(names)
        rights: dict[str, frozenset[str] | None] = {}
        for name, topic in self._descriptions(sorted(visible), permissions=True).items():
            operations = topic.authorized_operations
            rights[name] = frozenset(operation.name for operation in operations) if operations else None
        return rights | {name: self._creation(name) for name in names if name not in rights}

    def _creation(self, name: str) -> frozenset[str] | None:
        """Return CREATE if the user may create a topic, by a request that is only validated; else nothing.

        None if the broker refuses the request for another reason, as services with rules of their own may.
        """
        admin = self._admin
        try:
            asked = admin.create_topics([NewTopic(name, -1, -1)], validate_only=True, request_timeout=self._timeout_s)
            answer_of(asked[name], admin, self._timeout_s, _DOING, topic=name)
        except KafkaException as cause:
            if cause.args[0].code() in NOT_REFUSED:
                raise translate(cause.args[0], _DOING, self._memory, topic=name) from cause
            hidden = {*NOT_ALLOWED, KafkaError.TOPIC_ALREADY_EXISTS}
            return frozenset() if cause.args[0].code() in hidden else None
        return frozenset({AclOperation.CREATE.name})
