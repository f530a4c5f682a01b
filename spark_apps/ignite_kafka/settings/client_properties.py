"""Classification of librdkafka's properties: which act on the host, hold secrets, or may be set, and where.

Settings, data source options, Airflow connections and secrets files all use it. A test compares the names with those of
the installed librdkafka, so that a property added by a new version fails until it is classified here.

The names are from CONFIGURATION.md of librdkafka 2.16. Of Java's properties there are only those of key and trust
stores, which :mod:`.client_stores` converts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..errors import SettingsError
from .control_characters import refuse_in_line, refuse_in_lines
from .suggestions import did_you_mean

HOST_ACCESS: Mapping[str, str] = {
    "plugin.library.paths": "loads native code",
    "ssl.engine.location": "loads native code",
    "ssl.engine.id": "chooses native code to load",
    "ssl.providers": "loads native code",
    "sasl.kerberos.kinit.cmd": "runs a shell command",
    "sasl.oauthbearer.assertion.file": "sends a file of the host to the token endpoint",
    "sasl.oauthbearer.assertion.jwt.template.file": "sends a file of the host to the token endpoint",
    "offset.store.method": "writes files on the host",
    "offset.store.path": "writes files on the host",
}
"""Properties that act on the host, and must never be settings.

A connection or a secrets file may hold such a property only if an administrator allows the value.
"""

CREDENTIAL_TARGETS: Mapping[str, str] = {
    "sasl.oauthbearer.token.endpoint.url": "names the address that client secrets are sent to",
    "sasl.oauthbearer.metadata.authentication.type": "takes the identity of the host from its cloud",
}
"""Properties that decide where a credential is sent: allowed in a connection or secrets file, never in settings."""

OAUTH_CALLBACK = "oauth_cb"
AWS_MSK_IAM = "aws_msk_iam"
GCP = "gcp"
"""confluent-kafka's property for a function that returns tokens, and the functions allowed without permission.

