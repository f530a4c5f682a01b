"""Trust class of every setting and property: the most harm that its author could do with it.

docs/security.md has who may set each class.

A test walks all settings, the options of data sources, and the properties of Kafka clients and of schema registries. It
fails for a new setting or property without a class, and for a way to set it that its class forbids.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import client_properties as kafka
from . import registry_properties as registry
from .secrets import is_secret

DATA = "data"
NAME = "name"
ADDRESS = "address"
SECRET = "secret"
CODE = "code"
"""Trust classes: data, name, address, secret and code.

DATA: selection, form and rate of the copy. NAME: topic, cache, group or schema. ADDRESS: destination of a connection,
verification of the other side, and its login; where the driver listens. SECRET: a credential. CODE: code that runs, or
a file of the host that is read.
"""

SETTINGS: Mapping[str, str] = {
    **dict.fromkeys(
        [
            "run_mode",
            "where",
            "select",
            "transforms",
            "predicates",
            "predicate_config",
            "key_converter",
            "value_converter",
            "key_converter_config",
            "value_converter_config",
            "header_converter",
            "header_converter_config",
            "decimal_format",
            "date_time_zone",
            "ignite_connect_timeout_ms",
            "ignite_request_timeout_ms",
            "ignite_max_frame_bytes",
            "producer_override",
            "consumer_override",
            "replication_factor",
            "error_handling_policy",
            "conversion_error_policy",
            "log_values",
            "dead_letter_replication_factor",
            "slots",
            "tasks_max",
            "transaction_timeout_ms",
            "retry_timeout_ms",
            "runs_kept",
            "progress_interval_ms",
            "metrics_otlp",
            "heartbeat_interval_ms",
            "load_initial_data",
            "process_removals",
            "failover_policy",
            "enum_policy",
            "field_nullability_policy",
            "record_key",
            "record_timestamp_field",
            "provenance_headers",
            "coinciding_keys",
            "is_schemaless",
            "is_schema_dynamic",
            "enable_schema_cache",
            "schema_cache_max_size",
            "schema_cache_ttl_ms",
            "create_topics",
            "topic_partitions",
            "topic_config",
            "topic_creation_groups",
            "transaction_max_ms",
            "transaction_max_records",
            "transaction_max_bytes",
            "page_bytes",
            "batch_size",
            "batch_bytes",
            "max_records_per_second",
            "poll_interval_ms",
            "cache_list_poll_interval_ms",
            "backlog_cache_backups",
            "backlog_flush_freq_ms",
            "auto_offset_reset",
            "process_updates",
            "delivery",
            "active_active",
            "forward_foreign_changes",
            "allow_unversioned",
            "schema_contract",
            "shared_caches",
            "order_field",
            "cache_header",
            "key_policy",
            "key_fields",
            "cache_as_source",
            "cache_mode",
            "cache_atomicity",
            "cache_backups",
            "cache_key_type",
            "cache_value_type",
            "cache_fields",
            "push_interval_ms",
            "flush_on_offset_commit",
            "topic_list_poll_interval_ms",
        ],
        DATA,
    ),
    **dict.fromkeys(
        [
            "name",
            "overrides",
            "internal_topic_prefix",
            "dead_letter_topic",
            "events_topic",
            "notifications_topic",
            "signal_topic",
            "cache_whitelist",
            "cache_blacklist",
            "topic_prefix",
            "topic_names",
            "cluster_name",
            "backlog_cache_name",
            "backlog_memory_region_name",
            "backlog_service_name",
            "topics",
            "topics_regex",
            "consumer_group",
            "types_topic",
            "cache_prefix",
            "cache_names",
            "header_caches",
            "cache_template",
            "cache_region",
        ],
        NAME,
    ),
    **dict.fromkeys(
        [
            "ignite_addresses",
            "ignite_address_map",
            "ignite_tls_enabled",
            "ignite_tls_ca_file",
            "ignite_tls_cert_file",
            "ignite_tls_key_file",
            "ignite_tls_verify",
            "ignite_tls_check_hostname",
            "ignite_cfg",
            "bootstrap_servers",
            "kafka_config",
            "allow_insecure_connections",
            "metrics_host",
            "metrics_port",
        ],
        ADDRESS,
    ),
    **dict.fromkeys(("filter", "cache_filter", "transform_config"), CODE),
}
"""Trust class of each setting of source and sink.

