"""Kafka client settings: translation of Java's names, and checks of their names and values.

librdkafka's names, and the permission to set each: :mod:`.client_properties`. Java's names:
kafka.apache.org/documentation, producer and consumer configurations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .client_properties import COMMON, CONSUMER, PRODUCER, is_security, kept_from_settings, refuse_control_characters
from .fields import MAPPING, SettingType
from .key_table import CLIENT_CHANGED, CLIENT_CONVERTED, CLIENT_IGNORED, CLIENT_REFUSED
from .secrets import is_secret
from .suggestions import did_you_mean

_RENAMED = {
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    # librdkafka has two names for one setting, and the last value counts. A given value under the other name would be
    # overridden by a default of the project, or would override a fixed value. So it gets the name that the project
    # sets
    "delivery.timeout.ms": "message.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "compression.codec": "compression.type",
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "auto.commit.enable": "enable.auto.commit",
}
# aliases of librdkafka that the project never sets
_ALIASES = {"sasl.mechanism": "sasl.mechanisms", "metadata.broker.list": "bootstrap.servers"}
_BOOLEANS = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}
_SECURITY_BOOLEANS = ("enable.ssl.certificate.verification",)
_SECURITY_CHOICES = ("security.protocol", "ssl.endpoint.identification.algorithm", "sasl.oauthbearer.method")
_MECHANISM = "sasl.mechanisms"
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
    "ssl.truststore.certificates": "use ssl.ca.pem",
    "ssl.keystore.certificate.chain": "use ssl.certificate.pem",
    "ssl.protocol": "librdkafka negotiates it",
    "ssl.enabled.protocols": "librdkafka negotiates them",
    "sasl.login.callback.handler.class": "Java classes cannot run here; use sasl.oauthbearer.method",
    "sasl.client.callback.handler.class": "Java classes cannot run here; use sasl.oauthbearer.method",
}
_OFFSETS = "offsets are committed with what was done, in one transaction"
_SERVERS = "use the setting bootstrap_servers"
_ADDRESSES = ("bootstrap.servers", "metadata.broker.list")
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
_TRUSTED = "no setting may do that; it belongs into the Airflow connection or the kafka part of the secrets file"
_NO_OVERRIDE = "set it in kafka_config, or in the Airflow connection, which decides where it has any such name"
_FIXED = {
    "acks": ("all", "-1"),
    "enable.idempotence": ("true",),
    "isolation.level": ("read_committed",),
}


def librdkafka_settings(
    properties: Mapping[str, str], names: frozenset[str], *, override: bool = False
) -> dict[str, str]:
    """Translate the names of Kafka client settings to librdkafka's; refuse settings that the connector fixes itself.

    :param names: names of this type of client: COMMON, PRODUCER or CONSUMER.
    :param override: whether the properties override, for one type of client, those of all clients.
    :raises ValueError: a name is unknown or belongs elsewhere, a name or value has a control character, or a value
        would break exactly-once delivery. No value is shown.
    """
    result: dict[str, str] = {}
    wrong: list[str] = []
    for name, value in properties.items():
        try:
            _add(result, name, value, names, override=override)
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        raise ValueError("; ".join(wrong))
    return result


def _add(result: dict[str, str], name: str, value: str, names: frozenset[str], *, override: bool) -> None:
    refuse_control_characters(name, value)
    target, value = _rename(name, value)
    if is_secret(name):
        converted = "; ignite-kafka migrate converts it" if name in CLIENT_CONVERTED else ""
        raise ValueError(
            f"{name} is a secret: put it into the kafka part of the secrets file or into the Airflow "
            f"connection{converted}"
        )
    if (reason := kept_from_settings(target, value)) is not None:
        raise ValueError(f"{name} {reason}: {_TRUSTED}")
    if override and is_security(target):
        raise ValueError(f"{name} belongs to all clients of a connector alike: {_NO_OVERRIDE}")
    if target in _OURS:
        raise ValueError(f"{name} is not yours to set: {_OURS[target]}")
    if target not in names:
        raise ValueError(f"{name} is {_suggest(name, names)}")
    if target in _FIXED and value.lower() not in _FIXED[target]:
        raise ValueError(f"{name} must be {_FIXED[target][0]}, or records could be lost or doubled")
    if result.setdefault(target, value) != value:
        raise ValueError(f"{name} and another name of the same setting have different values")


@dataclass(frozen=True)
class ByClient:
    """Kafka client settings under librdkafka's names, divided into common, producer and consumer settings.

    :param common: settings of every client; also unknown names, which a later check refuses.
    :param fixed: names that the connector sets itself, with the reason why a given value is ignored; empty if the
        values are equal.
    """

    common: Mapping[str, str]
    producer: Mapping[str, str]
    consumer: Mapping[str, str]
    fixed: Mapping[str, str]


def by_client(properties: Mapping[str, str]) -> ByClient:
    """Split a connection's settings into common settings, producer settings and consumer settings.

    :param properties: settings under librdkafka's names.
    """
    parts: dict[str, dict[str, str]] = {"common": {}, "producer": {}, "consumer": {}}
    fixed: dict[str, str] = {}
    for name, value in properties.items():
        target = _RENAMED.get(name, name)
        if target in _OURS and target not in _ADDRESSES:
            fixed[name] = _OURS[target]
        elif target in _FIXED:
            fixed[name] = "" if value.lower() in _FIXED[target] else f"the connector sets {_FIXED[target][0]}"
        elif target in PRODUCER - COMMON:
            parts["producer"][target] = value
        elif target in CONSUMER - COMMON:
            parts["consumer"][target] = value
        else:
            parts["common"][target] = value
    return ByClient(**parts, fixed=fixed)


def one_name(name: str) -> str:
    """Return the librdkafka name that this project uses for a setting with several names."""
    name = _RENAMED.get(name, name)
    return _ALIASES.get(name, name)


def canonical(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a client's properties under their canonical names, with values as librdkafka reads them.

    Both the check of a connection's protection and every client use this, so the check judges exactly what a client
    gets.

    :param config: librdkafka settings by name, in the order in which librdkafka would set them.
    """
    result = {one_name(name): value for name, value in config.items()}
    for name in result.keys() & {*_SECURITY_BOOLEANS, *_SECURITY_CHOICES, _MECHANISM}:
        if result[name] is None:
            continue  # librdkafka refuses it; as text it would be the choice "none"
        text = str(result[name])
        if name in _SECURITY_BOOLEANS:
            result[name] = _BOOLEANS.get(text.lower(), text)
        else:
            result[name] = text.strip() if name == _MECHANISM else text.strip().lower()
    return result


