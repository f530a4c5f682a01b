"""Tables of keys in Kafka Connect's files that have no effect here, are changed or are refused, with the reasons.

A key in no table takes effect: it is a setting (:mod:`.connect.names`) or a property of librdkafka
(:mod:`.client_properties`). Keys are refused only where both obeying and ignoring them would lose or damage data, or
where no connection could be made. Sources: the definitions in Kafka 4.3; ``tests/migration/config_keys.txt`` lists
them, and a test fails for a key without a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_WORKER = "it configures a worker of Kafka Connect, which this connector does not have"
_WORKER_CLIENTS = (
    "it configures the worker's own clients; keys of the connectors' clients have the prefixes producer. and consumer."
)
_METRICS = "metrics come from librdkafka, and are reported in events and run records"
_JAVA = "it names a Java class, which Python cannot load"
_BYTES = "the converters serialize and deserialize records"
_LOGIN = "librdkafka controls logins and refreshes of tokens"
_BROKER = "brokers use it to validate tokens; clients do not"
_TLS = "librdkafka and OpenSSL negotiate it"


@dataclass(frozen=True)
class Refusal:
    """Reason why a key is refused, and what to do instead."""

    reason: str
    remedy: str


@dataclass(frozen=True)
class Change:
    """A key whose value the connector fixes: allowed values, and the reason to change others.

    :param allowed: values that need no change, in lower case.
    :param reason: new value for all other values, and why.
    """

    allowed: tuple[str, ...]
    reason: str


WORKER_IGNORED: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "connect.protocol", "group.id", "client.id", "plugin.path", "plugin.discovery",
            "exactly.once.source.support", "connector.client.config.override.policy", "rebalance.timeout.ms",
            "worker.sync.timeout.ms", "worker.unsync.backoff.ms", "topic.tracking.enable", "topic.tracking.allow.reset",
            "response.http.headers.config", "ssl.client.auth",
        ),
        _WORKER,
    ),
    **dict.fromkeys(
        (
            "client.dns.lookup", "connections.max.idle.ms", "heartbeat.interval.ms", "metadata.max.age.ms",
            "receive.buffer.bytes", "metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.strategy",
            "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retry.backoff.max.ms",
            "retry.backoff.ms", "send.buffer.bytes", "session.timeout.ms", "socket.connection.setup.timeout.max.ms",
            "socket.connection.setup.timeout.ms",
        ),
        _WORKER_CLIENTS,
    ),
    "metric.reporters": _JAVA,
}  # fmt: skip
"""Keys of a worker's file that have no effect here, with the reasons."""

WORKER_IGNORED_BEGINNINGS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "offset.", "offsets.", "config.storage.", "status.storage.", "internal.", "rest.", "listeners",
            "task.shutdown.", "scheduled.rebalance.", "access.control.", "admin.listeners", "inter.worker.", "plugin.",
        ),
        _WORKER,
    ),
    "admin.": "the admin client has the settings of kafka_config",
    "metrics.": _METRICS,
    "confluent.": "it configures an extension of Confluent Platform",
}  # fmt: skip
"""Prefixes of keys of a worker's file that have no effect here, with the reasons."""

IGNORED_ENDINGS: Mapping[str, str] = {".plugin.version": "only the installed version is available"}
"""Suffixes of keys of worker and connector files that have no effect here, with the reasons."""

CONNECTOR_IGNORED_BEGINNINGS: Mapping[str, str] = {
    "confluent.": "it configures an extension of Confluent Platform",
    "reporter.": "it configures Confluent's reporter; see dead_letter_topic",
}
"""Prefixes of keys of a connector's file that have no effect here, besides those of :mod:`.connect.names`."""

GROUP_MEMBERS = frozenset(
    """
    group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms max.poll.interval.ms
    partition.assignment.strategy session.timeout.ms
    """.split()  # noqa: SIM905
)
"""Consumer properties of group members, without effect here: no client of a connector joins a group."""

