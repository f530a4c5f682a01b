"""Health events: each has an id, a severity and a message, is logged as one structured record, and is counted.

A record reads ``15001 # some configuration was ignored: … {"names":["pollInterval"]}``: the id, the message, the fields as JSON. Handlers
that keep structure find the same under ``event_id`` and ``event_fields`` of the logging record. Ids below 15100 and their severities are
those of the GridGain Kafka Connector's monitoring page; ours go on from 15100.
"""

from __future__ import annotations

import json
import logging
import string
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

ERROR, WARNING, INFO = logging.ERROR, logging.WARNING, logging.INFO

_logger = logging.getLogger("ignite_kafka.events")
_counts: Counter[int] = Counter()
_lock = threading.Lock()


@dataclass(frozen=True)
class Event:
    """One kind of event. ``message`` is a format string; its places are the fields that :func:`emit` expects."""

    id: int
    severity: int
    message: str
    action: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the places in the message."""
        return tuple(name for _, name, _, _ in string.Formatter().parse(self.message) if name)

    def text(self, **fields: Any) -> str:
        """The message with its places filled; a place without a field shows as ``?``."""
        return f"{self.id} # " + self.message.format_map(_Fields(fields))


class _Fields(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        return "?"


MISCONFIGURED = Event(15000, ERROR, "the configuration is wrong: {reason}", "Correct the setting that the message names and start again.")
CONFIG_CHANGED = Event(15001, INFO, "some configuration was changed or ignored: {reason}", "Change the configuration as the message says.")
OBJECT_NOT_BUILT = Event(
    15010, ERROR, "no Ignite object could be built from a record, which is passed over: {reason}", "Policy DEAD_LETTER keeps such records."
)
NO_SCHEMA = Event(15011, WARNING, "no schema could be built, records go without one: {reason}", "Look at the type that is named.")
BACKLOG_FAILED = Event(15020, ERROR, "the backlog failed: {reason}", "Start again, or clean the backlog up, as the reason says.")
QUERY_FAILED = Event(15030, WARNING, "a continuous query failed and is tried again: {reason}", "Look at the Ignite cluster's health.")
WRITE_FAILED = Event(15040, WARNING, "a cache could not be written and is tried again: {reason}", "Look at the Ignite cluster's health.")
FILTER_NOT_MADE = Event(15050, ERROR, "the filter could not be made: {reason}", "Correct the filter.")
FILTER_FAILED = Event(15051, ERROR, "the filter raised an error: {reason}", "Correct the filter.")
IGNITE_CONNECTED = Event(15060, INFO, "connected to Ignite at {address}")
IGNITE_DISCONNECTED = Event(15061, INFO, "disconnected from Ignite at {address}")
CONVERTER_FAILED = Event(
    15070, ERROR, "no record could be made of an entry, which is passed over: {reason}", "Policy DEAD_LETTER keeps such entries."
)

RUN_STARTED = Event(15100, INFO, "run {run_id} of connector {connector} started with generation {generation}")
RUN_COMPLETED = Event(15101, INFO, "run {run_id} of connector {connector} is complete")
RUN_FAILED = Event(15102, ERROR, "run {run_id} of connector {connector} failed: {reason}", "The reason says what to do.")
RUN_FENCED = Event(15103, WARNING, "a newer run of connector {connector} has taken over: {reason}", "Start a connector once at a time.")
OUTCOME_UNKNOWN = Event(
    15104,
    ERROR,
    "whether a commit or a put was done is not known: {reason}",
    "Run the same snapshot, or the sink, again: it reads what is committed.",
)
SNAPSHOT_BEGUN = Event(15110, INFO, "snapshot {snapshot_id} of connector {connector} begins with {units} units")
SNAPSHOT_CONTINUED = Event(15111, INFO, "snapshot {snapshot_id} of connector {connector} goes on")
SNAPSHOT_COMPLETE = Event(15112, INFO, "snapshot {snapshot_id} of connector {connector} is complete with {records} records")
SNAPSHOT_ALREADY_COMPLETE = Event(
    15113, INFO, "snapshot {snapshot_id} of connector {connector} was complete already, nothing is sent", "A new snapshot id sends anew."
)
SNAPSHOT_SUPERSEDED = Event(
    15114, WARNING, "snapshot {snapshot_id} of connector {connector} was not finished and gives way to {newer}", "Its records stay."
)
UNIT_REDONE = Event(15120, WARNING, "slot {slot} begins again after its last commit: {reason}", "None, unless it goes on happening.")
TOPICS_MADE = Event(15121, INFO, "topics were made: {topics}")
UPDATES_NOT_CAPTURED = Event(
    15130, INFO, "changes while nothing runs are not captured: {reason}", "Set failover_policy to BACKLOG or FULL_SNAPSHOT."
)
REMOVALS_NOT_SENT = Event(15131, INFO, "removed keys leave no tombstone in Kafka: {reason}", "Set process_removals to true.")
NOTHING_TO_SEND = Event(15132, WARNING, "this run sends nothing: {reason}", "Set load_initial_data to true.")
TLS_NOT_VERIFIED = Event(15133, WARNING, "the certificate of the other side is not verified: {reason}", "Set ignite_tls_verify to true.")
UPDATES_NOT_APPLIED = Event(
    15134, INFO, "entries that are there are neither overwritten nor removed: {reason}", "Set process_updates to true."
)
BAD_RECORDS_SKIPPED = Event(
    15135, WARNING, "what cannot be sent or stored is passed over: {reason}", "Set error_handling_policy to DEAD_LETTER or STOP_TASK."
)
OFFSETS_GUESSED = Event(15136, WARNING, "records that are lost to retention are passed over: {reason}", "Set auto_offset_reset to none.")
CAPTURE_BEGUN = Event(15140, INFO, "connector {connector} captures {caches} caches, capture {capture_id}")
CAPTURE_LOST = Event(
    15141,
    WARNING,
    "the capture {capture_id} of connector {connector} is lost, all entries are sent again",
    "None; the nodes' logs say why.",
)
CACHES_CHANGED = Event(15142, INFO, "connector {connector} takes up {added} and drops {dropped}")
TARGET_CHANGED = Event(15143, INFO, "connector {connector} is asked to be {state}")
KEYS_NOT_READ_BACK = Event(
    15144,
    WARNING,
    "{count} records of topic {topic} have keys that cannot be turned back into keys of cache {cache}, such as {example}: those of them "
    "that were removed while their changes were not captured stay in the topic",
    "`ignite-kafka verify` names them; the ignite-binary converter has no such keys.",
)
TOPIC_REPLACED = Event(
    15170,
    WARNING,
    "cache {cache} goes to another topic {topic} than before, when it was {before}: what was sent before is not in it",
    "None where the topic was deleted, or the cache routed to another one, on purpose.",
)
RECORD_PASSED_OVER = Event(
    15171,
    WARNING,
    "offset {offset} of partition {partition} of topic {topic} is passed over: {reason}",
    "If no newer version runs under this internal_topic_prefix, see who may write to its topics.",
)
OFFSET_RESET = Event(
    15151,
    WARNING,
    "partition {partition} of topic {topic} is read from offset {start}, not from {wanted}: {reason}",
    "What lies between is lost: raise the topic's retention, or run more often.",
)
TOPICS_CHANGED = Event(15152, INFO, "connector {connector} takes up {added}")
CACHES_MADE = Event(15153, INFO, "caches were made: {caches}")
BACKUPS_BEHIND = Event(
    15154,
    WARNING,
    "cache {cache} acknowledges entries before its backups have them (write synchronization mode {synchronization}): those of a node that "
    "dies may be lost although their offsets are committed",
    "Make the cache again with write synchronization mode FULL_SYNC: it cannot be altered.",
)
NAME_MATCHES_NOTHING = Event(
    15190, WARNING, "{setting} has the expression {name!r}, and no cache matches it. {hint}", "Correct it, or leave it out."
)
KAFKA_AWAITED = Event(
    15175,
    WARNING,
    "connector {connector} waits for Kafka, up to {seconds} s (retry_timeout_ms): {reason}",
    "None, if a broker starts again; else check bootstrap_servers and that the brokers are up.",
)
KEYS_MAY_COINCIDE = Event(
    15160,
    WARNING,
    "keys of cache {cache} are of {first} (such as {first_example}) and of {second} (such as {second_example}), which can give the same "
    "Kafka key: then the record of one entry replaces that of another",
    "`ignite-kafka verify` names such entries; use the ignite-binary converter, or keys of one type. coinciding_keys REFUSE stops a run.",
)
DECIMAL_WITHOUT_SCALE = Event(
    15165,
    WARNING,
    "decimals of cache {cache} are written in BASE64 without a scale that a reader could know: no query entity declares one for {field}",
    "Declare the column's scale, or set decimal_format to NUMERIC, or use the ignite-binary converter.",
)
TYPE_REGISTERED = Event(15166, INFO, "binary type {type} of topic {topic} is registered with the cluster")
TYPE_NOT_READ = Event(
    15167,
    WARNING,
    "the record of topic {topic} at offset {offset} describes no binary type and is passed over: {reason}",
    "Another program, or a newer version, wrote it; records of its type are bad records until the cluster knows it.",
)
INSECURE_CONNECTION = Event(
    15185,
    WARNING,
    "a connection to another host is not protected: {reason}",
    "Use TLS, and have it verify the other side; allow_insecure_connections accepts it.",
)
SECRETS_EXPOSED = Event(
    15186,
    WARNING,
    "secrets are shipped to executors in the clear: {reason}",
    "Put the secrets file on driver and executors (secrets_file), or set what the reason names.",
)
FLOAT_GUESSED = Event(
    15168,
    WARNING,
    "field {field} of binary type {type} is learned as {kind} from texts alone that stand for a float as well: NaN, Infinity, -Infinity",
    "Declare the field in the cache's query entity if that is wrong: the cluster never changes a field's type.",
)

EVENTS: dict[int, Event] = {event.id: event for event in tuple(globals().values()) if isinstance(event, Event)}


def emit(event: Event, **fields: Any) -> None:
    """Log an event with its fields and count it. Fields hold no secret; what is not JSON is written as text."""
    with _lock:
        _counts[event.id] += 1
    if _logger.isEnabledFor(event.severity):
        text = event.text(**fields)
        details = json.dumps(fields, default=str, ensure_ascii=False, separators=(",", ":"))
        _logger.log(event.severity, "%s %s", text, details, extra={"event_id": event.id, "event_fields": fields})


def counts() -> dict[int, int]:
    """How often each event was emitted in this process, by id."""
    with _lock:
        return dict(_counts)


def reset_counts() -> None:
    """Start counting anew."""
    with _lock:
        _counts.clear()