See :mod:`..kafka.oauth_tokens`.
"""

_TOKENS_OF_CLOUDS = re.compile(rf"{GCP}|{AWS_MSK_IAM}(:[a-z0-9-]+)?")
_SHELL = frozenset({"sasl.kerberos.keytab", "sasl.kerberos.principal", "sasl.kerberos.service.name"})
_SHELL_PLAIN = re.compile(r"(?!-)[A-Za-z0-9_./@:+=,-]*")
_SHELL_REASON = "becomes part of a shell command, and has characters other than letters, digits and _ . / @ : + = , -"

SECRETS = frozenset(
    """
    sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.private.key.pem
    sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.client.secret sasl.password ssl.key.password
    ssl.key.pem ssl.keystore.password ssl.truststore.password
    """.split()  # noqa: SIM905
)
SECURITY = frozenset(
    """
    enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification https.ca.location https.ca.pem
    sasl.kerberos.keytab sasl.kerberos.min.time.before.relogin sasl.kerberos.principal sasl.kerberos.service.name
    sasl.mechanism sasl.mechanisms sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.id sasl.oauthbearer.config
    sasl.oauthbearer.extensions sasl.oauthbearer.grant.type sasl.oauthbearer.method sasl.oauthbearer.scope
    sasl.oauthbearer.sub.claim.name sasl.username security.protocol ssl.ca.certificate.stores ssl.ca.location ssl.ca.pem
    ssl.certificate.location ssl.certificate.pem ssl.cipher.suites ssl.crl.location ssl.curves.list
    ssl.endpoint.identification.algorithm ssl.key.location ssl.keystore.location ssl.sigalgs.list ssl.keystore.type
    ssl.truststore.location ssl.truststore.type
    """.split()  # noqa: SIM905
)
"""Properties of authentication and TLS: equal for all clients of a connector, so overrides must not change them."""

_OPEN = frozenset(
    """
    allow.auto.create.topics api.version.fallback.ms api.version.request api.version.request.timeout.ms
    bootstrap.servers broker.address.family broker.address.ttl broker.version.fallback client.dns.lookup client.id
    client.rack connections.max.idle.ms debug enable.metrics.push enable.random.seed log.connection.close log.queue
    log.thread.name log_level max.in.flight max.in.flight.requests.per.connection message.copy.max.bytes
    message.max.bytes metadata.broker.list metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms
    metadata.recovery.strategy receive.message.max.bytes reconnect.backoff.jitter.ms reconnect.backoff.max.ms
    reconnect.backoff.ms retry.backoff.max.ms retry.backoff.ms socket.blocking.max.ms socket.connection.setup.timeout.ms
    socket.keepalive.enable socket.max.fails socket.nagle.disable socket.receive.buffer.bytes socket.send.buffer.bytes
    socket.timeout.ms statistics.interval.ms topic.blacklist topic.metadata.propagation.max.ms
    topic.metadata.refresh.fast.cnt topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms
    topic.metadata.refresh.sparse
    """.split()  # noqa: SIM905
)
_OPEN_PRODUCER = frozenset(
    """
    acks batch.num.messages batch.size compression.codec compression.level compression.type delivery.report.only.error
    delivery.timeout.ms enable.gapless.guarantee enable.idempotence linger.ms message.send.max.retries
    message.timeout.ms partitioner produce.offset.report queue.buffering.backpressure.threshold
    queue.buffering.max.kbytes queue.buffering.max.messages queue.buffering.max.ms queuing.strategy
    request.required.acks request.timeout.ms retries sticky.partitioning.linger.ms transaction.timeout.ms
    transactional.id
    """.split()  # noqa: SIM905
)
_OPEN_CONSUMER = frozenset(
    """
    auto.commit.enable auto.commit.interval.ms auto.offset.reset check.crcs coordinator.query.interval.ms
    enable.auto.commit enable.auto.offset.store enable.partition.eof fetch.error.backoff.ms fetch.max.bytes
    fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id
    group.protocol group.protocol.type group.remote.assignor heartbeat.interval.ms isolation.level
    max.partition.fetch.bytes max.poll.interval.ms max.poll.records offset.store.sync.interval.ms
    partition.assignment.strategy queued.max.messages.kbytes queued.min.messages session.timeout.ms
    share.acknowledgement.mode
    """.split()  # noqa: SIM905
)
UNSETTABLE = frozenset(
    """
    background_event_cb builtin.features closesocket_cb connect_cb consume.callback.max.messages consume_cb
    default_topic_conf dr_cb dr_msg_cb enabled_events error_cb interceptors internal.termination.signal log_cb
    msg_order_cmp oauthbearer_token_refresh_cb offset_commit_cb opaque open_cb partitioner_cb rebalance_cb resolve_cb
    socket_cb ssl_ca ssl_certificate ssl_engine_callback_data ssl_key ssl.certificate.verify_cb stats_cb throttle_cb
    """.split()  # noqa: SIM905
)
"""Callbacks and internal properties of librdkafka, which a settings file, being text, cannot set."""

_CONSUMER_FILES = frozenset({"offset.store.method", "offset.store.path"})
COMMON = _OPEN | SECURITY | SECRETS | frozenset(CREDENTIAL_TARGETS) | (frozenset(HOST_ACCESS) - _CONSUMER_FILES)
PRODUCER = COMMON | _OPEN_PRODUCER
CONSUMER = COMMON | _OPEN_CONSUMER | _CONSUMER_FILES


def is_security(name: str) -> bool:
    """Return whether a property concerns authentication or acts on the host."""
    return (
        name in SECURITY
        or name in SECRETS
        or name in CREDENTIAL_TARGETS
        or name in HOST_ACCESS
        or name == OAUTH_CALLBACK
    )


def host_access(name: str, value: str) -> str | None:
    """Return how a property acts on the host, such as 'loads native code'; None if it does not."""
    if name in _SHELL and not _SHELL_PLAIN.fullmatch(value):
        return _SHELL_REASON
    if name == OAUTH_CALLBACK and not _TOKENS_OF_CLOUDS.fullmatch(value):
        return "runs a Python function"
    return HOST_ACCESS.get(name)


def kept_from_settings(name: str, value: str) -> str | None:
    """Return the reason why settings and options must not hold a property; None if they may.

    Secrets: see :func:`.secrets.is_secret`.
    """
    if name == OAUTH_CALLBACK:
        return host_access(name, value) or "takes the identity of the host from its cloud"
    return host_access(name, value) or CREDENTIAL_TARGETS.get(name)


def refuse_control_characters(name: str, value: str) -> None:
    """Refuse control characters, because librdkafka reads them differently: NUL, for example, ends a text there.

    :raises ValueError: the name or the value has a control character; PEM texts may have ends of lines. The value is
        not shown.
    """
    try:
        refuse_in_line(name)
        (refuse_in_lines if name.endswith(".pem") else refuse_in_line)(value)
    except ValueError as error:
        shown = "".join(character if character.isprintable() else "?" for character in name)
        raise ValueError(f"{shown} cannot be set: {error}, which librdkafka does not read as it is written") from None


def check_trusted(config: Mapping[str, str], allowed: Collection[str], **where: Any) -> None:
    """Check the Kafka properties of an Airflow connection or a secrets file.

    :param allowed: properties that an administrator allows, each ``name=value``.
    :param where: the connection or file, for the error.
    :raises SettingsError: a name is unknown to librdkafka, a name or value has a control character, or a property acts
        on the host and is not allowed. No value is shown.
    """
    names = PRODUCER | CONSUMER | {OAUTH_CALLBACK}
    for name, value in config.items():
        try:
            refuse_control_characters(name, value)
        except ValueError as error:
            raise SettingsError(str(error), "Remove the character", **where) from None
        if name not in names:
            hint = did_you_mean(name, names)
            raise SettingsError(
                "no property of librdkafka has this name", hint or "Leave it out", setting=name, **where
            )
        reason = host_access(name, value)
        if reason is not None and f"{name}={value}" not in allowed:
            raise SettingsError(
                f"{name} {reason}, and this value is not allowed",
                "Leave it out, or have an administrator list it as name=value: in Airflow in the option "
                "allowed_kafka_options of section [ignite_kafka], on the command line with --allow-kafka-option",
                setting=name,
                **where,
            )


def security_names(names: Iterable[str]) -> list[str]:
    """Return the names of security properties (:func:`is_security`) among the given names, sorted."""
    return sorted(filter(is_security, names))