CLIENT_IGNORED: Mapping[str, str] = {
    **dict.fromkeys(
        ("interceptor.classes", "metric.reporters", "security.providers", "ssl.engine.factory.class"), _JAVA
    ),
    **dict.fromkeys(
        ("metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms", "auto.include.jmx.reporter"),
        _METRICS,
    ),
    **dict.fromkeys(("key.serializer", "value.serializer", "key.deserializer", "value.deserializer"), _BYTES),
    "config.providers": "providers are declared without a prefix",
    "default.api.timeout.ms": "librdkafka bounds each request by socket.timeout.ms",
    "max.block.ms": "message.timeout.ms and the setting retry_timeout_ms bound how long a record waits",
    "metadata.max.idle.ms": "librdkafka keeps metadata of the topics in use",
    "partitioner.adaptive.partitioning.enable": "librdkafka has no equivalent",
    "partitioner.availability.timeout.ms": "librdkafka has no equivalent",
    "partitioner.ignore.keys": "records with equal keys always go to one partition",
    "compression.gzip.level": "the level of librdkafka is compression.level, whatever the type",
    "compression.lz4.level": "the level of librdkafka is compression.level, whatever the type",
    "compression.zstd.level": "the level of librdkafka is compression.level, whatever the type",
    "socket.connection.setup.timeout.max.ms": "librdkafka does not increase the timeout after failures",
    "transaction.two.phase.commit.enable": "the connector controls its transactions",
    "allow.auto.create.topics": "the connector creates topics, with the settings of new topics",
    "auto.commit.interval.ms": "offsets are committed after their records are stored",
    "exclude.internal.topics": "the connector assigns partitions, and reads no internal topic",
    "internal.throw.on.fetch.stable.offset.unsupported": "it is internal to Java clients",
    "max.poll.records": "the setting batch_size limits a batch",
    "share.acknowledgement.mode": "the connector uses no share groups",
    "share.acquire.mode": "the connector uses no share groups",
    **dict.fromkeys(
        ("ssl.protocol", "ssl.enabled.protocols", "ssl.provider", "ssl.secure.random.implementation"), _TLS
    ),
    **dict.fromkeys(("ssl.keymanager.algorithm", "ssl.trustmanager.algorithm"), _TLS),
    "ssl.cipher.suites": "its names are Java's; OpenSSL's names go into kafka_config.ssl.cipher.suites of the new file",
    "sasl.login.class": _JAVA,
    "sasl.client.callback.handler.class": _JAVA,
    **dict.fromkeys(
        (
            "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms", "sasl.login.refresh.buffer.seconds",
            "sasl.login.refresh.min.period.seconds", "sasl.login.refresh.window.factor",
            "sasl.login.refresh.window.jitter", "sasl.login.retry.backoff.max.ms", "sasl.login.retry.backoff.ms",
            "sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor",
            "sasl.oauthbearer.jwt.retriever.class", "sasl.oauthbearer.header.urlencode",
            "sasl.oauthbearer.scope.claim.name",
        ),
        _LOGIN,
    ),
    **dict.fromkeys(
        (
            "sasl.oauthbearer.clock.skew.seconds", "sasl.oauthbearer.expected.audience",
            "sasl.oauthbearer.expected.issuer", "sasl.oauthbearer.jwks.endpoint.refresh.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
            "sasl.oauthbearer.jwks.endpoint.url", "sasl.oauthbearer.jwt.validator.class",
        ),
        _BROKER,
    ),
}  # fmt: skip
"""Java client properties that have no effect here, by names without prefixes such as ``producer.``."""

CONSUMER_IGNORED: Mapping[str, str] = {
    "request.timeout.ms": "librdkafka bounds a consumer's requests by socket.timeout.ms",
    **dict.fromkeys(GROUP_MEMBERS, "the connector assigns partitions to its tasks: no client joins a consumer group"),
}
"""Client properties that have no effect for consumers only, with the reasons."""

CLIENT_IGNORED_BEGINNINGS: Mapping[str, str] = {"confluent.": "it configures an extension of Confluent Platform"}

CLIENT_CHANGED: Mapping[str, Change] = {
    "acks": Change(("all", "-1"), "it is changed to all: other values can lose records"),
    "enable.idempotence": Change(("true",), "it is changed to true: false can duplicate records"),
    "enable.auto.commit": Change(
        ("false",), "it is changed to false: offsets are committed after their records are stored"
    ),
}

CLIENT_REFUSED: Mapping[str, Refusal] = {
    "partitioner.class": Refusal(
        "a Java class that chooses partitions cannot run here, and another choice sends a key's records to another "
        "partition than before",
        "Leave it out if the keys may move; producer_override.partitioner has librdkafka's partitioners, and its "
        "default, murmur2_random, puts keys where Java's default does",
    ),
    "transactional.id": Refusal(
        "the connector's name and slots make the transactional ids, which fence its former runs",
        "Leave it out; access rules have to allow transactional ids that begin with the connector's name and a hyphen",
    ),
    "sasl.login.callback.handler.class": Refusal(
        "a Java class that logs in cannot run here",
        "Use sasl.oauthbearer.method=oidc with the token endpoint in the secrets file, or oauth_cb for AWS and Google",
    ),
    "sasl.oauthbearer.assertion.template.file": Refusal(
        "it sends a file of the host to the token endpoint, which no setting may do",
        "Put it into the part kafka of the secrets file as sasl.oauthbearer.assertion.jwt.template.file, and allow it "
        "with --allow-kafka-option",
    ),
}

ISOLATION = Refusal(
    "records of open and aborted transactions would be stored",
    "Leave it out: read_committed reads all records of producers without transactions, too",
)
"""Refusal of isolation.level with the value read_uncommitted."""

DEFAULT_PARTITIONERS = ("", "org.apache.kafka.clients.producer.internals.DefaultPartitioner")
"""Values of partitioner.class that mean Java's default partitioner, so that they can be ignored."""

CLIENT_CONVERTED = frozenset(
    """
    sasl.jaas.config ssl.truststore.location ssl.truststore.password ssl.truststore.type ssl.truststore.certificates
    ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.keystore.key ssl.keystore.certificate.chain
    ssl.key.password
    """.split()  # noqa: SIM905
)
"""Security properties under Java's names; ``ignite-kafka migrate`` converts them to librdkafka's properties."""
