"""Severity, usual cause and remedy of health events, for pages, commands and records."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from . import events
from .events import EVENTS, Event

CAUSES: Mapping[Event, str] = {
    events.MISCONFIGURED: "A setting, a connection or a file of the run is wrong.",
    events.CONFIG_CHANGED: "A setting is set twice, or one of Kafka Connect has another meaning here.",
    events.OBJECT_NOT_BUILT: "The record is not in the converter's format, or does not fit the cache's types.",
    events.BACKLOG_FAILED: "The nodes have no backlog service, refuse the connector, or have lost changes.",
    events.QUERY_FAILED: "A node left or does not answer while changes are read.",
    events.WRITE_FAILED: "A node left or does not answer, or refuses the entries.",
    events.FILTER_NOT_MADE: "The filter is no expression that the filter language has.",
    events.FILTER_FAILED: "The filter was applied to a value of another form than it expects.",
    events.IGNITE_DISCONNECTED: "A node ended, or the network to it broke.",
    events.CONVERTER_FAILED: "The converter cannot write a value, or the registry refuses its schema.",
    events.RUN_FAILED: "The error that the reason names.",
    events.RUN_FENCED: "The connector was started twice, its task was cleared or retried, or a repair or a change of "
    "its offsets began during the run.",
    events.OUTCOME_UNKNOWN: "The broker or node did not answer before the timeout, or was killed.",
    events.SNAPSHOT_ALREADY_COMPLETE: "The snapshot id was used before, such as by a cleared Dag run.",
    events.SNAPSHOT_SUPERSEDED: "A snapshot with a new id begins before the last one was complete.",
    events.UNIT_REDONE: "A broker or node did not answer, or an executor was lost.",
    events.NOTHING_TO_SEND: "The settings let neither existing entries nor changes be sent.",
    events.TLS_NOT_VERIFIED: "ignite_tls_verify is false.",
    events.BAD_RECORDS_SKIPPED: "The policy for errors is LOG_ONLY.",
    events.OFFSETS_GUESSED: "auto_offset_reset says where to begin after a loss.",
    events.CAPTURE_LOST: "All nodes with its backlog left, or the capture was removed.",
    events.KEYS_NOT_READ_BACK: "The converter or a transform changes keys so that their type is lost.",
    events.CHANGES_MISSING: "No query saw the changes while no run was active, or a node left.",
    events.CACHES_SENT_AGAIN: "No query saw the changes while no run was active, or a node left.",
    events.UNITS_SENT_AGAIN: "A node's buffer or the backlog's region was full, or nodes left with unsaved changes.",
    events.OFFSET_RESET: "Retention has deleted the records, or offsets were reset.",
    events.DELIVERY_CONVERGES: "The setting's default, which needs no jar on the nodes.",
    events.CONFLICT_DECIDED: "Two clusters wrote one key within the time that a change takes from one to the other, or "
    "a value was lesser.",
    events.REMOVALS_FORGOTTEN: "The nodes cannot write their cache ignite-kafka-tombstones-<cache> as fast as keys are "
    "removed, or its data region is full.",
    events.BACKUPS_BEHIND: "The cache was created so: PRIMARY_SYNC is Ignite's default.",
    events.CACHE_DIFFERS: "The cache was created by hand, or the cache of the source was altered since.",
    events.FIELD_DISCARDED: "What writes the topic has got a field that the table does not have.",
    events.RECORDS_OPEN: "A transactional producer is slow, or ended without ending its transaction.",
    events.LAG_STANDS: "A record or a node holds the task up.",
    events.KEYS_MAY_COINCIDE: "Kafka keys of this converter do not hold the type of the key.",
    events.KEY_SPELLED_OTHERWISE: "header_converter simple reads texts of headers as numbers.",
    events.ENTRIES_EXPIRE: "The cache or an entry has an expiry policy.",
    events.FRACTIONS_CUT: "Kafka's timestamps have milliseconds, those of Ignite nanoseconds.",
    events.DECIMAL_WITHOUT_SCALE: "The bytes of a BASE64 decimal hold no scale.",
    events.TYPE_NOT_READ: "The types topic has a record that this version cannot read.",
    events.FLOAT_GUESSED: "Records have no types, and such values are written alike for float and double.",
    events.FIELD_LEFT_OUT: "is_schema_dynamic is false, and values of the type have different fields.",
    events.TOPIC_REPLACED: "The topic was deleted and created again, or another topic is set.",
    events.RECORD_SKIPPED: "A record of an internal topic has a form that this version cannot read.",
    events.KAFKA_AWAITED: "Brokers are down, or cannot be reached.",
    events.TOPIC_GREW: "Partitions were added to the topic.",
    events.CACHE_LACKS_RECORDS: "The cache was destroyed or its cluster replaced after its records were read.",
    events.CAPTURE_OPEN: "The secrets of the data source have no backlog_secret.",
    events.INSECURE_CONNECTION: "TLS is off, or does not verify the other side.",
    events.SECRETS_EXPOSED: "Spark does not authenticate or encrypt what it sends to executors.",
    events.NODE_NOT_MAPPED: "The node announces an address that is not in ignite_address_map.",
    events.SIGNAL_FAILED: "The signal names a cache, partition, key or column that is not there.",
    events.NAME_MATCHES_NOTHING: "A name is misspelled, or the cache or topic is gone.",
    events.SEVERAL_TYPES_IN_SUBJECT: "The subject name strategy gives one subject to topics with several types.",
    events.TRANSFORMED_KEYS: "Transforms of keys drop what a key of the cache needs.",
    events.DIFFERENCES_FOUND: "Changes were lost, a cache was cleared, or another program wrote to a topic or cache.",
    events.NOT_ALL_COMPARED: "Comparisons are too rare, or their share of the keys is too small.",
}
"""Usual cause of an event; events whose message has the cause have none."""


def severity_of(id: int) -> str:
    """Return ERROR, WARNING or INFO; empty for an event of another version."""
    return logging.getLevelName(EVENTS[id].severity) if id in EVENTS else ""


def describe_event(id: int) -> dict[str, object]:
    """Return what is known of an event, JSON-ready: ``id``, ``severity``, ``cause`` and ``action``."""
    event = EVENTS.get(id)
    cause, action = ("", "") if event is None else (CAUSES.get(event, ""), event.action)
    return {"id": id, "severity": severity_of(id), "cause": cause, "action": action}
