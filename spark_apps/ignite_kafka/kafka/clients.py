"""Factory of a connector's Kafka clients, and translation of their errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from ..errors import AuthenticationFailed, IgniteKafkaError, KafkaUnavailable, RecordTooLarge, SettingsError, TopicError
from ..settings.client_config import canonical
from ..settings.client_properties import OAUTH_CALLBACK, refuse_control_characters
from ..settings.client_stores import stores_as_text
from .oauth_tokens import TokenMaker, with_token_function

if TYPE_CHECKING:
    from ..settings.connector import ConnectorSettings
    from ..settings.secrets import Secrets

REQUEST_TIMEOUT_S = 30.0
BRIEF_S = 5.0  # timeout of optional requests, which may fail while the broker is down
_REFUSED_S = 1.0  # librdkafka gets a refusal within milliseconds, and tries again after reconnect.backoff.ms
_CERTAIN_REFUSALS = 2  # a single refusal may come from a broker that stopped during the handshake
QUICK = {  # defaults of every client
    # the first lookup of a coordinator races with the first connection and waits this long: init_transactions 53 ms at
    # 100, 14 ms at 10
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 1_000,  # a returned broker is found within a second; librdkafka's default is 10 s
    "socket.nagle.disable": True,
    "log_level": 2,
}
NO_NEW_TOPICS = {"allow.auto.create.topics": False}
"""Settings that every producer gets, so that brokers never create a missing topic for it.

Otherwise a deleted topic would reappear without its records, or an internal one without compaction.
"""

C = TypeVar("C")
_AUTHENTICATION = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._SSL}
# RFC 8446, 6.2: bad_certificate to access_denied, certificate_required
_REFUSED_CERTIFICATE = re.compile(r"SSL alert number (?:4[2-9]|116)\b")
_CHECK_TLS = (
    "Check that ssl.ca.location or ssl.ca.pem of the Kafka connection has the authority of the broker's certificate "
    "(or its ssl.truststore.location), that this certificate names the host in bootstrap_servers, and that the broker "
    "accepts the client's certificate, if it wants one."
)
_CORRECT = "Correct the named setting, in kafka_config, an override, the Kafka connection or the secrets file."
_FORBIDDEN = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
NO_TOPIC = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
_TOO_LARGE = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE}


class ErrorMemory:
    """Callback that remembers librdkafka's background errors, the only sign of a refused login.

    ``refusals`` is the number of refused connections.
    """

    def __init__(self) -> None:
        self.authentication: KafkaError | None = None
        self.last: KafkaError | None = None
        self.refusals = 0

    def __call__(self, error: KafkaError) -> None:
        """Remember an error; librdkafka calls this as the client's error callback."""
        self.last = error
        if error.code() in _AUTHENTICATION or _is_of_tls(error):
            self.authentication = error
            self.refusals += 1


def _is_of_tls(error: KafkaError) -> bool:
    """Return whether an error means that either side refused the other's TLS certificate.

    In TLS 1.3 a broker refuses a certificate after the handshake, which then looks like a lost connection.
    """
    return bool(error.code() == KafkaError._SSL or _REFUSED_CERTIFICATE.search(error.str()))


def translate(error: KafkaError, doing: str, memory: ErrorMemory | None = None, **where: Any) -> IgniteKafkaError:
    """Translate an error of librdkafka to the error of this package to raise.

    :param doing: the failed action, as in 'creating a topic'.
    """
    code = error.code()
    if memory is not None and memory.authentication is not None:
        error = memory.authentication
        code = memory.authentication.code()
    text = f"{doing} failed: {error.str()} ({error.name()})"
    if _is_of_tls(error):
        return AuthenticationFailed(text, _CHECK_TLS, **where)
    if code in _AUTHENTICATION:
        return AuthenticationFailed(
            text, "Check user, password or token, and sasl.mechanism, of the Kafka connection.", **where
        )
    if code in _FORBIDDEN:
        return TopicError(text, "Grant the user of the Kafka connection the right to do this.", **where)
    if code in NO_TOPIC:
        return TopicError(text, "The topic is missing or was deleted during the run.", **where)
    if code == KafkaError.TOPIC_EXCEPTION:
        return TopicError(text, "A topic's name has letters, digits, '.', '_' and '-', at most 249 of them.", **where)
    if code == KafkaError.INVALID_TIMESTAMP:
        remedy = (
            "The topic takes records of times around the broker's clock alone: raise its "
            "message.timestamp.after.max.ms, which is an hour unless it is set, or message.timestamp.before.max.ms; "
            "or name another record_timestamp_field."
        )
        return TopicError(text, remedy, **where)
    if code == KafkaError.INVALID_RECORD:
        return TopicError(text, "The broker refuses such records: a compacted topic takes none without a key.", **where)
    if code in _TOO_LARGE:
        remedy = (
            "Raise max.message.bytes of the topic and message.max.bytes in producer_override. The topic's limit is "
            "that of a batch after compression: a batch of many records is kept below it by batch.size in "
            "producer_override."
        )
        return RecordTooLarge(text, remedy, **where)
    return KafkaUnavailable(text, "Check bootstrap_servers and that the brokers are up.", **where)