def is_client_property(name: str, names: frozenset[str]) -> bool:
    """Return whether a name is a property of Kafka clients, of librdkafka or Java."""
    tables = (_RENAMED, _ALIASES, _INSTEAD, _OURS, _FIXED, CLIENT_CHANGED, CLIENT_IGNORED, CLIENT_REFUSED)
    return name in names or any(name in table for table in tables)


def _rename(name: str, value: str) -> tuple[str, str]:
    if name == _BUFFER_MEMORY:
        if not value.isdecimal():
            raise ValueError(f"{name} is not a whole number of bytes")
        return "queue.buffering.max.kbytes", str(max(1, int(value) // 1024))
    return _RENAMED.get(name, name), value


def _suggest(name: str, names: frozenset[str]) -> str:
    if name in _INSTEAD:
        return f"a setting of the Java clients: {_INSTEAD[name]}"
    if name in CLIENT_CONVERTED:
        return "a setting of the Java clients: ignite-kafka migrate converts it"
    hint = did_you_mean(name, names)
    return "not a setting of librdkafka for this kind of client" + (f". {hint}" if hint else "")


def _client_settings(names: frozenset[str], *, override: bool) -> SettingType:
    def parse(value: object) -> dict[str, str]:
        mapping = MAPPING.parse(value)
        assert isinstance(mapping, dict)
        return librdkafka_settings(mapping, names, override=override)

    without = "secrets and names of security" if override else "secrets and what acts on the host"
    return SettingType(
        "mapping", f"a mapping of librdkafka's or Kafka's names to texts, without {without}", parse, shown=False
    )


CLIENT_SETTINGS = _client_settings(COMMON, override=False)
PRODUCER_SETTINGS = _client_settings(PRODUCER, override=True)
CONSUMER_SETTINGS = _client_settings(CONSUMER, override=True)
