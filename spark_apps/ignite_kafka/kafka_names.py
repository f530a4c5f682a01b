"""Kafka client settings: which librdkafka knows, what Java's names become, and which the connector sets itself.

The names are those of librdkafka 2.14's CONFIGURATION.md (`rd_kafka_conf_properties_show`; a test compares them with the library that is
installed) without callbacks. Java's names: kafka.apache.org/documentation, producer and consumer configurations.
"""

from __future__ import annotations

from collections.abc import Mapping

from .secrets import is_secret
from .setting_kinds import MAPPING, Kind
from .unknown import did_you_mean

COMMON = frozenset(
    """
    allow.auto.create.topics api.version.fallback.ms api.version.request api.version.request.timeout.ms bootstrap.servers
    broker.address.family broker.address.ttl broker.version.fallback client.dns.lookup client.id client.rack connections.max.idle.ms
    debug enable.metrics.push enable.random.seed enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification
    https.ca.location https.ca.pem log.connection.close log.queue log.thread.name log_level max.in.flight
    max.in.flight.requests.per.connection message.copy.max.bytes message.max.bytes metadata.broker.list metadata.max.age.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy plugin.library.paths receive.message.max.bytes
    reconnect.backoff.jitter.ms reconnect.backoff.max.ms reconnect.backoff.ms retry.backoff.max.ms retry.backoff.ms
    sasl.kerberos.keytab sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.principal
    sasl.kerberos.service.name sasl.mechanism sasl.mechanisms sasl.oauthbearer.assertion.algorithm
    sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub
    sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.jwt.template.file sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.private.key.pem
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.client.id
    sasl.oauthbearer.client.secret sasl.oauthbearer.config sasl.oauthbearer.extensions sasl.oauthbearer.grant.type
    sasl.oauthbearer.metadata.authentication.type sasl.oauthbearer.method sasl.oauthbearer.scope sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.token.endpoint.url sasl.password sasl.username security.protocol socket.blocking.max.ms
    socket.connection.setup.timeout.ms socket.keepalive.enable socket.max.fails socket.nagle.disable socket.receive.buffer.bytes
    socket.send.buffer.bytes socket.timeout.ms ssl.ca.certificate.stores ssl.ca.location ssl.ca.pem ssl.certificate.location
    ssl.certificate.pem ssl.cipher.suites ssl.crl.location ssl.curves.list ssl.endpoint.identification.algorithm ssl.engine.id
    ssl.engine.location ssl.key.location ssl.key.password ssl.key.pem ssl.keystore.location ssl.keystore.password ssl.providers
    ssl.sigalgs.list statistics.interval.ms topic.blacklist topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt
    topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
    """.split()  # noqa: SIM905
)
PRODUCER = COMMON | frozenset(
    """
    acks batch.num.messages batch.size compression.codec compression.level compression.type delivery.report.only.error
    delivery.timeout.ms enable.gapless.guarantee enable.idempotence linger.ms message.send.max.retries message.timeout.ms partitioner
    produce.offset.report queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
    queue.buffering.max.ms queuing.strategy request.required.acks request.timeout.ms retries sticky.partitioning.linger.ms
    transaction.timeout.ms transactional.id
    """.split()  # noqa: SIM905
)
CONSUMER = COMMON | frozenset(
    """
    auto.commit.enable auto.commit.interval.ms auto.offset.reset check.crcs coordinator.query.interval.ms enable.auto.commit
    enable.auto.offset.store enable.partition.eof fetch.error.backoff.ms fetch.max.bytes fetch.message.max.bytes fetch.min.bytes
    fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id group.protocol group.protocol.type group.remote.assignor
    heartbeat.interval.ms isolation.level max.partition.fetch.bytes max.poll.interval.ms max.poll.records offset.store.method
    offset.store.path offset.store.sync.interval.ms partition.assignment.strategy queued.max.messages.kbytes queued.min.messages
    session.timeout.ms share.acknowledgement.mode
    """.split()  # noqa: SIM905
)