def make_client(kind: Callable[[dict[str, Any]], C], config: Mapping[str, Any]) -> C:
    """Create a Kafka client; its settings are checked, and key stores converted.

    :raises SettingsError: librdkafka refuses a setting; its reason names the setting. Or a setting has a control
        character, or ``oauth_cb`` names no function.
    :raises AuthenticationFailed: the token function returned no token.
    :raises KafkaUnavailable: the machine lacks a resource of the client, such as threads.
    """
    for name, value in config.items():
        try:
            refuse_control_characters(name, value if isinstance(value, str) else "")
        except ValueError as cause:
            raise SettingsError(f"a Kafka client is refused: {cause}", _CORRECT) from None
    settings = with_token_function(stores_as_text(canonical(config)))
    tokens = settings.get(OAUTH_CALLBACK)
    try:
        return kind(settings)
    except KafkaException as cause:
        error: KafkaError = cause.args[0]
        if isinstance(tokens, TokenMaker) and tokens.error is not None:
            what = f"{tokens.name} made no token for Kafka: {type(tokens.error).__name__}: {tokens.error}"
            remedy = "Check the identity of this host and the property oauth_cb of the Kafka connection."
            raise AuthenticationFailed(
                what, remedy, bootstrap_servers=config.get("bootstrap.servers")
            ) from tokens.error
        if error.code() == KafkaError._INVALID_ARG:
            raise SettingsError(
                f"librdkafka refuses the settings of a Kafka client: {error.str().strip()}",
                _CORRECT,
                bootstrap_servers=config.get("bootstrap.servers"),
            ) from cause
        raise translate(error, "creating a Kafka client", bootstrap_servers=config.get("bootstrap.servers")) from cause


@dataclass(frozen=True, repr=False)
class KafkaClients:
    """Factory of the admin clients, consumers and producers of one connector.

    :param common: librdkafka settings of every client (bootstrap.servers, security), secrets included.
    :param producer: overrides for producers.
    :param consumer: overrides for consumers.
    :param patience_s: maximum time of one call without progress, in seconds; a retrying caller limits the sum.
    """

    common: Mapping[str, Any]
    producer: Mapping[str, Any] = field(default_factory=dict)
    consumer: Mapping[str, Any] = field(default_factory=dict)
    patience_s: float = 60.0

    @staticmethod
    def of(settings: ConnectorSettings, secrets: Secrets) -> KafkaClients:
        """Return the factory for a connector's clients; whether connections are protected is not checked here."""
        return KafkaClients(
            {**settings.kafka_common, **secrets.kafka}, settings.producer_override, settings.consumer_override
        )

    def __repr__(self) -> str:
        return f"KafkaClients({self.bootstrap})"

    @property
    def bootstrap(self) -> str:
        """Addresses of the brokers, separated by commas."""
        return str(self.common["bootstrap.servers"])

    def admin(self) -> tuple[AdminClient, ErrorMemory]:
        """Create an admin client and the recorder of its background errors."""
        memory = ErrorMemory()
        config: dict[str, Any] = {**QUICK, **self.common, "error_cb": memory}
        return make_client(AdminClient, config), memory

    def reader(self, **settings: Any) -> Consumer:
        """Create a consumer that reads committed records and never commits offsets.

        Partitions and start offsets are assigned by the caller.
        """
        return make_client(
            Consumer,
            {
                "group.id": "ignite-kafka-internal",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 20,
                "fetch.error.backoff.ms": 50,
                # queued small records take many times their size: 64 MiB of them took 0.6 GB
                "queued.max.messages.kbytes": 8_192,
                **QUICK,
                **self.common,
                **self.consumer,
                **settings,
            },
        )

    def writer(self, **settings: Any) -> Producer:
        """Create a producer for single records in order, for example to a compacted topic.

        Records are written in order and at least once, and acknowledged by all in-sync replicas.

        The producer is not idempotent: a missing write permission is a fatal error of an idempotent producer, which
        confluent-kafka raises inside ``flush`` as a SystemError. This producer reports such errors for each record.
        """
        in_order = {"acks": "all", "max.in.flight.requests.per.connection": 1}
        return make_client(Producer, {**in_order, **QUICK, **self.common, **settings, **NO_NEW_TOPICS})

    def check(self, timeout_s: float = REQUEST_TIMEOUT_S / 3) -> None:
        """Check that a broker answers and accepts the login.

        librdkafka connects again and again after a refused login. After two refusals within a second, the
        check ends.

        :raises KafkaUnavailable: no broker answered within the timeout.
        :raises AuthenticationFailed: the broker refused user, password or certificate.
        """
        admin, memory = self.admin()
        waits = [min(_REFUSED_S, timeout_s), max(0.0, timeout_s - _REFUSED_S)]
        while True:
            try:
                admin.list_topics(timeout=waits.pop(0))
                return
            except KafkaException as cause:
                admin.poll(0.1)
                if waits and memory.refusals < _CERTAIN_REFUSALS:
                    continue
                # a recorded refusal is the error, instead of the time-out
                seen = None if memory.last is None or memory.refusals else memory.last.str()
                raise translate(
                    cause.args[0], "connecting to Kafka", memory, bootstrap_servers=self.bootstrap, seen=seen
                ) from cause
