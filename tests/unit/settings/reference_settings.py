"""Source and sink settings of the GridGain Kafka Connector 8 (its configuration page): name, type, default.

A setting that we do not have stands in WAIVERS with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReferenceSetting:
    """One setting: ``default`` None stands for the reference's null; ``choices`` for its documented values."""

    name: str
    type_name: str
    default: object
    choices: tuple[str, ...] = ()


SOURCE = (
    ReferenceSetting("failoverPolicy", "string", "NONE", ("NONE", "FULL_SNAPSHOT", "BACKLOG")),
    ReferenceSetting("igniteCfg", "string", ""),
    ReferenceSetting("shallLoadInitialData", "boolean", True),
    ReferenceSetting("shallProcessRemovals", "boolean", False),
    ReferenceSetting("backlogCacheName", "string", "kafka-connect-backlog"),
    ReferenceSetting("backlogCacheBackups", "int", 1),
    ReferenceSetting("backlogFlushFreq", "int", 500),
    ReferenceSetting("backlogMemoryRegionName", "string", "kafka-connect"),
    ReferenceSetting("backlogServiceName", "string", "kafka-connect-backlog-service"),
    ReferenceSetting("batchSize", "int", 10_000),
    ReferenceSetting("cacheBlacklist", "list", None),
    ReferenceSetting("cacheFilter", "class", None),
    ReferenceSetting("cacheListPollInterval", "long", 5_000),
    ReferenceSetting("cacheWhitelist", "list", None),
    ReferenceSetting("enableSchemaCache", "boolean", False),
    ReferenceSetting("enumPolicy", "string", "SHORT_NAME", ("ORDINAL", "SHORT_NAME", "LONG_NAME", "FULL_NAME")),
    ReferenceSetting("fieldNullabilityPolicy", "string", "LAZY", ("LAZY", "EAGER")),
    ReferenceSetting("isSchemaDynamic", "boolean", False),
    ReferenceSetting("isSchemaless", "boolean", False),
    ReferenceSetting("pollInterval", "long", 2_000),
    ReferenceSetting("schemaCacheMaxSize", "int", 256),
    ReferenceSetting("schemaCacheTtl", "int", -1),
    ReferenceSetting("topicPrefix", "string", ""),
    ReferenceSetting("errorHandlingPolicy", "string", "STOP_TASK", ("LOG_ONLY", "STOP_TASK")),
)

SINK = (
    ReferenceSetting("igniteCfg", "string", ""),
    ReferenceSetting("shallProcessUpdates", "boolean", False),
    ReferenceSetting("cacheFilter", "class", None),
    ReferenceSetting("cachePrefix", "string", ""),
    ReferenceSetting("topicPrefix", "string", "ignite-"),
    ReferenceSetting("flushOnOffsetCommit", "boolean", False),
    ReferenceSetting("keyFields", "list", None),
    ReferenceSetting("keyPolicy", "string", "key", ("key", "value", "kafka")),
    ReferenceSetting("pushInterval", "long", 2_000),
    ReferenceSetting("errorHandlingPolicy", "string", "STOP_TASK", ("LOG_ONLY", "STOP_TASK")),
)

WAIVERS: dict[str, str] = {}

OTHER_DEFAULTS = {"isSchemaDynamic": True}
"""Defaults that differ from the reference's, which loses fields: docs/decisions/0023-schemas-by-entry.md."""