A setting of properties has the class of its other content; the properties themselves are in a table below.
"""

OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(
        [
            "partitions",
            "num_partitions",
            "page_bytes",
            "sample_rows",
            "max_frame_bytes",
            "key",
            "overwrite",
            "backups",
            "key_type",
            "value_type",
            "starting_offsets",
            "include_headers",
            "key.converter",
            "value.converter",
            "slots",
            "transaction_timeout_ms",
            "on_loss",
            "max_bytes",
            "poll_interval_ms",
            "backlog_cache_backups",
            "backlog_flush_freq_ms",
            "create",
        ],
        DATA,
    ),
    **dict.fromkeys(
        [
            "cache",
            "topic",
            "name",
            "write_id",
            "internal_topic_prefix",
            "connector",
            "backlog_cache_name",
            "backlog_service_name",
            "backlog_memory_region_name",
        ],
        NAME,
    ),
    **dict.fromkeys(
        [
            "addresses",
            "address_map",
            "tls",
            "tls_ca_file",
            "tls_cert_file",
            "tls_key_file",
            "tls_verify",
            "tls_check_hostname",
            "bootstrap.servers",
            "secrets_file",
            "allow_insecure_connections",
        ],
        ADDRESS,
    ),
}
"""Trust class of each option of the Spark data sources; the program's author sets addresses and ``secrets_file``."""

_REGISTRY_NAMES = frozenset(
    """
    key.subject.name.strategy value.subject.name.strategy context.name.strategy use.schema.id bearer.auth.client.id
    bearer.auth.scope bearer.auth.logical.cluster bearer.auth.identity.pool.id use.latest.with.metadata
    """.split()  # noqa: SIM905
)
_REGISTRY_DATA = frozenset(
    """
    auto.register.schemas use.latest.version latest.compatibility.strict id.compatibility.strict normalize.schemas
    max.schemas.per.subject latest.cache.ttl.sec latest.cache.size propagate.schema.tags enable.headers schema.format
    schema.reflection rule.service.loader.enable missing.id.cache.ttl.sec missing.version.cache.ttl.sec
    missing.schema.cache.ttl.sec missing.cache.size bearer.auth.cache.expiry.buffer.seconds bearer.auth.scope.claim.name
    bearer.auth.sub.claim.name http.connect.timeout.ms http.read.timeout.ms max.retries retries.wait.ms
    retries.max.wait.ms url.randomize schema.registry.ssl.protocol schema.registry.ssl.provider
    schema.registry.ssl.cipher.suites schema.registry.ssl.enabled.protocols schema.registry.ssl.keymanager.algorithm
    schema.registry.ssl.trustmanager.algorithm schema.registry.ssl.secure.random.implementation
    schema.registry.ssl.engine.factory.class
    """.split()  # noqa: SIM905
)
_REGISTRY_CODE = frozenset({"bearer.auth.custom.provider.class"})
_KAFKA_NAMES = frozenset(
    {"client.id", "client.rack", "transactional.id", "group.id", "group.instance.id", "topic.blacklist"}
)


def of_registry_property(name: str) -> str:
    """Return the trust class of a schema registry property, given by its canonical name.

    :raises KeyError: no property has this name.
    """
    if name in registry.SECRETS or is_secret(name):
        return SECRET
    if name in registry.ADDRESSES:
        return ADDRESS
    if name in _REGISTRY_CODE:
        return CODE
    if name in _REGISTRY_NAMES:
        return NAME
    if name in _REGISTRY_DATA:
        return DATA
    raise KeyError(name)


def of_kafka_property(name: str) -> str:
    """Return the trust class of a librdkafka property.

    :raises KeyError: no client has this property, or no text can set it.
    """
    if name in kafka.HOST_ACCESS or name == kafka.OAUTH_CALLBACK:
        return CODE
    if name not in kafka.PRODUCER | kafka.CONSUMER:
        raise KeyError(name)
    if is_secret(name):
        return SECRET
    if kafka.is_security(name) or name in ("bootstrap.servers", "metadata.broker.list"):
        return ADDRESS
    return NAME if name in _KAFKA_NAMES else DATA