_RENAMED = {
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    # librdkafka's own two names of one setting, of which it takes the last: what is given would be lost under a default of the project, or
    # pass by what is fixed here, if it had the other name. The name that is kept is the one that the project sets
    "delivery.timeout.ms": "message.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "compression.codec": "compression.type",
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "auto.commit.enable": "enable.auto.commit",
}
_ALIASES = {"sasl.mechanism": "sasl.mechanisms"}  # librdkafka's too, but kept as given: nothing of the project sets it
_BUFFER_MEMORY = "buffer.memory"
_INSTEAD = {
    "key.serializer": "use key_converter",
    "value.serializer": "use value_converter",
    "key.deserializer": "records are read as bytes",
    "value.deserializer": "records are read as bytes",
    "partitioner.class": "use partitioner (murmur2_random by default, which puts keys where Java clients put them)",
    "partitioner.ignore.keys": "use partitioner",
    "partitioner.availability.timeout.ms": "librdkafka has nothing like it",
    "partitioner.adaptive.partitioning.enable": "librdkafka has nothing like it",
    "interceptor.classes": "Java classes cannot run here",
    "metric.reporters": "Java classes cannot run here",
    "max.block.ms": "use message.timeout.ms",
    "default.api.timeout.ms": "use socket.timeout.ms",
    "ssl.truststore.location": "use ssl.ca.location with a PEM file",
    "ssl.truststore.type": "use ssl.ca.location with a PEM file",
    "ssl.truststore.certificates": "use ssl.ca.pem",
    "ssl.keystore.type": "use ssl.keystore.location with a PKCS#12 file, or ssl.certificate.location and ssl.key.location with PEM files",
    "ssl.keystore.certificate.chain": "use ssl.certificate.pem",
    "ssl.protocol": "librdkafka negotiates it",
    "ssl.enabled.protocols": "librdkafka negotiates them",
    "sasl.login.callback.handler.class": "Java classes cannot run here; use sasl.oauthbearer.method",
    "sasl.client.callback.handler.class": "Java classes cannot run here; use sasl.oauthbearer.method",
}
_OFFSETS = "offsets are committed with what was done, in one transaction"
_SERVERS = "use the setting bootstrap_servers"
_OURS = {
    "bootstrap.servers": _SERVERS,
    "metadata.broker.list": _SERVERS,
    "transactional.id": "the connector's name and slots make it",
    "transaction.timeout.ms": "use the setting transaction_timeout_ms",
    "group.id": "the connector's name makes it",
    "enable.auto.commit": _OFFSETS,
    "enable.auto.offset.store": _OFFSETS,
    "auto.commit.interval.ms": _OFFSETS,
    "auto.offset.reset": "positions are given, never guessed; a sink has the setting auto_offset_reset",
    "enable.partition.eof": "the connector needs it to find a topic's end",
    "delivery.report.only.error": "the connector needs the reports as they are",
    "allow.auto.create.topics": "a topic is made by the connector, with its settings, never by a client that misses it",
}
_FIXED = {
    "acks": ("all", "-1"),
    "enable.idempotence": ("true",),
    "isolation.level": ("read_committed",),
}


def librdkafka_settings(given: Mapping[str, str], known: frozenset[str]) -> dict[str, str]:
    """Kafka client settings under librdkafka's names; what has them already comes back unchanged.

    :param known: the names that this kind of client has: COMMON, PRODUCER or CONSUMER.
    :raises ValueError: a name is unknown or belongs elsewhere, or a value would break exactly-once delivery. No value is shown.
    """
    result: dict[str, str] = {}
    for name, value in given.items():
        target, value = _renamed(name, value)
        if is_secret(name):
            raise ValueError(f"{name} is a secret: put it into the kafka part of the secrets file or into the Airflow connection")
        if target in _OURS:
            raise ValueError(f"{name} is not yours to set: {_OURS[target]}")
        if target not in known:
            raise ValueError(f"{name} is {_instead(name, known)}")
        if target in _FIXED and value.lower() not in _FIXED[target]:
            raise ValueError(f"{name} must be {_FIXED[target][0]}, or records could be lost or doubled")
        if result.setdefault(target, value) != value:
            raise ValueError(f"{name} and another name of the same setting have different values")
    return result


def one_name(name: str) -> str:
    """The one name of a setting that has several."""
    name = _RENAMED.get(name, name)
    return _ALIASES.get(name, name)


def _renamed(name: str, value: str) -> tuple[str, str]:
    if name == _BUFFER_MEMORY:
        if not value.isdecimal():
            raise ValueError(f"{name} is not a whole number of bytes")
        return "queue.buffering.max.kbytes", str(max(1, int(value) // 1024))
    return _RENAMED.get(name, name), value


def _instead(name: str, known: frozenset[str]) -> str:
    if name in _INSTEAD:
        return f"a setting of the Java clients: {_INSTEAD[name]}"
    hint = did_you_mean(name, known)
    return "not a setting of librdkafka for this kind of client" + (f". {hint}" if hint else "")


def _kind(known: frozenset[str]) -> Kind:
    def parse(value: object) -> dict[str, str]:
        mapping = MAPPING.parse(value)
        assert isinstance(mapping, dict)
        return librdkafka_settings(mapping, known)

    return Kind("mapping", "a mapping of librdkafka's or Kafka's names to texts, without secrets", parse, shown=False)


CLIENT_SETTINGS, PRODUCER_SETTINGS, CONSUMER_SETTINGS = _kind(COMMON), _kind(PRODUCER), _kind(CONSUMER)
